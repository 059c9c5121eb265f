"""Surfaces of solids towards ambients that lie obliquely in the grid, and the area that their staircase has too much.

        ___|      For each m2 of a surface with unit normal n there are |nx| + |ny| + |nz| m2 of cell faces, its shadows
     __|   |      along the axes: 3/2 of a sphere, 4/pi of a round rod, however small the cells are. So the film
    |      |      resistance of each of these faces is multiplied by that sum: then a coefficient acts on the true area.

Areas of what is made of voxels, from normals: Windreich, Kiryati and Lohmann, Voxel-based surface area estimation: from
theory to practice, Pattern Recognition 36 (2003), 2531. Theirs come from the voxels; here they are those of the shapes
that painted the cells, so planes along the grid, with their edges and corners, keep a factor of exactly 1. Between two
cells lies the surface of the region that was painted last over either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim.grid import AXES, Grid
from heatsim.problem.normals import Pairs, normals
from heatsim.problem.painting import last_regions
from heatsim.scenario import Scenario

SLANTING = ("sphere", "cylinder", "where", "stl")  # forms that may be oblique
LEVELS = 64  # factors between 1 and 2 that are told apart, so that kinds of cells stay few
_FLAT = 1e-3  # excess of a factor below which a surface counts as lying along the grid


class Slopes(NamedTuple):
    """Solid cells (m,), flat indices in ascending order, with an oblique surface towards an ambient; `levels` (m, 6):
    of each of their faces, an index into `factors`, those on the film resistance, the first being 1."""

    cells: np.ndarray
    levels: np.ndarray
    factors: np.ndarray


def find_slopes(scenario: Scenario, grid: Grid, painted: np.ndarray) -> Slopes | None:
    """The oblique surfaces towards ambients; None where there are none. painted: the medium of each cell, see
    `paint_media`."""
    slanting = np.array([any(form in SLANTING for form in region.forms) for region in scenario.regions], bool)
    solid = painted < len(scenario.materials)
    if not scenario.ambients or not slanting.any() or solid.all():
        return None
    axis, lower, upper, region = _meetings(solid, last_regions(scenario, grid), slanting)
    own_is_lower = solid.reshape(-1)[lower]
    own = np.where(own_is_lower, lower, upper)
    factors = np.ones(len(axis))
    for number in np.unique(region).tolist():
        those = region == number
        below, above, here = (_centres(grid, cells[those]) for cells in (lower, upper, own))
        pairs = Pairs(axis[those], below, above, here, _sizes(grid, own[those]))
        factors[those] = _factors(grid, normals(scenario.regions[number], pairs))
    return _slopes(own, 2 * axis + own_is_lower, factors)


def _meetings(solid: np.ndarray, regions: np.ndarray, slanting: np.ndarray) -> tuple[np.ndarray, ...]:
    """Pairs of a solid and another cell with a surface that may be oblique in between: their axis, the flat indices of
    the lower and the upper cell, and the region whose surface it is."""
    found = []
    for axis in range(3):
        step = int(np.prod(solid.shape[3 - axis :]))
        differs = np.flatnonzero(np.diff(solid, axis=2 - axis))
        shape = tuple(n - (i == 2 - axis) for i, n in enumerate(solid.shape))
        lower = np.ravel_multi_index(np.unravel_index(differs, shape), solid.shape)
        region = np.maximum(regions.reshape(-1)[lower], regions.reshape(-1)[lower + step])
        keep = slanting[region]
        found.append((np.full(int(keep.sum()), axis), lower[keep], lower[keep] + step, region[keep]))
    axes, lowers, uppers, owners = (np.concatenate(each) for each in zip(*found, strict=True))
    return axes, lowers, uppers, owners


def _factors(grid: Grid, normal: np.ndarray) -> np.ndarray:
    """(n,) |nx| + |ny| + |nz| of unit vectors along normals (3, n) in the axes that the grid resolves; 1 for none."""
    resolved = np.array([grid.shape[2 - axis] > 1 for axis in range(3)])[:, None]
    n = np.abs(np.where(resolved & np.isfinite(normal).all(axis=0), normal, 0.0))
    n /= np.maximum(n.max(axis=0), np.finfo(float).tiny)
    length = np.sqrt((n * n).sum(axis=0))
    return np.where(length > 0, n.sum(axis=0) / np.where(length > 0, length, 1.0), 1.0)


def _slopes(own: np.ndarray, faces: np.ndarray, factors: np.ndarray) -> Slopes | None:
    """Round the factors to levels, each with the mean conductance of its faces, so that areas stay what they are."""
    oblique = factors > 1.0 + _FLAT
    if not oblique.any():
        return None
    own, faces, factors = own[oblique], faces[oblique], factors[oblique]
    _, level = np.unique(np.rint((factors - 1.0) * LEVELS), return_inverse=True)
    share = np.bincount(level, 1.0 / factors) / np.bincount(level)
    cells, place = np.unique(own, return_inverse=True)
    levels = np.zeros((len(cells), 6), np.uint8)
    levels[place, faces] = level + 1
    return Slopes(cells, levels, np.append(1.0, 1.0 / share))


def _centres(grid: Grid, cells: np.ndarray) -> np.ndarray:
    return _along(grid, cells, [grid.centres(axis) for axis in AXES])


def _sizes(grid: Grid, cells: np.ndarray) -> np.ndarray:
    return _along(grid, cells, [grid.sizes(axis) for axis in AXES])


def _along(grid: Grid, cells: np.ndarray, values: list[np.ndarray]) -> np.ndarray:
    """(3, n) values along x, y, z at flat indices of cells."""
    z, y, x = np.unravel_index(cells, grid.shape)
    return np.array([values[0][x], values[1][y], values[2][z]])
