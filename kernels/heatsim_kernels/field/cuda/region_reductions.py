"""CUDA: what some cells of a field have together, found where the field is; see `totals`."""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from heatsim_kernels.field.cuda.block_reduction import THREADS, block_most, block_sum, greater
from heatsim_kernels.field.region_reductions import RegionCells, RegionTotals
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda
from heatsim_kernels.runtime.cuda.arrays import Array, empty, on_device
from heatsim_kernels.runtime.cuda.launch import kernel

BLOCKS = 2 if SIMULATED else 1024


class CudaRegionTotals:
    """Totals of parts of fields of one shape. What is needed of a part is sent when it is first asked for."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[RegionCells, tuple[Array, ...]]] = {}

    def of(self, values: Array, enthalpies: Array, cells: RegionCells) -> RegionTotals:
        """Of the flat fields of values and of enthalpies, K. Waits for the GPU."""
        args = (values, enthalpies, *self._sent(cells), empty((4, BLOCKS), np.float64))
        kernel(build, None, args)((BLOCKS, 1, 1), (THREADS, 1, 1), args)
        below, high, *sums = args[-1].host()
        return RegionTotals(-float(below.max()), float(high.max()), *(float(each.sum()) for each in sums))

    def _sent(self, cells: RegionCells) -> tuple[Array, ...]:
        known = self._parts.get(id(cells.indices))
        if known is None:
            sent = cells.indices.astype(np.uint32), cells.volumes, cells.capacities
            known = self._parts[id(cells.indices)] = cells, tuple(map(on_device, sent))
        return known[1]


def build(variant):
    """The kernel (values, enthalpies, indices, volumes, capacities, partial), on (BLOCKS, THREADS).

    partial (4, BLOCKS): the greatest value of `-values` and of `values`, and the two sums.
    """

    def totals(values, enthalpies, indices, volumes, capacities, partial):
        k = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        some = float64(values[indices[0]])
        below, high, by_volume, heat = -some, some, float64(0.0), float64(0.0)
        while k < indices.size:
            i = indices[k]
            value = float64(values[i])
            below, high = greater(-value, below), greater(value, high)
            by_volume += volumes[k] * value
            heat += capacities[k] * float64(enthalpies[i])
            k += int64(BLOCKS) * THREADS
        below, high = block_most(below), block_most(high)
        by_volume, heat = block_sum(by_volume), block_sum(heat)
        if cuda.threadIdx.x == 0:
            partial[0, cuda.blockIdx.x] = below
            partial[1, cuda.blockIdx.x] = high
            partial[2, cuda.blockIdx.x] = by_volume
            partial[3, cuda.blockIdx.x] = heat

    return totals
