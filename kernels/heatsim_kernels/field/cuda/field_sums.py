"""CUDA: weighted sums over a field, in float64 whatever the field.

The partial sums are blocks in a fixed order, so the same field always gives the same number.
"""

from __future__ import annotations

from numba import float64, uint64

from heatsim_kernels.field.cuda.block_reduction import THREADS, block_sum
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, inlined

BLOCKS = 2 if SIMULATED else 1024


def build(several):
    """The kernel (u, class_ids, weights, partial), on (BLOCKS, THREADS): partial (BLOCKS,) sums of weights[class] * u;
    where there are not `several` classes, all cells are of class 0."""
    sum_of_block = build_sum_of_block(several)

    def weighted_sum(u, class_ids, weights, partial):
        total = sum_of_block(u, class_ids, weights, uint64(0))
        if cuda.threadIdx.x == 0:
            partial[cuda.blockIdx.x] = total

    return weighted_sum


def build_sum_of_block(several):
    """Build the device function total(u, class_ids, weights, first): what a block of (BLOCKS, THREADS) has of the sum
    of weights[first + class] * u over all cells; right in thread 0."""

    @inlined
    def weighted(u, class_ids, weights, first, i):
        return weights[first + (uint64(class_ids[i]) if several else uint64(0))] * float64(u[i])

    @inlined
    def sum_of_block(u, class_ids, weights, first):
        total, n, apart = float64(0.0), uint64(u.size), uint64(BLOCKS * THREADS)
        i = uint64(cuda.blockIdx.x * THREADS + cuda.threadIdx.x)
        while i + uint64(3) * apart < n:  # four loads under way at once: one waits for memory most of the time
            one, two = weighted(u, class_ids, weights, first, i), weighted(u, class_ids, weights, first, i + apart)
            i += uint64(2) * apart
            three, four = weighted(u, class_ids, weights, first, i), weighted(u, class_ids, weights, first, i + apart)
            i += uint64(2) * apart
            total += (one + two) + (three + four)
        while i < n:
            total += weighted(u, class_ids, weights, first, i)
            i += apart
        return block_sum(total)

    return sum_of_block


def grid_of_planes(planes: int) -> tuple[int, int, int]:
    """BLOCKS blocks for so many planes."""
    rows = min(64, BLOCKS, 1 << (planes.bit_length() - 1))
    return BLOCKS // rows, rows, 1


def build_of_planes(variant):
    """The kernel (u, planes, plane, apart, partial), on `grid_of_planes`: partial (BLOCKS,) sums of every `apart`-th of
    planes of `plane` cells, `planes` in all."""

    def sum_of_planes(u, planes, plane, apart, partial):
        total, z, step = float64(0.0), uint64(cuda.blockIdx.y), uint64(cuda.gridDim.x * THREADS)
        while z < planes:
            i, first = uint64(cuda.blockIdx.x * THREADS + cuda.threadIdx.x), uint64(z * apart * plane)
            while i + uint64(3) * step < plane:  # four loads under way at once, as above
                one, two = float64(u[first + i]), float64(u[first + i + step])
                i += uint64(2) * step
                three, four = float64(u[first + i]), float64(u[first + i + step])
                i += uint64(2) * step
                total += (one + two) + (three + four)
            while i < plane:
                total += float64(u[first + i])
                i += step
            z += uint64(cuda.gridDim.y)
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x] = total

    return sum_of_planes
