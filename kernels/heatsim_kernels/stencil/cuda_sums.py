"""CUDA: weighted sums over a field, in float64 whatever the field.

The partial sums are blocks in a fixed order, so the same field always gives the same number.
"""

from __future__ import annotations

from numba import float64, int64

from ..cuda_api import SIMULATED, cuda
from .cuda_block_sum import THREADS, block_sum

BLOCKS = 2 if SIMULATED else 512


def build(several):
    """The kernel (u, kinds, weights, partial), on (BLOCKS, THREADS): partial (BLOCKS,) sums of weights[kind] * u; where
    there are not `several` kinds, all cells are of kind 0."""

    def weighted_sum(u, kinds, weights, partial):
        total = float64(0.0)
        i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        while i < u.size:
            total += weights[kinds[i] if several else 0] * float64(u[i])
            i += int64(BLOCKS) * THREADS
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[cuda.blockIdx.x] = total

    return weighted_sum
