"""CPU: sums of a field over each zone, in float64 whatever the field.

With the heat capacities these are the stored energy; a sum that is not finite betrays a field that is not. Rows are
summed first, then blocks of rows, then all, always in that order: the same field always gives the same number.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..cpu_jit import inlined_sum, parallel_jit
from ..cpu_memory import row_pointer
from ..cpu_threads import limited, threads_for

BLOCKS = 256


def zone_sums(field: np.ndarray, zones: np.ndarray | None, count: int) -> np.ndarray:
    """(n,) sum of `field` (nz, ny, nx) over each of `count` zones."""
    rows = field.reshape(-1, field.shape[2])
    of_row, blocks = np.zeros((2, min(BLOCKS, len(rows)), count))
    with limited(threads_for(field.size)):
        _block_sums(rows, None if zones is None else zones.reshape(rows.shape), of_row, blocks)
    return blocks.sum(axis=0)


@parallel_jit
def _block_sums(rows, zones, of_row, blocks):
    """blocks (m, n): sums by zone of the m-th part of the rows; of_row (m, n): scratch. Both come as zeros."""
    count, n = blocks.shape
    for block in prange(count):
        for row in range(block * rows.shape[0] // count, (block + 1) * rows.shape[0] // count):
            if zones is None:
                of_row[block, 0] = _sum(row_pointer(rows, np.int64(row)), rows.shape[1])
            else:
                for x in range(rows.shape[1]):
                    of_row[block, zones[row, x]] += np.float64(rows[row, x])
            for zone in range(n):
                blocks[block, zone] += of_row[block, zone]
                of_row[block, zone] = 0.0


@inlined_sum
def _sum(row, n):
    total = 0.0
    for x in range(n):
        total += np.float64(row[x])
    return total
