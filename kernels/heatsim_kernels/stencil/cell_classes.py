"""CPU: cell classes, from the zones of cells and from labels of places along the axes.

A *zone* is a material (or ambient) with its sources. Two cells are of one class if their zones, the materials of their
six neighbours and the labels of their places along x, y and z are the same: these decide the conductance of every face.
A few materials on equal cells give some dozens of classes; unequal cells along all three axes may give every cell a
class of its own.

Threads classify slabs of planes, each with a hash table of its own. Then the classes of all slabs are put together,
numbered in the order in which they are met.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from heatsim_kernels.runtime.cpu.compilation import called, inlined, jit
from heatsim_kernels.runtime.cpu.threads import threads_for

OWN, BESIDE, LABELS = 0, slice(1, 7), slice(7, 10)  # columns of `members`
PLANES = 8  # of a slab
_COLUMNS = 10


class ClassifiedCells(NamedTuple):
    """cells: (nz, ny, nx), the class of each cell, of the smallest unsigned type; None where there is one class.
    members: (n, 10) int32, for each class its zone; the materials of its neighbours beyond x_min, x_max, y_min, ...,
    its own beyond a boundary; and its labels along x, y, z. counts: (n,) cells of each class."""

    cells: np.ndarray | None
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

    def classify(first: int) -> tuple[np.ndarray, np.ndarray]:
        found = np.empty((min(PLANES, len(zones) - first), *zones.shape[1:]), np.uint32)
        members = _classify(zones, of_zones, x, y, z, periodic, first, found)
        return found.astype(np.min_scalar_type(len(members) - 1)), members

    with ThreadPoolExecutor(threads_for(zones.size)) as threads:
        firsts = range(0, len(zones), PLANES)
        slabs = list(threads.map(classify, firsts))
        members, numbers = _united(np.concatenate([each for _, each in slabs]))
        dtype = np.min_scalar_type(len(members) - 1)
        cells = np.empty(zones.shape, dtype)
        ends = np.cumsum([len(each) for _, each in slabs])

        def renumber(slab: int) -> np.ndarray:
            found, own = slabs[slab]
            table = numbers[ends[slab] - len(own) : ends[slab]]
            np.take(table.astype(dtype), found, out=cells[firsts[slab] : firsts[slab] + len(found)], mode="clip")
            return np.bincount(table, np.bincount(found.reshape(-1), minlength=len(own)), len(members))

        counts = sum(threads.map(renumber, range(len(slabs))))
    return ClassifiedCells(cells if len(members) > 1 else None, members, np.asarray(counts, np.int64))


@jit
def _classify(zones, media, x_labels, y_labels, z_labels, periodic, first, found):
    """Number the classes of the planes from `first` on, in the order in which they are met; give their members (n,
    10)."""
    planes, ny, nx = found.shape
    members = np.empty((64, _COLUMNS), np.int32)
    table = np.full(256, -1, np.int32)  # of numbers, by hash; a power of two, at most half full
    key = np.empty(_COLUMNS, np.int32)
    count, last = 0, 0
    for plane in range(planes):
        z = first + plane
        for y in range(ny):
            for x in range(nx):
                _describe(key, zones, media, z, y, x, periodic)
                key[7], key[8], key[9] = x_labels[x], y_labels[y], z_labels[z]
                if count == 0 or not _same(key, members[last]):
                    if count == len(members):
                        members, table = _enlarged(members)
                    slot = _slot(key, members, table)
                    if table[slot] < 0:
                        table[slot] = count
                        _put(members, count, key)
                        count += 1
                    last = table[slot]
                found[plane, y, x] = last
    return members[:count].copy()


@jit
def _united(rows):
    """The distinct rows of (m, 10), in the order in which they are met, and the number of each row among them."""
    members = np.empty_like(rows)
    numbers = np.empty(len(rows), np.int32)
    table = np.full(2 ** (2 + np.int64(np.ceil(np.log2(len(rows))))), -1, np.int32)
    count = 0
    for i in range(len(rows)):
        slot = _slot(rows[i], members, table)
        if table[slot] < 0:
            table[slot] = count
            _put(members, count, rows[i])
            count += 1
        numbers[i] = table[slot]
    return members[:count].copy(), numbers


@inlined
def _describe(key, zones, media, z, y, x, periodic):
    """Put the zone of a cell and the materials of its neighbours into `key`."""
    nz, ny, nx = zones.shape
    key[0] = zones[z, y, x]
    key[1] = media[zones[z, y, _beside(x, -1, nx, periodic[0])]]
    key[2] = media[zones[z, y, _beside(x, 1, nx, periodic[0])]]
    key[3] = media[zones[z, _beside(y, -1, ny, periodic[1]), x]]
    key[4] = media[zones[z, _beside(y, 1, ny, periodic[1]), x]]
    key[5] = media[zones[_beside(z, -1, nz, periodic[2]), y, x]]
    key[6] = media[zones[_beside(z, 1, nz, periodic[2]), y, x]]


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
def _put(members, number, key):
    """Enter a key; column by column, since Numba compiles seconds long at a row that is assigned to."""
    for column in range(_COLUMNS):
        members[number, column] = key[column]


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


@called
def _enlarged(members):
    """The members with twice the room, and their table."""
    larger = np.empty((2 * len(members), _COLUMNS), np.int32)
    table = np.full(8 * len(members), -1, np.int32)
    for number in range(len(members)):
        _put(larger, number, members[number])
        table[_slot(members[number], larger, table)] = number
    return larger, table
