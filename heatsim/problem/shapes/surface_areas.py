"""True areas of the curved surfaces of shapes, as far as they lie open: what a staircase of cell faces has to sum to.

The faces of a ball's cells, each with the factor of its normal, sum to an area that is off by some 1 %, either way, as
the number of cells in a disc is. Points that are spread evenly over the true surface say which part of it lies open,
between which materials; the rest of it is covered by later regions or lies beyond the grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.problem.shapes.layouts import encloses
from heatsim.problem.shapes.voxelise import contains_points, shape_masks, stl_surface, with_neighbours
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.regions import Cylinder, Polygon, Shape, Sphere

MANTLE, ENDS, STRAIGHT = 0, 1, 2  # parts of a surface: curved or oblique; flat ends of such; along the grid
FLAT = 1e-3  # of |nx| + |ny| + |nz|, by which it is over 1 where a surface does not lie along the grid
_MOST_POINTS, _LEAST_POINTS = 2**17, 1024  # on all surfaces; on one, at least
_POINTS = 8192  # on one at most
_ASIDE = 1e-6  # in cells, how far from a surface it is looked at what lies on its sides
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


class SurfacePoints(NamedTuple):
    """Points (3, n) of a surface, m, its unit normals there, outwards, the area that each stands for, m2, and the part
    of the surface that it lies on."""

    places: np.ndarray
    normals: np.ndarray
    areas: np.ndarray
    parts: np.ndarray


def open_areas(
    scenario: Scenario, grid: CellGrid, material_ids: np.ndarray, beside: Mapping[int, np.ndarray]
) -> dict[tuple[int, int, int, int], float]:
    """True areas, m2, by region, part and the materials inside and outside, of the surfaces of regions where they lie
    open. beside: flat indices of the cells at the surface, by the numbers of the regions. Of a part that reaches along
    an axis of one cell there is no area."""
    count = int(np.clip(_MOST_POINTS // max(len(beside), 1), _LEAST_POINTS, _POINTS))
    flat = [axis for axis in range(3) if grid.shape[2 - axis] == 1]
    found: dict[tuple[int, int, int, int], float] = {}
    for number, cells in beside.items() if grid.coordinates == "cartesian" else ():
        points = _surface_points(scenario.regions[number], grid, count, cells)
        if points is None:
            continue
        leaning = (np.abs(points.normals[flat]) > 1e-9).any(axis=0)
        tilted = [part for part in (MANTLE, ENDS, STRAIGHT) if leaning[points.parts == part].any()]
        points = SurfacePoints(*(each[..., ~np.isin(points.parts, tilted)] for each in points))
        if points.areas.size == 0:
            continue
        within, beyond = (_materials(scenario, grid, material_ids, number, points, side) for side in (-1.0, 1.0))
        for part, inside, outside in np.unique(np.stack((points.parts, within, beyond)), axis=1).T.tolist():
            if inside >= 0 and outside >= 0:
                those = (points.parts == part) & (within == inside) & (beyond == outside)
                found[number, part, inside, outside] = float(points.areas[those].sum())
    return found


def _materials(
    scenario: Scenario, grid: CellGrid, material_ids: np.ndarray, number: int, points: SurfacePoints, side: float
) -> np.ndarray:
    """(n,) the material just inside (side -1) or outside (1) of the surface of a region; -1 where the surface is not
    there: under a later region, or beyond the grid."""
    step = _ASIDE * min(float(grid.sizes(axis).min()) for axis in AXES)
    x, y, z = places = points.places + side * step * points.normals
    spans = np.array([grid.span(axis) for axis in AXES])[:, :, None]
    there = ((places >= spans[:, 0]) & (places <= spans[:, 1])).all(axis=0)
    names = [*scenario.materials, *scenario.ambients]
    found = np.full(len(x), -1)
    cells = tuple(
        np.clip(np.searchsorted(grid.faces(axis), row, side="right") - 1, 0, grid.shape[2 - number] - 1)
        for number, (axis, row) in enumerate(zip(AXES, places, strict=True))
    )
    for index, region in enumerate(scenario.regions):
        own = index == number
        covered = np.full(len(x), side < 0) if own else _covers(scenario, grid, index, (x, y, z), cells)
        if index > number:
            there &= ~covered
        elif region.material is not None:
            found[covered] = names.index(region.material)
        else:
            found[covered] = material_ids[cells[::-1]][covered]
    return np.where(there, found, -1)


def _covers(
    scenario: Scenario, grid: CellGrid, number: int, points: tuple[np.ndarray, ...], cells: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Which points lie in a region; of forms that are known by cells, or costly, the cells that have them."""
    region = scenario.regions[number]
    bounds = region.bounds()
    if bounds and any(high < at.min() or low > at.max() for low, high, at in zip(*bounds, points, strict=True)):
        return np.zeros(len(points[0]), bool)
    if bounds or region.where is not None:
        return np.broadcast_to(contains_points(region, *points), points[0].shape)
    if not region.forms or region.labels is not None:
        return np.ones(len(points[0]), bool)
    masks = np.stack(list(shape_masks(scenario, ("regions", number), region, grid)))
    return np.asarray(masks[cells[::-1]])


