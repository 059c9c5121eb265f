"""CUDA: one number of those from each thread of a block, their sum or the greatest."""

from __future__ import annotations

from numba import float64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined

THREADS = 2 if SIMULATED else 256  # a block; the simulator runs a Python thread for each


@inlined
def greater(value, most):
    """The greater of two; not a number if one is none."""
    return value if value > most or value != value else most


def block_reduction(pick, threads=THREADS):
    """call(value): `pick` of all threads' numbers, right in thread 0; pairwise, always in the same order. All threads,
    a power of two, must call it."""
    pair = inlined(pick)

    @inlined
    def reduction(value):
        values = cuda.shared.array(threads, float64)
        values[cuda.threadIdx.x] = value
        cuda.syncthreads()
        half = threads // 2
        while half > 0:
            if cuda.threadIdx.x < half:
                values[cuda.threadIdx.x] = pair(values[cuda.threadIdx.x], values[cuda.threadIdx.x + half])
            cuda.syncthreads()
            half //= 2
        return values[0]

    return reduction


def add(a, b):
    """Their sum."""
    return a + b


block_sum = block_reduction(add)
block_most = block_reduction(lambda most, value: greater(value, most))
