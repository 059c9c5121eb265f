"""CUDA: the sum of one number from each thread of a block."""

from __future__ import annotations

from numba import float64

from ..cuda_api import SIMULATED, cuda, inlined

THREADS = 4 if SIMULATED else 256  # a block; the simulator runs a Python thread for each


@inlined
def block_sum(value):
    """The sum, right in thread 0; added pairwise, always in the same order. All THREADS threads must call it."""
    sums = cuda.shared.array(THREADS, float64)
    sums[cuda.threadIdx.x] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if cuda.threadIdx.x < half:
            sums[cuda.threadIdx.x] += sums[cuda.threadIdx.x + half]
        cuda.syncthreads()
        half //= 2
    return sums[0]
