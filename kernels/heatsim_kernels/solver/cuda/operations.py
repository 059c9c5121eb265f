"""The kernels of multigrid on a CUDA GPU, under the names by which `hierarchy` and `solver` call them.

Everything stays on the GPU; launches follow one another there, and the host waits only for the sums that the conjugate
gradient asks for, and not within a cycle. The host takes part in the set-up of the coarsest level alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
from numba import float64, uint64

from heatsim_kernels.device.cuda.api import cuda
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.vector_access import constant
from heatsim_kernels.field.cuda import field_sums, window_source
from heatsim_kernels.field.cuda.block_reduction import THREADS, block_sum
from heatsim_kernels.field.window_source import Corner
from heatsim_kernels.solver.cuda import gradient_passes, sweeps
from heatsim_kernels.solver.cuda.values import MAX_BLOCKS, CudaValues, first, launch, over_all, room, sent, stride
from heatsim_kernels.solver.hierarchy import Coarsening, Shape
from heatsim_kernels.solver.operator import BoundaryCoupling

# What lies beside its kernels.
sweep, restrict, interpolate, interpolation = sweeps.sweep, sweeps.restrict, sweeps.interpolate, sweeps.interpolation
galerkin, strong_cells = sweeps.galerkin, sweeps.strong_cells
accumulate, multiply, extent = gradient_passes.accumulate, gradient_passes.multiply, gradient_passes.extent
dot, dots, step, direction = gradient_passes.dot, gradient_passes.dots, gradient_passes.step, gradient_passes.direction


def field(shape: tuple[int, ...], dtype: Any = np.float32) -> CudaValues:
    """A field of zeros."""
    return room(shape, dtype).fill(0.0)


def weights(coarsening: Coarsening) -> CudaValues:
    """Room for the weights of a coarsening."""
    return field(coarsening.weights)


def single(values: np.ndarray | CudaValues) -> CudaValues:
    """The values on the GPU in float32; those that are there in float32 are taken as they are."""
    if not isinstance(values, CudaValues):
        return sent(np.ascontiguousarray(values, np.float32))
    return values if values.dtype == np.float32 else room(values.shape, np.float32).put(values)


def put(values: np.ndarray | CudaValues) -> CudaValues:
    """Bring values to the device; those that are there are taken as they are."""
    return values if isinstance(values, CudaValues) else sent(np.ascontiguousarray(values))


def get(values: CudaValues) -> np.ndarray:
    """Values as an array of the host."""
    return values.host()


def assign(target: CudaValues, values: np.ndarray | CudaValues | float) -> None:
    """target = values, rounded to its type."""
    if isinstance(values, CudaValues):
        target.put(values)
    elif np.ndim(values) == 0:
        target.fill(float(values))
    else:
        target.flat.device.copy_to_device(np.ascontiguousarray(values, target.dtype).reshape(-1))


def largest(values: CudaValues) -> float:
    """The largest of the values."""
    return extent(values)[1]


# Fields made from cell classes and from what passes between cells and the outside. A cell at an edge of the box lies
# beside several boundary couplings, so each coupling has its launch; within one a cell comes once. The sums are over
# blocks in a fixed order and then over these on the host. Bytes a cell: `spread` 1 for the class, and what it writes; a
# coupling 24 a cell beside it, and the field there.

BLOCKS = min(MAX_BLOCKS, 256)  # of the launch for a coupling


def spread(values: np.ndarray, class_ids: CudaValues | None, shape: Shape, dtype: np.dtype) -> CudaValues:
    """The values (n,) of the cell classes, rounded to `dtype`, as a field; values[0] where there are no classes."""
    out = room(shape, dtype)
    if class_ids is None:
        return out.fill(values[0])
    table = on_device(np.asarray(values, dtype))
    variant = class_ids.dtype.name, out.dtype.name
    over_all(build_spread, variant, prod(shape), (table, class_ids.flat, out.flat))
    return out


def clear(field: CudaValues, cells: np.ndarray) -> None:
    """Set some cells, by flat index, to 0."""
    if cells.size:
        over_all(build_clear, field.dtype.name, cells.size, (on_device(cells), field.flat))


def heat_window(field: CudaValues, corner: Corner, rates: np.ndarray, gain: float) -> None:
    """Add gain * rates to a window of a field, as on the CPU."""
    flat = on_device(np.asarray(rates, field.dtype).reshape(-1))
    nz, ny, nx = field.shape
    window_source.heat_window(field.flat, (nz, ny, nx), corner, flat, 0, rates.shape, gain)


def total(field: CudaValues) -> float:
    """The sum of a field, float64."""
    return gradient_passes.extent_and_sum(field)[2]


def weighted_sum(field: CudaValues, weights: np.ndarray, class_ids: CudaValues | None) -> float:
    """Sum over the cells of weights[class] * value, float64; weights[0] serves all where there are no classes."""
    sums, table = empty(field_sums.BLOCKS, np.float64), on_device(np.asarray(weights, np.float64))
    given = on_device(np.zeros(1, np.uint8)) if class_ids is None else class_ids.flat
    variant = class_ids is not None, field.dtype.name, given.dtype.name
    block = (THREADS, 1, 1)
    launch(build_weighted_sum, variant, (field_sums.BLOCKS, 1, 1), block, (field.flat, given, table, sums))
    return float(sums.host().sum())


class CudaBoundaryHeat:
    """What passes between the cells and the outside, by the couplings of a problem, on the GPU."""

    def __init__(self, couplings: Iterable[BoundaryCoupling]) -> None:
        self._couplings = [tuple(map(on_device, (each.cells, each.conductance, each.entries))) for each in couplings]
        self._sums = empty((max(1, len(self._couplings)), BLOCKS), np.float64)
        self._sent: list[tuple[np.ndarray, Array]] = []

    def add(self, out: CudaValues, T: CudaValues, a: np.ndarray, b: np.ndarray) -> None:
        """out += what flows into each cell, W, at temperatures T."""
        values = self._on_device(a), self._on_device(b)
        for coupling in self._couplings:
            args = (np.int64(0), *coupling, *values, T.flat, out.flat)
            launch(build_flow, (True, T.dtype.name, out.dtype.name), (BLOCKS, 1, 1), (THREADS, 1, 1), args)

    def entering(self, T: CudaValues, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(m,) what flows in by each coupling, W, at temperatures T."""
        values = self._on_device(a), self._on_device(b)
        for number, coupling in enumerate(self._couplings):
            args = (np.int64(number), *coupling, *values, T.flat, self._sums)
            launch(build_flow, (False, T.dtype.name, "float64"), (BLOCKS, 1, 1), (THREADS, 1, 1), args)
        return np.asarray(self._sums.host()[: len(self._couplings)].sum(axis=1))

    def _on_device(self, values: np.ndarray) -> Array:
        """A copy on the GPU; the last few arrays, known by being the same objects, are there already."""
        for source, copy in self._sent:
            if source is values:
                return copy
        self._sent = [*self._sent[-3:], (values, on_device(values))]
        return self._sent[-1][1]


