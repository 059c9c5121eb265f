"""CPU: cell classes, from the zones of cells and from labels of places along the axes.

A *zone* is a material (or ambient) with its sources. Two cells are of one class if their zones, the materials of their
six neighbours and the labels of their places along x, y and z are the same: these decide the conductance of every face.
A few materials on equal cells give some dozens of classes; unequal cells along all three axes may give every cell a
class of its own.

Threads classify slabs of planes, each with a hash table of its own. Then the classes of all slabs are put together,
numbered in the order in which they are met. A small grid is one slab.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from heatsim_kernels.device.cpu.compilation import inlined, jit
from heatsim_kernels.device.cpu.threads import CELLS_A_THREAD, threads_for

OWN, BESIDE, LABELS = 0, slice(1, 7), slice(7, 10)  # columns of `members`
PLANES = 8  # of a slab
MIN_ROOM = 256  # classes that a slab has room for at first
_COLUMNS = 10
# Numbers of NumPy, since Numba would compile a function anew for each Python literal that is passed to it.
_BELOW, _ABOVE = np.int64(-1), np.int64(1)


class ClassifiedCells(NamedTuple):
    """cells: (nz, ny, nx), the class of each cell, of the smallest unsigned type.
    members: (n, 10) int32, for each class its zone; the materials of its neighbours beyond x_min, x_max, y_min, ...,
    its own beyond a boundary; and its labels along x, y, z. counts: (n,) cells of each class."""

    cells: np.ndarray
    members: np.ndarray
    counts: np.ndarray


def classify_cells(
    zones: np.ndarray,
    media: np.ndarray,
    labels: tuple[np.ndarray, np.ndarray, np.ndarray],
    periodic: tuple[bool, bool, bool],
) -> ClassifiedCells:
    """Find the classes of the cells of `zones`, (nz, ny, nx) unsigned integers.

    media: for each zone, the number of the material that it conducts like. labels: small integers along x, y, z, (nx,),
    (ny,), (nz,). periodic: for axes x, y, z, whether the index wraps.
    """
    of_zones, x, y, z = (np.asarray(values, np.int32) for values in (media, *labels))

    planes = PLANES if zones.size > CELLS_A_THREAD else len(zones)

    def classify(first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = np.empty((min(planes, len(zones) - first), *zones.shape[1:]), np.uint32)
        room, count = MIN_ROOM, -1
        while count < 0:
            members, table, met = np.empty((room, _COLUMNS), np.int32), _empty_table(room), np.zeros(room, np.int64)
            count = _classify(zones, of_zones, x, y, z, periodic, first, found, members, table, met)
            room *= 4
        return found.astype(np.min_scalar_type(count - 1)), members[:count].copy(), met[:count]

    with ThreadPoolExecutor(threads_for(zones.size)) as threads:
        firsts = range(0, len(zones), planes)
        slabs = list(threads.map(classify, firsts))
        members, numbers = _unite([each for _, each, _ in slabs])
        dtype = np.min_scalar_type(len(members) - 1)
        cells = np.empty(zones.shape, dtype)
        ends = np.cumsum([len(each) for _, each, _ in slabs])

        def renumber(slab: int) -> np.ndarray:
            found, own, met = slabs[slab]
            table = numbers[ends[slab] - len(own) : ends[slab]]
            for target, plane in zip(cells[firsts[slab] :], found, strict=False):
                np.take(table.astype(dtype), plane, out=target, mode="clip")
            return np.bincount(table, met, len(members))

        counts = sum(threads.map(renumber, range(len(slabs))))
    if len(members) == 1:
        cells = np.broadcast_to(dtype.type(0), zones.shape)  # takes no memory
    return ClassifiedCells(cells, members, np.asarray(counts, np.int64))


def numbers_in(cells: np.ndarray, count: int) -> np.ndarray:
    """The numbers below `count` that some of the cells (nz, ny, nx) have, ascending. Along a row most are as the one
    before, and indexing would make a copy of all in large integers."""
    seen = np.zeros(count, bool)
    for plane in cells:
        seen[plane[:, :1]] = True
        seen[plane[:, 1:][plane[:, 1:] != plane[:, :-1]]] = True
    return np.flatnonzero(seen)


def _unite(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of several (m, 10), in the order in which they are met, and the number of each row among
    them; the rows of each are distinct."""
    rows = np.concatenate(parts)
    numbers = np.arange(len(rows), dtype=np.int32)
    if len(parts) == 1:
        return rows, numbers
    members = np.empty_like(rows)
    return members[: _united(rows, members, numbers, _empty_table(len(rows)))].copy(), numbers


