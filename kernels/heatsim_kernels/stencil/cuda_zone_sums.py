"""CUDA: sums of a field over each zone, in float64 whatever the field; the twin of `zone_sums`.

The partial sums are blocks in a fixed order, so the same field always gives the same number.
"""

from __future__ import annotations

from numba import float64, int64

from ..cuda_api import SIMULATED, cuda
from .cuda_block_sum import THREADS, block_sum

BLOCKS = 2 if SIMULATED else 512


def build(zones):
    """CUDA kernel `kernel[BLOCKS, THREADS](u, zone_of, zone, partial)`: partial (BLOCKS,) sums of one zone's cells."""

    def zone_sum(u, zone_of, zone, partial):
        total = float64(0.0)
        i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        while i < u.size:
            if not zones or zone_of[i] == zone:
                total += float64(u[i])
            i += int64(BLOCKS) * THREADS
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            partial[cuda.blockIdx.x] = total

    return zone_sum
