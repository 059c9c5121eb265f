"""The grid: cells in a box, equal along an axis or not, in Cartesian or cylindrical coordinates.

Finite volumes need two numbers of a cell along each axis, and all geometry is products of them:

- `measure`: its size dx; along the radius of cylindrical coordinates (r_out^2 - r_in^2)/2, around it 2 pi. The volume
  of a cell is the product of its three measures.
- `halves`: the lengths d from its centre to its lower and upper face for which d / (k times the measures of the other
  two axes) is the thermal resistance of that half: dx/2, or, exactly for radial conduction, ln(r_face/r_centre)
  (Carslaw and Jaeger, Conduction of Heat in Solids, 2nd ed. 1959, section 7.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

AXES = ("x", "y", "z")
FACES = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")
FACE_AXES = {"x": ("z", "y"), "y": ("z", "x"), "z": ("y", "x")}  # axes of the cells of a face: rows, columns


class CellGrid(NamedTuple):
    """Shape (nz, ny, nx), lower corner (x, y, z) in m, cell size (dx, dy, dz) in m: the mean size of unequal cells.

    edges: for axes x, y, z, the places of the n + 1 cell faces in m, or None where cells are equal.
    coordinates: "cartesian", or "cylindrical": then x is the radius r, y the angle phi in one cell that goes around.
    """

    shape: tuple[int, int, int]
    origin: tuple[float, float, float]
    spacing: tuple[float, float, float]
    edges: tuple[tuple[float, ...] | None, ...] = (None, None, None)
    coordinates: str = "cartesian"

    @property
    def cells(self) -> int:
        """Number of cells."""
        nz, ny, nx = self.shape
        return nz * ny * nx

    @property
    def equal(self) -> bool:
        """Whether all cells have the same size and volume."""
        return self.coordinates == "cartesian" and self.edges == (None, None, None)

    @property
    def cell_volume(self) -> float:
        """Volume of a cell, m3; of a grid of equal cells."""
        dx, dy, dz = self.spacing
        return dx * dy * dz

    def centre(self, z: int, y: int, x: int) -> tuple[float, float, float]:
        """The centre x, y, z of a cell, m."""
        return float(self.centres("x")[x]), float(self.centres("y")[y]), float(self.centres("z")[z])

    def volumes(self, z: int) -> np.ndarray:
        """Volumes of the cells of plane z, m3: (ny, nx), or () where all are equal."""
        if self.equal:
            return np.asarray(self.cell_volume)
        return np.asarray(self.measure("z")[z] * np.outer(self.measure("y"), self.measure("x")))

    def faces(self, axis: str) -> np.ndarray:
        """Places of the cell faces along "x", "y" or "z" in m, (n + 1,)."""
        i = AXES.index(axis)
        given = self.edges[i]
        if given is not None:
            return np.array(given)
        return self.origin[i] + np.arange(self.shape[2 - i] + 1) * self.spacing[i]

    def centres(self, axis: str) -> np.ndarray:
        """Cell centres along "x", "y" or "z" in m, (n,)."""
        i = AXES.index(axis)
        if self.edges[i] is None:
            return self.origin[i] + (np.arange(self.shape[2 - i]) + 0.5) * self.spacing[i]
        faces = self.faces(axis)
        return np.asarray(0.5 * (faces[:-1] + faces[1:]))

    def sizes(self, axis: str) -> np.ndarray:
        """Cell sizes along an axis, m, (n,)."""
        i = AXES.index(axis)
        if self.edges[i] is None:
            return np.full(self.shape[2 - i], self.spacing[i])
        return np.diff(self.faces(axis))

    def measure(self, axis: str) -> np.ndarray:
        """Share of each cell's volume that the axis contributes, (n,)."""
        if self.coordinates == "cylindrical" and axis == "x":
            r = self.faces("x")
            return np.asarray(0.5 * (r[1:] ** 2 - r[:-1] ** 2))
        if self.coordinates == "cylindrical" and axis == "y":
            return np.full(self.shape[1], 2.0 * np.pi / self.shape[1])
        return self.sizes(axis)

    def halves(self, axis: str) -> tuple[np.ndarray, np.ndarray]:
        """Lengths from cell centres to lower and upper faces as thermal resistances count them, (n,) each; infinite
        towards the axis r = 0, through which nothing passes."""
        if self.coordinates == "cylindrical" and axis == "x":
            r, centre = self.faces("x"), self.centres("x")
            with np.errstate(divide="ignore"):
                return np.log(centre / r[:-1]), np.log(r[1:] / centre)
        half = 0.5 * self.sizes(axis)
        return half, half

    def span(self, axis: str) -> tuple[float, float]:
        """Lower and upper end of the box along an axis, m."""
        i = AXES.index(axis)
        given = self.edges[i]
        if given is not None:
            return given[0], given[-1]
        return self.origin[i], self.origin[i] + self.shape[2 - i] * self.spacing[i]


def cell_index(grid: CellGrid, axis: str, place: float) -> int:
    """The cell whose slab holds a place on an axis, m."""
    i = AXES.index(axis)
    if grid.edges[i] is None:
        index = int((place - grid.origin[i]) / grid.spacing[i])
    else:
        index = int(np.searchsorted(grid.faces(axis), place, side="right")) - 1
    return min(max(index, 0), grid.shape[2 - i] - 1)
