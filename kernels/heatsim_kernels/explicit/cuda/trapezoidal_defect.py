"""CUDA: how far a step of several stages is from the trapezoidal rule; see `rk_stages.TrapezoidalDefect`."""

from __future__ import annotations

from numba import float64, int64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.cuda.block_reduction import THREADS, block_most, greater

BLOCKS = 2 if SIMULATED else 1024


@inlined
def store_greatest(partial, most, low, high):
    """Put the greatest of each of three numbers in a block into `partial`, (3, BLOCKS)."""
    most, low, high = block_most(most), block_most(low), block_most(high)
    if cuda.threadIdx.x == 0:
        partial[0, cuda.blockIdx.x] = most
        partial[1, cuda.blockIdx.x] = low
        partial[2, cuda.blockIdx.x] = high


def build(variant):
    """The kernel (start, one, end, after, factor, partial), on (BLOCKS, THREADS).

    start, end: before and after a step; one, after: `rate` explicit steps from these on; factor = -1/(2 rate). partial
    (3, BLOCKS): the largest defect, the greatest value of `-end` and of `end`.
    """

    def defect(start, one, end, after, factor, partial):
        i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        most, low, high = float64(0.0), -float64(end[0]), float64(end[0])
        while i < start.size:
            y, z = float64(start[i]), float64(end[i])
            change = (float64(one[i]) - y) + (float64(after[i]) - z)
            most = greater(abs(fma(factor, change, z - y)), most)
            low, high = greater(-z, low), greater(z, high)
            i += int64(BLOCKS) * THREADS
        store_greatest(partial, most, low, high)

    return defect
