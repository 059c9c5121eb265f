"""Coarse grids: which cells of an axis a coarser level keeps, for any number of cells.

    no period, odd   C F C F C      every second cell is kept (C); the others (F) lie between two that are
    no period, even  C F C F C C    and the last one: both ends are kept, so a wall is never interpolated
    period, even     C F C F (C)    the last F lies between the last C and the first
    period, odd      C F C F C (C)

Coarse cell I stands for fine cell min(2 I, n - 1); F cell number j is fine cell 2 j + 1, between the coarse cells j and
j + 1. Any length shrinks to 2, where an axis stays.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from heatsim_kernels.runtime.cpu.compilation import jit

Shape = tuple[int, int, int]
Field = TypeVar("Field")
Conductances = tuple[Field, Field, Field] | Field  # gx, gy, gz of the finest level; of the others the 13 a cell
LATER = 13  # neighbours of 26 that come later in memory: a cell keeps the conductances to these


class Coarsening(NamedTuple):
    """Coarsening of a grid along one axis; axis 0, 1, 2 is z, y, x of the arrays."""

    fine: Shape
    axis: int
    between: int  # number of F cells

    @property
    def coarse(self) -> Shape:
        """Shape of the coarse grid."""
        return _with(self.fine, self.axis, self.fine[self.axis] - self.between)

    @property
    def weights(self) -> Shape:
        """Shape of the F cells: of the weights that interpolate them."""
        return _with(self.fine, self.axis, self.between)


def coarsening(shape: Shape, axis: int, periodic: bool) -> Coarsening:
    """Keep every second cell along an axis (and the last one, see above)."""
    n = shape[axis]
    return Coarsening(shape, axis, n // 2 if periodic else (n - 1) // 2)


def _with(shape: Shape, axis: int, n: int) -> Shape:
    nz, ny, nx = (n if i == axis else size for i, size in enumerate(shape))
    return nz, ny, nx


# The coarsest level: few cells, solved by a dense inverse that is made once.


MAX_DIRECT_CELLS = 200  # cells that a level is solved directly from


def couplings(g: tuple[np.ndarray, np.ndarray, np.ndarray] | np.ndarray, shape: Shape) -> np.ndarray:
    """(n, n) float64 conductances between the cells of a small level, from those of its faces or the 13 a cell.

    The diagonal has those that lead round an axis of one cell, and means nothing.
    """
    index = np.arange(np.prod(shape)).reshape(shape)
    between = np.zeros((index.size, index.size))
    faces = zip((1, 3, 9), g, strict=True) if isinstance(g, tuple) else enumerate(np.moveaxis(g, 2, 0), 1)
    for number, conductance in faces:  # number = 9 dz + 3 dy + dx
        dz, rest = divmod(number + 4, 9)
        dy, dx = divmod(rest, 3)
        there = np.roll(index, (-dz, 1 - dy, 1 - dx), (0, 1, 2))
        np.add.at(between, (index, there), conductance)
        np.add.at(between, (there, index), conductance)
    return between


def inverse(between: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(n, n) float64 inverse of a level's operator, of its `couplings` and the sums s (n,) of its rows.

    The diagonal is taken from the row sums: a small `s` is not lost beside large conductances. In float64, since where
    `s` is small the inverse is nearly one large constant, and float32 has no room for what differs beside it.
    """
    matrix = -between
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, s - matrix.sum(axis=1))
    _invert(matrix)
    return matrix


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
            total += matrix[i, j] * b[j]
        out[i] = total
