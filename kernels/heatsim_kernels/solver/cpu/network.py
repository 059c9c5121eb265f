"""CPU: networks, under the names of `network.NetworkKernels`.

NumPy does what goes over all cells, so that little has to be compiled; parts and trees are one thread's work, a cell at
a time.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from heatsim_kernels.device.cpu.compilation import inlined, jit
from heatsim_kernels.device.cpu.threads import threads_for
from heatsim_kernels.solver import network
from heatsim_kernels.solver.cpu.operations import field
from heatsim_kernels.solver.network import APART, ROOT, Trees

Faces = tuple[np.ndarray, np.ndarray, np.ndarray]
beyond, conductance, warmer_by = inlined(network.beyond), inlined(network.conductance), inlined(network.warmer_by)


def _plane_by_plane(work: Callable[[int], None], shape: tuple[int, ...]) -> None:
    with ThreadPoolExecutor(threads_for(int(np.prod(shape)))) as threads:
        list(threads.map(work, range(shape[0])))


def _next(values: np.ndarray, z: int, axis: int) -> np.ndarray:
    """A plane of the values of the next cells along an axis, 0 for x."""
    return values[(z + 1) % len(values)] if axis == 2 else np.roll(values[z], -1, 1 - axis)


def connect(labels: np.ndarray, between: np.ndarray, periodic: tuple[bool, bool, bool]) -> Faces:
    """The faces of cells that have a label each."""
    count = np.uint16(between.shape[1])
    faces = field(labels.shape), field(labels.shape), field(labels.shape)

    def plane(z: int) -> None:
        here = labels[z].astype(np.uint16) * count
        for axis, g in enumerate(faces):
            np.take(between[axis].reshape(-1), here + _next(labels, z, axis), out=g[z], mode="clip")

    _plane_by_plane(plane, labels.shape)
    for axis, g in enumerate(faces):
        if not periodic[axis]:
            np.moveaxis(g, 2 - axis, 0)[-1] = 0.0
    return faces


@inlined
def _root(parts, i):
    while parts[i] != i:
        parts[i] = parts[parts[i]]  # halves the way for the next search
        i = parts[i]
    return i


@inlined
def join(parts, i, j):
    """Two cells hang together: the least cell of both parts is that of the one they make."""
    i, j = _root(parts, i), _root(parts, j)
    parts[max(i, j)] = min(i, j)


@jit
def _find_parts(gx, gy, gz, shape, parts):
    nz, ny, nx = shape
    for i in range(len(parts)):
        parts[i] = i
    for i in range(len(parts)):
        x, y, z = i % nx, i // nx % ny, i // (nx * ny)
        for way in range(1, 6, 2):
            other = beyond(i, way, x, y, z, nz, ny, nx)
            if conductance(gx, gy, gz, i, other, way) > 0:
                join(parts, i, other)
    for i in range(len(parts)):
        parts[i] = parts[parts[i]]  # never above i, so that is final already


def find_parts(faces: Faces) -> np.ndarray:
    """For each cell the least of those that it hangs together with."""
    parts = np.empty(faces[0].shape, np.int32)
    _find_parts(*_flat(faces), parts.shape, parts.reshape(-1))
    return parts


def roots(parts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The least cells of all parts that are chosen."""
    return np.flatnonzero((parts.reshape(-1) == np.arange(parts.size, dtype=np.int32)) & (chosen.reshape(-1) != 0))


def among(parts: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Whether the part of each cell is one of these."""
    marks, found = np.zeros(parts.size, np.uint8), np.empty(parts.shape, np.uint8)
    marks[chosen] = 1

    def plane(z: int) -> None:
        np.take(marks, parts[z], out=found[z], mode="clip")

    _plane_by_plane(plane, parts.shape)
    return found


def count(chosen: np.ndarray) -> int:
    """How many cells are chosen."""
    return int(np.count_nonzero(chosen))


def pick(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The values of some cells."""
    return np.asarray(values.reshape(-1)[cells])


def place(field: np.ndarray, cells: np.ndarray, values: np.ndarray) -> None:
    """Add values to some cells of a field."""
    field.reshape(-1)[cells] += values


def fill_others(field: np.ndarray, chosen: np.ndarray, value: float) -> None:
    """Set the cells that are not chosen."""

    def plane(z: int) -> None:
        field[z][chosen[z] == 0] = value

    _plane_by_plane(plane, field.shape)


@jit
def _grow(gx, gy, gz, shape, roots, ways, order):
    nz, ny, nx = shape
    count, done = 0, 0
    for root in roots:
        if ways[root] == APART:
            ways[root] = ROOT
            order[count] = root
            count += 1
    while done < count:
        i = order[done]
        done += 1
        x, y, z = i % nx, i // nx % ny, i // (nx * ny)
        for way in range(6):
            other = beyond(i, way, x, y, z, nz, ny, nx)
            if ways[other] == APART and conductance(gx, gy, gz, i, other, way) > 0:
                ways[other] = way ^ 1
                order[count] = other
                count += 1
    return count


def grow(faces: Faces, roots: np.ndarray) -> Trees:
    """Trees from all roots at once, over faces that conduct."""
    size = faces[0].size
    ways, order = np.full(size, APART, np.uint8), np.empty(size, np.int32)
    count = _grow(*_flat(faces), faces[0].shape, roots, ways, order)
    return Trees(order[:count], ways)


@jit
def _carry_out(gx, gy, gz, shape, order, ways, T, axis, drop, left):
    nz, ny, nx = shape
    grown, passed = 0.0, 0.0
    for number in range(len(order) - 1, -1, -1):
        i = np.int64(order[number])
        heat, way = left[i], ways[i]
        if way != ROOT:
            other = beyond(i, way, i % nx, i // nx % ny, i // (nx * ny), nz, ny, nx)
            if way // 2 == axis:
                passed += heat if way % 2 else -heat
            g = np.float64(conductance(gx, gy, gz, i, other, way))
            grown += 2.0 * heat * warmer_by(T, i, other, way, axis, drop) + heat * heat / g
            left[other] += heat
    return grown, passed


def carry_out(
    trees: Trees, faces: Faces, T: np.ndarray, axis: int, drop: float, left: np.ndarray
) -> tuple[float, float]:
    """Carry the heat that is left in each cell to the roots."""
    given = trees.order, trees.ways, T.reshape(-1), axis, drop, left.reshape(-1)
    grown, passed = _carry_out(*_flat(faces), faces[0].shape, *given)
    return float(grown), float(passed)


def flow(g: np.ndarray, T: np.ndarray, axis: int, drop: float) -> tuple[float, float]:
    """Sums of g d and g d^2 over the faces along an axis."""
    sums = np.zeros((len(T), 2))

    def plane(z: int) -> None:
        difference = T[z] - _next(T, z, axis)
        difference += drop
        through = g[z] * difference
        sums[z] = through.sum(), np.vdot(through, difference)

    _plane_by_plane(plane, T.shape)
    passing, dissipated = sums.sum(axis=0).tolist()
    return passing, dissipated


def heat_of_drop(g: np.ndarray, axis: int, drop: float) -> np.ndarray:
    """What a drop from cell to cell along an axis heats each cell by."""
    wide = g.astype(np.float64)
    return np.asarray(drop * (np.roll(wide, 1, 2 - axis) - wide))


def _flat(faces: Faces) -> Faces:
    gx, gy, gz = (g.reshape(-1) for g in faces)
    return gx, gy, gz
