"""The kernels of multigrid on the CPU, under the names by which `hierarchy` and `solver` call them.

Fields are flat arrays that know their shape: (nz, ny, nx) views of padded memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import called, inlined, parallel_jit_for_levels
from heatsim_kernels.device.cpu.pointers import load, padded, pointer, shifted, store, widest_vectors
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.field import window_source
from heatsim_kernels.field.cpu.weighted_sum import weighted_sum
from heatsim_kernels.solver.cpu import sweeps, transfers
from heatsim_kernels.solver.hierarchy import Coarsening, Shape
from heatsim_kernels.solver.hierarchy import multiply as _multiply
from heatsim_kernels.solver.operator import BoundaryCoupling

# What lies beside its kernels.
heat_window, sweep, restrict, interpolate = (
    window_source.heat_window,
    sweeps.sweep,
    transfers.restrict,
    transfers.interpolate,
)
interpolation, galerkin, strong_cells = transfers.interpolation, transfers.galerkin, transfers.strong_cells


def field(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """A field of zeros."""
    return padded(int(np.prod(shape)), dtype).reshape(shape)


def weights(coarsening: Coarsening) -> np.ndarray:
    """Room for the weights of a coarsening."""
    return field(coarsening.weights)


def single(values: np.ndarray) -> np.ndarray:
    """The values in float32; float32 arrays are taken as they are."""
    return np.ascontiguousarray(values, np.float32)


def put(values: np.ndarray) -> np.ndarray:
    """Bring values to the device."""
    return values


def get(values: np.ndarray) -> np.ndarray:
    """Values as an array of the host."""
    return values


def assign(target: np.ndarray, values: np.ndarray | float) -> None:
    """target = values, rounded to its type."""
    threads = threads_for(target.size)
    if threads == 1:
        target[...] = values
        return
    whole, ends = np.broadcast_to(values, target.shape), np.linspace(0, len(target), threads + 1).astype(int).tolist()

    def assign_some(some: slice) -> None:
        target[some] = whole[some]

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(assign_some, map(slice, ends[:-1], ends[1:])))


def largest(values: np.ndarray) -> float:
    """The largest of the values."""
    return float(values.max())


def accumulate(x: np.ndarray, factor: np.float32, add: bool, total: np.ndarray) -> None:
    """total = factor x, or with `add` what it was plus that."""
    if add:
        total += factor * x
    else:
        np.multiply(x, factor, out=total)


def multiply(matrix: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """out = matrix b, small and dense."""
    _multiply(matrix, b.reshape(-1), out.reshape(-1))


# Fields made from cell classes and from what passes between cells and the outside. NumPy makes them, part by part on
# all threads, so that nothing has to be compiled and no temporary is larger than a part.

PART = 2**17  # cells that a thread spreads at once


def spread(values: np.ndarray, class_ids: np.ndarray | None, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """The values (n,) of the cell classes, rounded to `dtype`, as a field; values[0] where there are no classes."""
    out = padded(int(np.prod(shape)), dtype)
    table = np.asarray(values, dtype)
    if class_ids is None:
        out[:] = table[0]
        return out.reshape(shape)
    flat = class_ids.reshape(-1)

    def part(first: int) -> None:
        here = slice(first, first + PART)
        np.take(table, flat[here], out=out[here], mode="clip")

    with ThreadPoolExecutor(threads_for(out.size)) as threads:
        list(threads.map(part, range(0, out.size, PART)))
    return out.reshape(shape)


def clear(field: np.ndarray, cells: np.ndarray) -> None:
    """Set some cells, by flat index, to 0."""
    field.reshape(-1)[cells] = 0


def total(field: np.ndarray) -> float:
    """The sum of a field, float64."""
    return weighted_sum(field, np.ones(1), None)


def extent(field: np.ndarray, chosen: np.ndarray | None = None) -> tuple[float, float]:
    """The least and the largest item, or those of the items where `chosen` is not 0; NaN where one item is NaN."""
    if chosen is None:
        return float(field.min()), float(field.max())
    where = chosen.astype(bool)
    return float(field.min(where=where, initial=np.inf)), float(field.max(where=where, initial=-np.inf))


class CpuBoundaryHeat:
    """What passes between the cells and the outside, by the couplings of a problem."""

    def __init__(self, couplings: Iterable[BoundaryCoupling]) -> None:
        self._couplings = [_with_few_entries(coupling) for coupling in couplings]

    def add(self, out: np.ndarray, T: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        """out += what flows into each cell, W, at temperatures T."""
        for coupling in self._couplings:
            heat, cells = _passed(coupling, T, a, b).astype(out.dtype, copy=False), out.reshape(-1)
            if heat.size == out.size:
                cells += heat
            else:
                cells[coupling.cells] += heat

    def entering(self, T: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(m,) what flows in by each coupling, W, at temperatures T."""
        return np.array([_passed(coupling, T, a, b).sum() for coupling in self._couplings])


