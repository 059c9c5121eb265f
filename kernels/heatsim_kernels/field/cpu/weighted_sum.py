"""CPU: the sum of a field, each cell weighted by its kind, in float64 whatever the field.

With the heat capacities this is the stored energy; a sum that is not finite betrays a field that is not. Rows are
summed first, then blocks of rows, then all, always in that order: the same field always gives the same number.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.runtime.cpu.compilation import inlined, inlined_sum, parallel_jit
from heatsim_kernels.runtime.cpu.pointers import load, pointer, row_pointer
from heatsim_kernels.runtime.cpu.threads import limited, threads_for

BLOCKS = 256


def weighted_sum(field: np.ndarray, weights: np.ndarray, kinds: np.ndarray | None) -> float:
    """Sum over the cells of weights[kind] * value; `kinds` (nz, ny, nx), or None where weights[0] serves all."""
    rows = field.reshape(-1, field.shape[2])
    blocks = np.zeros(min(BLOCKS, len(rows)))
    with limited(threads_for(field.size)):
        _block_sums(rows, None if kinds is None else kinds.reshape(rows.shape), weights, blocks)
    return float(blocks.sum())


@parallel_jit
def _block_sums(rows, kinds, weights, blocks):
    """blocks (m,): sum of the m-th part of the rows."""
    count = blocks.size
    for block in prange(count):
        for index in range(block * rows.shape[0] // count, (block + 1) * rows.shape[0] // count):
            row = np.int64(index)  # prange counts in unsigned numbers
            blocks[block] += _sum(row_pointer(rows, row), row_pointer(kinds, row), pointer(weights), rows.shape[1])


@inlined_sum
def _sum(row, kinds, weights, n):
    total = 0.0
    for x in range(n):
        total += _weight(kinds, weights, x) * np.float64(load(row, x))
    return total


@inlined
def _weight(kinds, weights, x):
    if kinds is None:
        return load(weights, 0)
    return load(weights, np.int64(load(kinds, x)))
