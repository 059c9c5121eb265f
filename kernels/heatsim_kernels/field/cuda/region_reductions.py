"""CUDA: what some cells of a field have together, found where the field is; see `totals`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.field.cuda.block_reduction import THREADS, block_most, block_sum, greater
from heatsim_kernels.field.region_reductions import RegionCells, RegionTotals

PLANE_BLOCKS = 2 if SIMULATED else 16  # of the cells of a plane


class SentRegion(NamedTuple):
    """A region on the device, and where the cells of each plane that has some begin."""

    indices: Array
    volumes: Array
    capacities: Array
    firsts: Array


class CudaRegionTotals:
    """Totals of parts of fields of one shape, with so many cells a plane. What is needed of a part is sent when it is
    first asked for."""

    def __init__(self, plane: int) -> None:
        self._plane, self._sent = plane, dict[int, tuple[RegionCells, SentRegion]]()

    def parts(self, values: Array, enthalpies: Array, cells: RegionCells) -> np.ndarray:
        """(4, m) what `of_parts` makes the totals of, in the order of planes: slabs have theirs one after another. Of
        the flat fields of values and of enthalpies, K. Waits for the GPU."""
        if not cells.indices.size:
            return np.zeros((4, 0))
        sent = self._send(cells)
        blocks = PLANE_BLOCKS * (sent.firsts.shape[0] - 1)
        args = (values, enthalpies, *sent, empty((4, blocks), np.float64))
        kernel(build, None, args)((blocks, 1, 1), (THREADS, 1, 1), args)
        return args[-1].host()

    def _send(self, cells: RegionCells) -> SentRegion:
        known = self._sent.get(id(cells.indices))
        if known is None:
            planes = cells.indices // self._plane
            order = np.argsort(planes, kind="stable")
            firsts = np.append(np.flatnonzero(np.diff(planes[order], prepend=-1)), planes.size).astype(np.int64)
            given = cells.indices.astype(np.uint32), cells.volumes, cells.capacities
            indices, volumes, capacities = (on_device(each[order]) for each in given)
            sent = SentRegion(indices, volumes, capacities, on_device(firsts))
            known = self._sent[id(cells.indices)] = cells, sent
        return known[1]


def of_parts(parts: np.ndarray) -> RegionTotals:
    """The totals of `CudaRegionTotals.parts`."""
    below, high, *sums = parts
    return RegionTotals(-float(below.max()), float(high.max()), *(float(each.sum()) for each in sums))


def build(variant):
    """The kernel (values, enthalpies, indices, volumes, capacities, firsts, partial), on PLANE_BLOCKS blocks of THREADS
    for each plane p, whose cells are number firsts[p] to firsts[p + 1] - 1.

    partial (4, blocks): the greatest value of `-values` and of `values`, and the two sums.
    """

    def totals(values, enthalpies, indices, volumes, capacities, firsts, partial):
        plane = int64(cuda.blockIdx.x // PLANE_BLOCKS)
        k = firsts[plane] + int64(cuda.blockIdx.x % PLANE_BLOCKS) * THREADS + cuda.threadIdx.x
        some = float64(values[indices[0]])
        below, high, by_volume, heat = -some, some, float64(0.0), float64(0.0)
        while k < firsts[plane + 1]:
            i = indices[k]
            value = float64(values[i])
            below, high = greater(-value, below), greater(value, high)
            by_volume += volumes[k] * value
            heat += capacities[k] * float64(enthalpies[i])
            k += int64(PLANE_BLOCKS) * THREADS
        below, high = block_most(below), block_most(high)
        by_volume, heat = block_sum(by_volume), block_sum(heat)
        if cuda.threadIdx.x == 0:
            partial[0, cuda.blockIdx.x] = below
            partial[1, cuda.blockIdx.x] = high
            partial[2, cuda.blockIdx.x] = by_volume
            partial[3, cuda.blockIdx.x] = heat

    return totals