BoundaryHeat = CpuBoundaryHeat  # the name that all modules of kernels have it by


def _with_few_entries(coupling: BoundaryCoupling) -> BoundaryCoupling:
    """The same with one entry, where all cells have the same one."""
    entries = coupling.entries
    return coupling if entries.size == 0 or np.ptp(entries) else coupling._replace(entries=entries[:1])


def _passed(coupling: BoundaryCoupling, T: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Heat that a coupling passes to each cell beside it, W. Cells ascend, so that as many as there are are all."""
    T_beside = T.reshape(-1) if coupling.cells.size == T.size else T.reshape(-1)[coupling.cells]
    return np.asarray(coupling.conductance * (a[coupling.entries] * T_beside + b[coupling.entries]))


# The passes of conjugate gradients over whole fields, each as much work as one reading of the memory allows. Fields of
# the gradient are float64, the preconditioner's float32. Sums are taken over fixed parts of a field, each in eight
# lanes, and then over the parts: the same bits for any number of threads. A part lies within one plane, or is made of a
# few small ones: the same bits, too, for slabs of planes whose parts are put together (see `multigrid.slabs`).

CHUNK = 4096  # cells of a sum's part; two fields of them stay in the first cache
LEAST_UNIT = 64  # cells of whole planes that a part is not made of less than
LANES = 8


class Parts(NamedTuple):
    """How a field is cut for sums: into units of whole planes, each of so many cells and chunks; the last may be
    shorter. number: of all chunks."""

    unit: int
    chunks: int
    number: int


def planes_of_unit(shape: Shape) -> int:
    """How many planes of a grid the sums of `Parts` take together, a power of 2."""
    planes = 1
    while planes * shape[1] * shape[2] < LEAST_UNIT:
        planes *= 2
    return planes


def _parts(field: np.ndarray) -> Parts:
    unit = planes_of_unit(field.shape) * field.shape[1] * field.shape[2]
    chunks = -(-unit // CHUNK)
    rest = field.size % unit
    return Parts(unit, chunks, field.size // unit * chunks + -(-rest // CHUNK))


@inlined
def _part_of(part, unit, chunks, size):
    """The first cell of a part, and how many it has."""
    within = part % chunks * CHUNK
    first = part // chunks * unit + within
    return first, min(CHUNK, unit - within, size - first)


@called
def _dot(n, x, y):
    """Sum of x*y in float64, in eight lanes that do not wait for each other."""
    widest_vectors()
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = n - n % LANES
    for i in range(0, whole, LANES):
        s0 += np.float64(load(x, i)) * np.float64(load(y, i))
        s1 += np.float64(load(x, i + 1)) * np.float64(load(y, i + 1))
        s2 += np.float64(load(x, i + 2)) * np.float64(load(y, i + 2))
        s3 += np.float64(load(x, i + 3)) * np.float64(load(y, i + 3))
        s4 += np.float64(load(x, i + 4)) * np.float64(load(y, i + 4))
        s5 += np.float64(load(x, i + 5)) * np.float64(load(y, i + 5))
        s6 += np.float64(load(x, i + 6)) * np.float64(load(y, i + 6))
        s7 += np.float64(load(x, i + 7)) * np.float64(load(y, i + 7))
    for i in range(whole, n):
        s0 += np.float64(load(x, i)) * np.float64(load(y, i))
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@called
def _largest(n, x):
    """Largest size of the values; not a number if one is not."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(np.float64(load(x, i))))
    return largest


@called
def _step_part(n, alpha, scale, p, q, x, r, b):
    widest_vectors()
    for i in range(n):
        store(x, i, load(x, i) + alpha * load(p, i))
    for i in range(n):
        value = load(r, i) - alpha * load(q, i)
        store(r, i, value)
        store(b, i, np.float32(value * scale))


@parallel_jit_for_levels
def _step(alpha, scale, p, q, x, r, b, unit, chunks, sums):
    for part in prange(len(sums)):
        first, n = _part_of(part, unit, chunks, x.size)
        at = shifted(pointer(r), first)
        _step_part(
            n,
            alpha,
            scale,
            shifted(pointer(p), first),
            shifted(pointer(q), first),
            shifted(pointer(x), first),
            at,
            shifted(pointer(b), first),
        )
        sums[part] = _dot(n, at, at)


@parallel_jit_for_levels
def _dots(z, r, q, unit, chunks, sums):
    """sums (parts, 3): z.r, z.q and the largest |z| of each part."""
    for part in prange(len(sums)):
        first, n = _part_of(part, unit, chunks, r.size)
        at = shifted(pointer(z), first)
        sums[part, 0] = _dot(n, at, shifted(pointer(r), first))
        sums[part, 1] = _dot(n, at, shifted(pointer(q), first))
        sums[part, 2] = _largest(n, at)


@parallel_jit_for_levels
def _dot_parts(x, y, unit, chunks, sums):
    for part in prange(len(sums)):
        first, n = _part_of(part, unit, chunks, x.size)
        sums[part] = _dot(n, shifted(pointer(x), first), shifted(pointer(y), first))


@called
def _direction_part(n, z, beta, unit, p):
    widest_vectors()
    for i in range(n):
        store(p, i, np.float64(load(z, i)) * unit + beta * load(p, i))


@parallel_jit_for_levels
def _direction(z, beta, scale, p, unit, chunks, parts):
    for part in prange(parts):
        first, n = _part_of(part, unit, chunks, p.size)
        _direction_part(n, shifted(pointer(z), first), beta, scale, shifted(pointer(p), first))


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """x . y."""
    return float(dot_parts(x, y).sum())


def dot_parts(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x . y of each part."""
    parts = _parts(x)
    sums = np.empty(parts.number)
    with limited(threads_for(x.size)):
        _dot_parts(x, y, parts.unit, parts.chunks, sums)
    return sums


def step(
    alpha: float, scale: float, p: np.ndarray, q: np.ndarray, x: np.ndarray, r: np.ndarray, b: np.ndarray
) -> float:
    """x += alpha p, r -= alpha q, b = scale r in float32; returns r . r."""
    return float(step_parts(alpha, scale, p, q, x, r, b).sum())


def step_parts(
    alpha: float, scale: float, p: np.ndarray, q: np.ndarray, x: np.ndarray, r: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """`step`, with r . r of each part."""
    parts = _parts(x)
    sums = np.empty(parts.number)
    with limited(threads_for(x.size)):
        _step(alpha, scale, p, q, x, r, b, parts.unit, parts.chunks, sums)
    return sums


def dots(z: np.ndarray, r: np.ndarray, q: np.ndarray) -> tuple[float, float, float]:
    """z . r, z . q and the largest |z|."""
    return sum_of_dots(dots_parts(z, r, q))


def dots_parts(z: np.ndarray, r: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(parts, 3) z . r, z . q and the largest |z| of each part."""
    parts = _parts(r)
    sums = np.empty((parts.number, 3))
    with limited(threads_for(r.size)):
        _dots(z, r, q, parts.unit, parts.chunks, sums)
    return sums


def sum_of_dots(sums: np.ndarray) -> tuple[float, float, float]:
    """`dots` from those of all parts."""
    return float(sums[:, 0].sum()), float(sums[:, 1].sum()), float(sums[:, 2].max())


def direction(z: np.ndarray, beta: float, unit: float, p: np.ndarray) -> None:
    """p = unit z + beta p."""
    parts = _parts(p)
    with limited(threads_for(p.size)):
        _direction(z, beta, unit, p, parts.unit, parts.chunks, parts.number)
