"""CPU: sums of a field over each zone, in float64 whatever the field.

With the heat capacities these are the stored energy; a sum that is not finite betrays a field that is not. The partial
sums are rows in a fixed order, so the same field always gives the same number.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, nogil=True, parallel=True, error_model="numpy")
def _row_sums(field, zones, sums):
    """sums (rows, n) of field (rows, nx) by zone; zones is None for a single one."""
    for row in prange(field.shape[0]):
        if zones is None:
            total = 0.0
            for x in range(field.shape[1]):
                total += np.float64(field[row, x])
            sums[row, 0] = total
        else:
            for x in range(field.shape[1]):
                sums[row, zones[row, x]] += np.float64(field[row, x])


def zone_sums(field: np.ndarray, zones: np.ndarray | None, count: int) -> np.ndarray:
    """(n,) sum of `field` (nz, ny, nx) over each of `count` zones."""
    nz, ny, _ = field.shape
    total = np.zeros(count)
    for plane in range(nz):  # a plane at a time keeps the partial sums small
        sums = np.zeros((ny, count))
        _row_sums(field[plane], None if zones is None else zones[plane], sums)
        total += sums.sum(axis=0)
    return total
