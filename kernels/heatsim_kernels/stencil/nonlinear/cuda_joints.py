"""CUDA: the cells that have another material beside them, renewed by a kernel of their own, from a list.

Heat flows there between temperatures, with conductivities midway (see `cell`): some hundred instructions a face. In
`register` a lane with such a cell would have its whole block wait; here every lane has one.
"""

from __future__ import annotations

import numpy as np
from numba import int64, uint32

from ...cuda_api import cuda
from .cuda_cell import sweeping
from .numbers import has_others
from .terms import NonlinearTerms

THREADS = 128

new_value = sweeping.new_value


def build(variant):
    """The kernel (u, v, cells, box, medium, walls, heat): v of `cells`, (m,) uint32 flat indices, is written."""

    def joints(u, v, cells, box, medium, walls, heat):
        entry = int64(cuda.blockIdx.x) * THREADS + int64(cuda.threadIdx.x)
        if entry < len(cells):
            i = uint32(cells[entry])
            row, nx, ny = uint32(i // uint32(box.nx)), uint32(box.nx), uint32(box.ny)
            x, y, z = uint32(i - row * nx), uint32(row % ny), uint32(row // ny)
            v[int64(i)] = new_value(u, int64(i), int64(x), int64(y), int64(z), box, medium, walls, heat)

    return joints


def grid(cells: int) -> tuple[int, int, int]:
    """Blocks for so many cells."""
    return -(-cells // THREADS), 1, 1


def cells_of(terms: NonlinearTerms) -> np.ndarray:
    """(m,) uint32: the flat indices of these cells."""
    beside = has_others(terms)
    if terms.kinds is None or not beside.any():
        return np.empty(0, np.uint32)
    size = terms.kinds[0].size
    found = [number * size + np.flatnonzero(beside[plane]) for number, plane in enumerate(terms.kinds)]
    return np.concatenate(found).astype(np.uint32)