def _surface_points(shape: Shape, grid: CellGrid, count: int, cells: np.ndarray) -> SurfacePoints | None:
    if shape.sphere is not None:
        return _of_sphere(shape.sphere, count)
    if shape.cylinder is not None:
        return _of_cylinder(shape.cylinder, count)
    if shape.polygon is not None:
        return _of_polygon(shape.polygon, grid, count)
    if shape.stl is not None:
        surface = stl_surface(shape.stl)
        places, normals, area = surface.points(count)
        return SurfacePoints(places, normals, np.full(count, area / count), straight_or_not(normals))
    if shape.where is not None:
        places, normals, areas = condition_surface(shape.where, grid, cells)
        return SurfacePoints(places, normals, areas, straight_or_not(normals))
    return None


def straight_or_not(normals: np.ndarray) -> np.ndarray:
    """(n,) STRAIGHT where unit normals (3, n) lie along an axis, MANTLE elsewhere."""
    return np.where(np.abs(normals).sum(axis=0) > 1.0 + FLAT, MANTLE, STRAIGHT)


def _of_sphere(sphere: Sphere, count: int) -> SurfacePoints:
    """A Fibonacci lattice (Swinbank and Purser, Fibonacci grids, Q. J. R. Meteorol. Soc. 132 (2006), 1769)."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle, across = 2.0 * np.pi * _GOLDEN * np.arange(count), np.sqrt(1.0 - z * z)
    normals = np.stack((across * np.cos(angle), across * np.sin(angle), z))
    places = np.array(sphere.center)[:, None] + sphere.radius * normals
    area = 4.0 * np.pi * sphere.radius**2
    return SurfacePoints(places, normals, np.full(count, area / count), np.full(count, MANTLE))


def _of_cylinder(cylinder: Cylinder, count: int) -> SurfacePoints:
    start, end, radius = np.array(cylinder.start), np.array(cylinder.end), cylinder.radius
    length = float(np.linalg.norm(end - start))
    along = (end - start) / length
    across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    across /= np.linalg.norm(across)
    third = np.cross(along, across)
    share, angle = (np.arange(count) + 0.5) / count, 2.0 * np.pi * _GOLDEN * np.arange(count)
    around = np.outer(across, np.cos(angle)) + np.outer(third, np.sin(angle))
    found = [(start[:, None] + np.outer(along, length * share) + radius * around, around, 2 * np.pi * radius * length)]
    for place, normal in ((start, -along), (end, along)):
        disc = place[:, None] + radius * np.sqrt(share) * around
        found.append((disc, np.broadcast_to(normal[:, None], disc.shape), np.pi * radius**2))
    places, normals = (np.concatenate([each[i] for each in found], axis=1) for i in (0, 1))
    areas = np.repeat([each[2] / count for each in found], count)
    return SurfacePoints(places, normals, areas, np.repeat([MANTLE, ENDS, ENDS], count))


def _of_polygon(polygon: Polygon, grid: CellGrid, count: int) -> SurfacePoints:
    """Its sides, and those ends that it has."""
    axis = "xyz".index(polygon.axis)
    low, high = np.clip(polygon.span, *grid.span(polygon.axis))
    corners = np.array(polygon.points)
    edges = np.roll(corners, -1, axis=0) - corners
    lengths = np.hypot(*edges.T)
    ends = np.cumsum(lengths)
    at = (np.arange(count) + 0.5) / count * ends[-1]
    edge = np.minimum(np.searchsorted(ends, at), len(edges) - 1)
    share = (at - (ends - lengths)[edge]) / lengths[edge]
    (u, v), (du, dv) = (corners[edge] + share[:, None] * edges[edge]).T, (edges[edge] / lengths[edge, None]).T
    signed = float((corners[:, 0] * np.roll(corners[:, 1], -1) - corners[:, 1] * np.roll(corners[:, 0], -1)).sum())
    turn = 1.0 if signed > 0 else -1.0
    places, normals = np.zeros((2, 3, count))
    places[axis] = low + (high - low) * ((_GOLDEN * np.arange(count)) % 1.0)
    for number, place, normal in zip(polygon.across, (u, v), (turn * dv, -turn * du), strict=True):
        places[number], normals[number] = place, normal
    found = [SurfacePoints(places, normals, np.full(count, ends[-1] * (high - low) / count), straight_or_not(normals))]
    found += [
        _end(polygon, end, side, count) for end, side in zip(polygon.span, (-1.0, 1.0), strict=True) if isfinite(end)
    ]
    return SurfacePoints(*(np.concatenate(each, axis=-1) for each in zip(*found, strict=True)))


def end_of(polygon: Polygon) -> int:
    """The part that an end of a polygon is: STRAIGHT where all sides lie along the grid, else ENDS."""
    return STRAIGHT if all(a == c or b == d for (a, b), (c, d) in polygon.edges) else ENDS


def _end(polygon: Polygon, place: float, side: float, count: int) -> SurfacePoints:
    """An end of a polygon, by points spread evenly over a rectangle around it (Roberts 2018)."""
    corners = np.array(polygon.points)
    low, size = corners.min(axis=0), np.ptp(corners, axis=0)
    u, v = (low[i] + size[i] * ((np.arange(2 * count) / 1.324717957244746 ** (i + 1)) % 1.0) for i in (0, 1))
    inside = encloses(corners, u, v)
    places, normals = np.zeros((2, 3, int(inside.sum())))
    axis = "xyz".index(polygon.axis)
    places[axis], normals[axis] = place, side
    for number, along in zip(polygon.across, (u, v), strict=True):
        places[number] = along[inside]
    n = places.shape[1]
    return SurfacePoints(places, normals, np.full(n, polygon.area / max(n, 1)), np.full(n, end_of(polygon)))


# --- points on the surface of a condition, such as x**2 + y**2 < 0.01, and the area that each stands for
#
# Points are spread over the cells at the surface, and each is moved to the nearest place at which a comparison of the
# condition changes. Those that lie within a distance e of it fill a layer of thickness 2 e, so that each stands for
# its share of the layer's volume over 2 e (the coarea formula: Federer, Geometric Measure Theory, 1969, 3.2.12).


_TRIED = 2**17  # spread over all cells
_LAYER = 0.3  # e, in the least size of a cell
_ROUNDS = 4  # of Newton's method
_STEP, _SIDES = 1e-4, 1e-3  # of differences, and to look on both sides, in the least size of a cell
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
    """The points of the part of the surface where one comparison changes."""
    at, near = places.copy(), np.ones(places.shape[1], bool)
    with np.errstate(all="ignore"):
        for _ in range(_ROUNDS):
            slope = gradient_at(difference, at, np.full((3, 1), _STEP * size))
            steep = (slope * slope).sum(axis=0)
            at = at - slope * (value_at(difference, at) / steep)
        normal = slope / np.sqrt(steep)
        along = (places - at - normal * ((places - at) * normal).sum(axis=0)) ** 2
        near = (((places - at) * normal).sum(axis=0) ** 2 < (_LAYER * size) ** 2) & (along.sum(axis=0) < size**2)
        below, above = (value_at(condition, at + side * _SIDES * size * normal) != 0 for side in (-1.0, 1.0))
    near &= np.isfinite(normal).all(axis=0) & (below != above)
    outwards = np.where(below, 1.0, -1.0)
    return at[:, near], (outwards * normal)[:, near], volumes[near] / (2.0 * _LAYER * size)


def value_at(value: Expression, at: np.ndarray) -> np.ndarray:
    """(n,) the value of an expression at points (3, n), m."""
    return np.broadcast_to(value(x=at[0], y=at[1], z=at[2]), at.shape[1:])


def gradient_at(value: Expression, at: np.ndarray, step: np.ndarray) -> np.ndarray:
    """(3, n) the gradient of an expression at points (3, n), m, by central differences; step: (3, n) or (3, 1), m."""
    slopes = np.empty(at.shape)
    for axis in range(3):
        aside = np.zeros(step.shape)
        aside[axis] = step[axis]
        slopes[axis] = (value_at(value, at + aside) - value_at(value, at - aside)) / (2.0 * step[axis])
    return slopes


def _widened(grid: CellGrid, cells: np.ndarray) -> np.ndarray:
    """Indices (3, n) along z, y, x of cells and their neighbours."""
    mask = np.zeros(grid.shape, bool)
    mask.reshape(-1)[cells] = True
    return np.array(np.nonzero(with_neighbours(mask, np.logical_or)))


def _spread(grid: CellGrid, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (3, n) of points in cells, x, y, z, and the volume that each stands for (n,)."""
    count = max(1, _TRIED // cells.shape[1])
    shifts = np.random.default_rng(0).random((3, cells.shape[1], 1))
    places, volumes = [], np.ones((cells.shape[1], 1))
    for number, (axis, index) in enumerate(zip("zyx", cells, strict=True)):
        within = (shifts[number] + np.arange(count) / _ROOT ** (number + 1)) % 1.0
        sizes = grid.sizes(axis)[index][:, None]
        places.append((grid.faces(axis)[index][:, None] + sizes * within).reshape(-1))
        volumes = volumes * sizes
    return np.stack(places[::-1]), np.repeat(volumes[:, 0] / count, count)
