"""Coarse grids: which cells of an axis a coarser level keeps, for any number of cells.

    no period, odd   C F C F C      every second cell is kept (C); the others (F) lie between two that are
    no period, even  C F C F C C    and the last one: both ends are kept, so a wall is never interpolated
    period, even     C F C F (C)    the last F lies between the last C and the first
    period, odd      C F C F C (C)

Coarse cell I stands for fine cell min(2 I, n - 1); F cell number j is fine cell 2 j + 1, between the coarse cells j and
j + 1. Any length shrinks to 2, where an axis stays.
"""

from __future__ import annotations

from typing import NamedTuple

Shape = tuple[int, int, int]


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
