"""Points on the surface of a condition, such as x**2 + y**2 < 0.01, and the area that each stands for.

Points are spread over the cells at the surface, and each is moved to the nearest place at which a comparison of the
condition changes. Those that lie within a distance e of it fill a layer of thickness 2 e, so that each stands for
its share of the layer's volume over 2 e (the coarea formula: Federer, Geometric Measure Theory, 1969, 3.2.12).
"""

from __future__ import annotations

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.scenario import Expression

_POINTS = 2**17  # spread over all cells
_LAYER = 0.3  # e, in the least size of a cell
_ROUNDS = 4  # of Newton's method
_STEP, _ASIDE = 1e-4, 1e-3  # of differences, and to look on both sides, in the least size of a cell
_ROOT = 1.2207440846057596  # of x^4 = x + 1 (Roberts, The unreasonable effectiveness of quasirandom sequences, 2018)

Points = tuple[np.ndarray, np.ndarray, np.ndarray]


def condition_surface(condition: Expression, grid: CellGrid, cells: np.ndarray) -> Points:
    """Places (3, n) on the surface of a condition, m, unit normals (3, n) there, outwards, and areas (n,), m2; cells:
    flat indices of those that the surface passes through, or beside."""
    places, volumes = _spread(grid, _widened(grid, cells))
    size = float(min(grid.sizes(axis).min() for axis in AXES))
    found = [_of_comparison(condition, difference, places, volumes, size) for _, difference in condition.comparisons()]
    if not found:
        return np.zeros((3, 0)), np.zeros((3, 0)), np.zeros(0)
    at, normals, areas = zip(*found, strict=True)
    return np.concatenate(at, axis=1), np.concatenate(normals, axis=1), np.concatenate(areas)


def _of_comparison(
    condition: Expression, difference: Expression, places: np.ndarray, volumes: np.ndarray, size: float
) -> Points:
    """Those of the part of the surface where one comparison changes."""
    at, near = places.copy(), np.ones(places.shape[1], bool)
    with np.errstate(all="ignore"):
        for _ in range(_ROUNDS):
            slope = _gradient(difference, at, _STEP * size)
            steep = (slope * slope).sum(axis=0)
            at = at - slope * (_value(difference, at) / steep)
        normal = slope / np.sqrt(steep)
        along = (places - at - normal * ((places - at) * normal).sum(axis=0)) ** 2
        near = (((places - at) * normal).sum(axis=0) ** 2 < (_LAYER * size) ** 2) & (along.sum(axis=0) < size**2)
        below, above = (_value(condition, at + side * _ASIDE * size * normal) != 0 for side in (-1.0, 1.0))
    near &= np.isfinite(normal).all(axis=0) & (below != above)
    outwards = np.where(below, 1.0, -1.0)
    return at[:, near], (outwards * normal)[:, near], volumes[near] / (2.0 * _LAYER * size)


def _value(value: Expression, at: np.ndarray) -> np.ndarray:
    return np.broadcast_to(value(x=at[0], y=at[1], z=at[2]), at.shape[1:])


def _gradient(value: Expression, at: np.ndarray, step: float) -> np.ndarray:
    aside = step * np.eye(3)[:, :, None]
    return np.stack([(_value(value, at + each) - _value(value, at - each)) / (2.0 * step) for each in aside])


def _widened(grid: CellGrid, cells: np.ndarray) -> np.ndarray:
    """Indices (3, n) along z, y, x of cells and their neighbours."""
    mask = np.zeros(grid.shape, bool)
    mask.reshape(-1)[cells] = True
    for axis in range(3):
        before, after = (tuple(s if i == axis else slice(None) for i in range(3)) for s in (slice(-1), slice(1, None)))
        wide = mask.copy()
        wide[after] |= mask[before]
        wide[before] |= mask[after]
        mask = wide
    return np.array(np.nonzero(mask))


def _spread(grid: CellGrid, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (3, n) of points in cells, x, y, z, and the volume that each stands for (n,)."""
    count = max(1, _POINTS // cells.shape[1])
    shifts = np.random.default_rng(0).random((3, cells.shape[1], 1))
    places, volumes = [], np.ones((cells.shape[1], 1))
    for number, (axis, index) in enumerate(zip("zyx", cells, strict=True)):
        within = (shifts[number] + np.arange(count) / _ROOT ** (number + 1)) % 1.0
        sizes = grid.sizes(axis)[index][:, None]
        places.append((grid.faces(axis)[index][:, None] + sizes * within).reshape(-1))
        volumes = volumes * sizes
    return np.stack(places[::-1]), np.repeat(volumes[:, 0] / count, count)
