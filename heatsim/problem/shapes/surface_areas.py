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
from heatsim.problem.shapes.condition_surfaces import condition_surface
from heatsim.problem.shapes.layouts import encloses
from heatsim.problem.shapes.voxelise import contains_points, shape_masks, stl_surface
from heatsim.scenario import Scenario
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
    cells = tuple(_cells(grid, axis, row) for axis, row in zip(AXES, places, strict=True))
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


def _cells(grid: CellGrid, axis: str, places: np.ndarray) -> np.ndarray:
    faces = grid.faces(axis)
    return np.clip(np.searchsorted(faces, places, side="right") - 1, 0, len(faces) - 2)


def _covers(
    scenario: Scenario, grid: CellGrid, number: int, points: tuple[np.ndarray, ...], cells: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Which points lie in a region; of forms that are known by cells, or costly, the cells that have them."""
    region = scenario.regions[number]
    bounds = region.bounds()
    if bounds is not None:
        if any(high < at.min() or low > at.max() for low, high, at in zip(*bounds, points, strict=True)):
            return np.zeros(len(points[0]), bool)
        return np.broadcast_to(contains_points(region, *points), points[0].shape)
    if region.where is not None:
        x, y, z = points
        return np.broadcast_to(np.nan_to_num(region.where(x=x, y=y, z=z)) != 0, x.shape)
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
    """What an end of a polygon is: STRAIGHT where all of its sides lie along the grid."""
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
