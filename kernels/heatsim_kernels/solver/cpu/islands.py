"""CPU: which cells strong faces join, and sums over what they join. See `heatsim.solve.integrators.islands`.

A face is strong if it passes at least a share of the largest conductance of both its cells. Cells that strong faces
join have one root, the least of them, however the work is shared out; sums go over cells in their order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import inlined, jit, parallel_jit
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.solver.cpu.network import join

NONE, STRONG, WEAK = 0, 1, 2
APART = -1  # label of a cell that is not solved
Faces = tuple[np.ndarray, np.ndarray, np.ndarray]


class WeakFaces(NamedTuple):
    """Faces between islands: the labels on both sides (n,), APART for cells that are not solved, and the conductances,
    W/K; those along x come first, then y and z, in the order of their lower cells."""

    lower: np.ndarray
    upper: np.ndarray
    conductance: np.ndarray


@inlined
def _kind(g, axis, z, y, x, largest, share):
    """Of the upper face of a cell along x, y, z (0, 1, 2): NONE, STRONG or WEAK; and the cell beyond it."""
    nz, ny, nx = largest.shape
    if axis == 0:
        above = z, y, x + 1 if x + 1 < nx else 0
    elif axis == 1:
        above = z, y + 1 if y + 1 < ny else 0, x
    else:
        above = z + 1 if z + 1 < nz else 0, y, x
    if not g[axis][z, y, x] > 0:
        return NONE, above
    most = max(np.float64(largest[z, y, x]), np.float64(largest[above]))
    return (WEAK if np.float64(g[axis][z, y, x]) < share * most else STRONG), above


@parallel_jit
def _count_weak(g, share, largest, counts):
    """largest (nz, ny, nx): the largest conductance of a cell; counts (3, nz): weak faces of a plane along x, y, z."""
    nz, ny, nx = largest.shape
    for plane in prange(nz):
        z = np.int64(plane)
        for y in range(ny):
            for x in range(nx):
                most = max(g[0][z, y, x], g[0][z, y, x - 1 if x > 0 else nx - 1])
                most = max(most, max(g[1][z, y, x], g[1][z, y - 1 if y > 0 else ny - 1, x]))
                largest[z, y, x] = max(most, max(g[2][z, y, x], g[2][z - 1 if z > 0 else nz - 1, y, x]))
    for plane in prange(nz):
        z = np.int64(plane)
        for axis in range(3):
            found = 0
            for y in range(ny):
                for x in range(nx):
                    found += _kind(g, axis, z, y, x, largest, share)[0] == WEAK
            counts[axis, z] = found


@parallel_jit
def _label(g, share, largest, solved, slabs, parent, used, label):
    """label (cells,): the island of each cell, by the order of the roots; the number of islands. parent, used: room
    (cells,); slabs (n + 1,): planes between which threads work; solved (cells,), or one element if all cells are."""
    nz, ny, nx = largest.shape
    for part in prange(len(slabs) - 1):
        slab = np.int64(part)
        for i in range(slabs[slab] * ny * nx, slabs[slab + 1] * ny * nx):
            parent[i] = i
            used[i] = 0
        for z in range(slabs[slab], slabs[slab + 1]):
            for y in range(ny):
                for x in range(nx):
                    for axis in range(3):
                        kind, above = _kind(g, axis, z, y, x, largest, share)
                        if kind == STRONG and (axis < 2 or z < above[0] < slabs[slab + 1]):
                            join(parent, (z * ny + y) * nx + x, (above[0] * ny + above[1]) * nx + above[2])
    for slab in range(len(slabs) - 1):
        z = slabs[slab + 1] - 1
        for y in range(ny):
            for x in range(nx):
                kind, above = _kind(g, 2, z, y, x, largest, share)
                if kind == STRONG:
                    join(parent, (z * ny + y) * nx + x, (above[0] * ny + y) * nx + x)
    for plane in prange(nz):
        z = np.int64(plane)
        for i in range(z * ny * nx, (z + 1) * ny * nx):
            root = i
            while parent[root] != root:
                root = parent[root]
            label[i] = root
            if len(solved) == 1 or solved[i]:
                used[root] = 1  # whichever thread does that
    count = 0
    for i in range(len(used)):
        if used[i]:
            parent[i] = count
            count += 1
    for plane in prange(nz):
        z = np.int64(plane)
        for i in range(z * ny * nx, (z + 1) * ny * nx):
            label[i] = parent[label[i]] if len(solved) == 1 or solved[i] else APART
    return count


@parallel_jit
def _weak_faces(g, share, largest, label, first, lower, upper, conductance):
    """Fill the weak faces; first (3, nz): the place of the first one of a plane."""
    nz, ny, nx = largest.shape
    for plane in prange(nz):
        z = np.int64(plane)
        for axis in range(3):
            at = first[axis, z]
            for y in range(ny):
                for x in range(nx):
                    kind, above = _kind(g, axis, z, y, x, largest, share)
                    if kind == WEAK:
                        lower[at] = label[(z * ny + y) * nx + x]
                        upper[at] = label[(above[0] * ny + above[1]) * nx + above[2]]
                        conductance[at] = g[axis][z, y, x]
                        at += 1


@jit
def _add_up(label, values, sums):
    for i in range(len(label)):
        if label[i] >= 0:
            sums[label[i]] += values[i]


def find_islands(
    g: Faces, share: float, solved: np.ndarray | None, most: int
) -> tuple[np.ndarray, int, WeakFaces] | None:
    """The island of each cell (cells,), how many there are, and the weak faces, for conductances g of the upper faces
    along x, y, z, W/K, (nz, ny, nx) each; None if there is but one island, or more than `most`."""
    shape, size = g[0].shape, g[0].size
    largest, counts = np.empty(shape, g[0].dtype), np.empty((3, shape[0]), np.int64)
    threads = threads_for(size)
    with limited(threads):
        _count_weak(g, share, largest, counts)
        if not counts.any():
            return None
        chosen = np.ones(1, np.uint8) if solved is None else solved.reshape(-1).view(np.uint8)
        index = np.int32 if size < 2**31 else np.int64
        parent, label, used = np.empty(size, index), np.empty(size, index), np.empty(size, np.uint8)
        slabs = np.linspace(0, shape[0], min(shape[0], threads) + 1).astype(np.int64)
        count = int(_label(g, share, largest, chosen, slabs, parent, used, label))
        if not 1 < count <= most:
            return None
        first = np.cumsum(counts).reshape(counts.shape) - counts
        total = int(counts.sum())
        faces = WeakFaces(np.empty(total, index), np.empty(total, index), np.empty(total))
        _weak_faces(g, share, largest, label, first, *faces)
    return label, count, faces


def add_up(label: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """The sum of the values of the cells of each island (count,)."""
    sums = np.zeros(count)
    _add_up(label, values.reshape(-1), sums)
    return sums