def _empty_table(room: int) -> np.ndarray:
    """A table of numbers, by hash, for as many rows: its length is a power of two, and it gets half full at most."""
    return np.full(2 << max(1, room - 1).bit_length(), -1, np.int32)


# What the compiled functions work with is made by their callers: Numba compiles long at `np.empty` and its kin.


@jit
def _classify(zones, media, x_labels, y_labels, z_labels, periodic, first, found, members, table, met):
    """Number the classes of the planes from `first` on, in the order in which they are met, put their members (n, 10)
    into `members`, and add how many cells they have to `met`; give n, or -1 where there is no room for them."""
    planes, ny, nx = found.shape
    count, last = 0, 0
    for plane in range(planes):
        z = first + plane
        for y in range(ny):
            for x in range(nx):
                if count == len(members):
                    return -1
                key = members[count]
                _describe(key, zones, media, z, y, x, periodic)
                key[7], key[8], key[9] = x_labels[x], y_labels[y], z_labels[z]
                if count == 0 or not _same(key, members[last]):
                    slot = _slot(key, members, table)
                    if table[slot] < 0:
                        table[slot] = count
                        count += 1
                    last = table[slot]
                found[plane, y, x] = last
                met[last] += 1
    return count


@jit
def _united(rows, members, numbers, table):
    """Put the distinct rows of (m, 10), in the order in which they are met, into `members`, and the number of each row
    among them into `numbers`; give how many they are."""
    count = 0
    for i in range(len(rows)):
        slot = _slot(rows[i], members, table)
        if table[slot] < 0:
            table[slot] = count
            for column in range(_COLUMNS):  # Numba compiles seconds long at a row that is assigned to
                members[count, column] = rows[i, column]
            count += 1
        numbers[i] = table[slot]
    return count


@inlined
def _describe(key, zones, media, z, y, x, periodic):
    """Put the zone of a cell and the materials of its neighbours into `key`."""
    nz, ny, nx = zones.shape
    key[0] = zones[z, y, x]
    key[1] = media[zones[z, y, _beside(x, _BELOW, nx, periodic[0])]]
    key[2] = media[zones[z, y, _beside(x, _ABOVE, nx, periodic[0])]]
    key[3] = media[zones[z, _beside(y, _BELOW, ny, periodic[1]), x]]
    key[4] = media[zones[z, _beside(y, _ABOVE, ny, periodic[1]), x]]
    key[5] = media[zones[_beside(z, _BELOW, nz, periodic[2]), y, x]]
    key[6] = media[zones[_beside(z, _ABOVE, nz, periodic[2]), y, x]]


@inlined
def _beside(i, step, n, wraps):
    """The index beside i on an axis of n cells; i itself at a boundary."""
    j = i + step
    if 0 <= j < n:
        return j
    return (j + n) % n if wraps else i


@inlined
def _same(key, member):
    same = True
    for column in range(_COLUMNS):
        same &= key[column] == member[column]
    return same


@inlined
def _slot(key, members, table):
    """The slot of the table where a key stands, or is to be entered."""
    mixed = np.uint64(14695981039346656037)
    for column in range(_COLUMNS):  # FNV-1a (Fowler, Noll and Vo), a number at a time
        mixed = (mixed ^ np.uint64(key[column])) * np.uint64(1099511628211)
    mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed & np.uint64(len(table) - 1))
    while table[slot] >= 0 and not _same(key, members[table[slot]]):
        slot = (slot + 1) & (len(table) - 1)
    return slot
