"""The coarsest level: few cells, solved by a dense inverse that is made once."""

from __future__ import annotations

import numpy as np

from ..cpu_jit import jit

LARGEST = 200  # cells that a level is solved directly from


def inverse(columns: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(n, n) float32 inverse of a level's operator, given as `columns`; s (n,) is the sum of each of its rows.

    The diagonal is taken from the row sums: a small `s` is not lost beside large conductances.
    """
    matrix = np.array(columns, np.float64)
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, s - matrix.sum(axis=1))
    _invert(matrix)
    return matrix.astype(np.float32)


@jit
def _invert(m):
    """Gauss-Jordan elimination in place, in a fixed order; a pivot that rounding made zero counts as infinite."""
    for k in range(m.shape[0]):
        scale = 1.0 / m[k, k] if m[k, k] > 0 else 0.0
        m[k, k] = 1.0
        for j in range(m.shape[0]):
            m[k, j] *= scale
        for i in range(m.shape[0]):
            factor = m[i, k]
            if i != k and factor != 0:
                m[i, k] = 0.0
                for j in range(m.shape[0]):
                    m[i, j] -= factor * m[k, j]


@jit
def multiply(matrix, b, out):
    """out = matrix b."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[0]):
            total += np.float64(matrix[i, j]) * b[j]
        out[i] = total
