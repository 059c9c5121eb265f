"""CUDA: weighted sums over a field, in float64 whatever the field.

The partial sums are blocks in a fixed order, so the same field always gives the same number. Sums by plane do not
depend on which other planes a GPU has.
"""

from __future__ import annotations

from numba import float64, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.field.cuda.block_reduction import THREADS, block_sum

BLOCKS = 2 if SIMULATED else 1024
BLOCKS_BY_PLANE = 16 if SIMULATED else 2048  # of all planes, at most, where there are not more planes
LEAST_ITEMS = 4 if SIMULATED else 16  # cells of a thread: a block's sum takes as long as many loads


def build(several):
    """The kernel (u, class_ids, weights, partial), on (BLOCKS, THREADS): partial (BLOCKS,) sums of weights[class] * u;
    where there are not `several` classes, all cells are of class 0."""
    sum_of = build_sum(several)

    def weighted_sum(u, class_ids, weights, partial):
        i = uint64(cuda.blockIdx.x * THREADS + cuda.threadIdx.x)
        total = block_sum(sum_of(u, class_ids, weights, uint64(0), i, uint64(u.size), uint64(BLOCKS * THREADS)))
        if cuda.threadIdx.x == 0:
            partial[cuda.blockIdx.x] = total

    return weighted_sum


def blocks_of_plane(cells: tuple[int, int, int]) -> int:
    """Blocks that sum a plane of a grid of (nz, ny, nx) cells, the whole one."""
    nz, ny, nx = cells
    return max(1, min(BLOCKS_BY_PLANE // nz, -(-ny * nx // (LEAST_ITEMS * THREADS))))


def build_by_plane(several):
    """The kernel (u, class_ids, weights, plane, blocks, partial), on (planes * blocks, THREADS): partial
    (planes * blocks,) sums as above, `blocks` of each plane of so many cells."""
    sum_of = build_sum_of_plane(several)

    def weighted_sums(u, class_ids, weights, plane, blocks, partial):
        total = sum_of(u, class_ids, weights, uint64(0), plane, blocks)
        if cuda.threadIdx.x == 0:
            partial[cuda.blockIdx.x] = total

    return weighted_sums


def build_sum_of_plane(several):
    """Build the device function total(u, class_ids, weights, first, plane, blocks): what a block of `build_by_plane`
    has of the sum of weights[first + class] * u; right in thread 0."""
    sum_of = build_sum(several)

    @inlined
    def sum_of_plane(u, class_ids, weights, first, plane, blocks):
        z = uint64(cuda.blockIdx.x) // blocks
        i = uint64((uint64(cuda.blockIdx.x) - z * blocks) * uint64(THREADS) + uint64(cuda.threadIdx.x))
        end = uint64((z + uint64(1)) * plane)
        return block_sum(sum_of(u, class_ids, weights, first, z * plane + i, end, blocks * uint64(THREADS)))

    return sum_of_plane


def build_sum(several):
    """Build the device function total(u, class_ids, weights, first, i, end, apart): the sum of weights[first + class]
    * u over the cells i, i + apart, ... before `end`, all uint64."""

    @inlined
    def weighted(u, class_ids, weights, first, i):
        return weights[first + (uint64(class_ids[i]) if several else uint64(0))] * float64(u[i])

    @inlined
    def sum_of(u, class_ids, weights, first, i, end, apart):
        total = float64(0.0)
        while i + uint64(3) * apart < end:  # four loads under way at once: one waits for memory most of the time
            one, two = weighted(u, class_ids, weights, first, i), weighted(u, class_ids, weights, first, i + apart)
            i += uint64(2) * apart
            three, four = weighted(u, class_ids, weights, first, i), weighted(u, class_ids, weights, first, i + apart)
            i += uint64(2) * apart
            total += (one + two) + (three + four)
        while i < end:
            total += weighted(u, class_ids, weights, first, i)
            i += apart
        return total

    return sum_of


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
