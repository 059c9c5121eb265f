"""The grid: equal cells in a box."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

AXES = ("x", "y", "z")
FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")


class Grid(NamedTuple):
    """Equal cells: shape (nz, ny, nx), lower corner (x, y, z) in m, cell size (dx, dy, dz) in m."""

    shape: tuple[int, int, int]
    origin: tuple[float, float, float]
    spacing: tuple[float, float, float]

    @property
    def cells(self) -> int:
        """Number of cells."""
        nz, ny, nx = self.shape
        return nz * ny * nx

    @property
    def cell_volume(self) -> float:
        """Volume of a cell, m3."""
        dx, dy, dz = self.spacing
        return dx * dy * dz

    def centres(self, axis: str) -> np.ndarray:
        """Cell centres along "x", "y" or "z" in m, (n,)."""
        i = AXES.index(axis)
        return self.origin[i] + (np.arange(self.shape[2 - i]) + 0.5) * self.spacing[i]

    def span(self, axis: str) -> tuple[float, float]:
        """Lower and upper end of the box along an axis, m."""
        i = AXES.index(axis)
        return self.origin[i], self.origin[i] + self.shape[2 - i] * self.spacing[i]