BoundaryHeat = CudaBoundaryHeat  # the name that all modules of kernels have it by


def build_spread(variant):
    """The kernel `(values, class_ids, out)`: out = values[kind]."""

    def spread_(values, class_ids, out):
        i, step = first(), stride()
        while i < uint64(out.size):
            out[i] = constant(values, uint64(constant(class_ids, i)))
            i += step

    return spread_


def build_clear(dtype_name):
    """The kernel `(cells, out)`: out = 0 in these cells."""

    def clear_(cells, out):
        k, step = first(), stride()
        while k < uint64(cells.size):
            out[uint64(cells[k])] = 0
            k += step

    return clear_


def build_weighted_sum(variant):
    """As `field_sums.build`, of a variant that names the types too."""
    return field_sums.build(variant[0])


def build_flow(variant):
    """The kernel `(number, cells, conductance, entries, a, b, T, out)`: out (cells) is added to, or out (couplings,
    blocks) is given the sums of a coupling."""
    add = variant[0]

    def flow(number, cells, conductance, entries, a, b, T, out):
        total_ = float64(0.0)
        k, step = first(), stride()
        while k < uint64(cells.size):
            i, entry = uint64(cells[k]), uint64(entries[k])
            heat = conductance[k] * (a[entry] * float64(T[i]) + b[entry])
            if add:
                out[i] += heat
            total_ += heat
            k += step
        if not add:
            total_ = block_sum(total_)
            if cuda.threadIdx.x == 0:
                out[number, cuda.blockIdx.x] = total_

    return flow
