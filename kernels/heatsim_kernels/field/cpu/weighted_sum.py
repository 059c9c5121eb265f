"""CPU: the sum of a field, each cell weighted by its class, in float64 whatever the field.

With the heat capacities this is the stored energy; a sum that is not finite betrays a field that is not. Rows are
summed first, then blocks of rows, then all, always in that order: the same field always gives the same number.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import inlined, inlined_sum, parallel_jit
from heatsim_kernels.device.cpu.pointers import load, pointer, row_pointer, shifted
from heatsim_kernels.device.cpu.threads import limited, threads_for

BLOCKS = 256


def weighted_sum(field: np.ndarray, weights: np.ndarray, classes: np.ndarray | None) -> float:
    """Sum over the cells of weights[class] * value; classes: of the cells, or None where weights[0] serves all."""
    return float(_sums(field, weights, classes, min(BLOCKS, field.shape[0] * field.shape[1])).sum())


def row_sums(field: np.ndarray, weights: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """(nz, ny) sums of weights[class] * value over the cells of each row."""
    nz, ny, _ = field.shape
    return _sums(field, weights, classes, nz * ny).reshape(nz, ny)


def sum_of_rows(rows: np.ndarray) -> float:
    """What `weighted_sum` makes of the sums of all rows, (nz, ny), to the bit."""
    flat, count = rows.reshape(-1), min(BLOCKS, rows.size)
    ends = np.arange(count + 1) * rows.size // count
    parts = zip(ends.tolist(), ends[1:].tolist(), strict=False)
    return float(np.array([np.cumsum(flat[first:end])[-1] for first, end in parts]).sum())


def _sums(field: np.ndarray, weights: np.ndarray, classes: np.ndarray | None, count: int) -> np.ndarray:
    """(count,) sums over as many blocks of rows."""
    rows, blocks = field.reshape(-1, field.shape[2]), np.zeros(count)
    with limited(threads_for(field.size)):
        _block_sums(rows, classes, weights, blocks)
    return blocks


@parallel_jit
def _block_sums(rows, classes, weights, blocks):
    """blocks (m,): sum of the m-th part of the rows."""
    count, n = blocks.size, rows.shape[1]
    for block in prange(count):
        for index in range(block * rows.shape[0] // count, (block + 1) * rows.shape[0] // count):
            row = np.int64(index)  # prange counts in unsigned numbers
            blocks[block] += _sum(row_pointer(rows, row), shifted(pointer(classes), row * n), pointer(weights), n)


@inlined_sum
def _sum(row, classes, weights, n):
    total = 0.0
    for x in range(n):
        total += _weight(classes, weights, x) * np.float64(load(row, x))
    return total


@inlined
def _weight(classes, weights, x):
    if classes is None:
        return load(weights, 0)
    return load(weights, np.int64(load(classes, x)))
