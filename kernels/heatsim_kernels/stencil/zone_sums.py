"""CPU: sums of a field over each zone, in float64 whatever the field.

With the heat capacities these are the stored energy; a sum that is not finite betrays a field that is not. Rows are
summed first, then blocks of rows, then all, always in that order: the same field always gives the same number.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..cpu_jit import parallel_jit
from ..cpu_threads import limited, threads_for

BLOCKS = 256


def zone_sums(field: np.ndarray, zones: np.ndarray | None, count: int) -> np.ndarray:
    """(n,) sum of `field` (nz, ny, nx) over each of `count` zones."""
    rows = field.reshape(-1, field.shape[2])
    blocks = np.zeros((min(BLOCKS, len(rows)), count))
    with limited(threads_for(field.size)):
        _block_sums(rows, None if zones is None else zones.reshape(rows.shape), blocks)
    return blocks.sum(axis=0)


@parallel_jit
def _block_sums(rows, zones, blocks):
    """blocks (m, n): sums by zone of the m-th part of the rows."""
    for block in prange(blocks.shape[0]):
        total = np.zeros(blocks.shape[1])
        of_row = np.zeros(blocks.shape[1])
        first = block * rows.shape[0] // blocks.shape[0]
        end = (block + 1) * rows.shape[0] // blocks.shape[0]
        for row in range(first, end):
            of_row[:] = 0.0
            if zones is None:
                for x in range(rows.shape[1]):
                    of_row[0] += np.float64(rows[row, x])
            else:
                for x in range(rows.shape[1]):
                    of_row[zones[row, x]] += np.float64(rows[row, x])
            total += of_row
        blocks[block] = total
