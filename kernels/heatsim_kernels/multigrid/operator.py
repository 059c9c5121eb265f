"""The linear operator of heat conduction on a grid, as the solver sees it: conductances and nothing else.

    (A T)_i = sum over the six faces of g (T_i - T_j)  +  s_i T_i        W, for T in K

    g   W/K, conductance of the face between two cells
    s   W/K, what ties a cell to something given: walls, ambients, and heat capacity over time step

A is symmetric, and positive definite as soon as one s is positive. Several materials, conductivity that depends on
temperature, contact resistance, unequal cells, cells that are not solved: all of that is other numbers in g and s.
A cell that is held exchanges nothing, and its row says s T = 0: the solver is to be asked for increments. Its s is
small, so that the solver's coarse grids, which cannot tell it from the cells around, hardly feel it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Operator:
    """Conductances of the faces and of what lies outside, W/K; all arrays (nz, ny, nx), C order, of one float type.

    gx, gy, gz: of the face between a cell and the next one up along the axis. That of the last cell leads round to
        the first one: it is 0 unless the axis is periodic.
    s: sum of what ties the cell to the outside; not negative.
    periodic: for axes x, y, z, whether the index wraps.
    """

    gx: np.ndarray
    gy: np.ndarray
    gz: np.ndarray
    s: np.ndarray
    periodic: tuple[bool, bool, bool] = (False, False, False)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(nz, ny, nx)."""
        nz, ny, nx = self.s.shape
        return nz, ny, nx

    @property
    def grounded(self) -> bool:
        """Whether some cell is tied to the outside; if none is, A is singular: every constant solves A T = 0."""
        return bool(self.s.max() > 0)
