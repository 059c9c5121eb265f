"""The area of curved and inclined interfaces that resist heat: films towards ambients, contacts between materials.

        ___|      For each m2 of a surface with unit normal n there are |nx| + |ny| + |nz| m2 of cell faces, its shadows
     __|   |      along the axes: 3/2 of a sphere, 4/pi of a round rod, however small the cells are. So the
    |      |      resistance of a film towards an ambient, or of a contact between two materials, is multiplied by that
    |      |      sum on each of these faces: then it acts on the true area.

Areas of what is made of voxels, from normals: Windreich, Kiryati and Lohmann, Voxel-based surface area estimation: from
theory to practice, Pattern Recognition 36 (2003), 2531. Theirs come from the voxels; here they are those of the shapes
that painted the cells, so planes along the grid, with their edges and corners, keep a factor of exactly 1. Between two
cells lies the surface of the region that was painted last over either. The factors of each part of a curved surface are
scaled so that its faces sum to its true area, where this is known: see `surface_areas`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.problem.shapes.surface_areas import (
    ENDS,
    FLAT,
    MANTLE,
    STRAIGHT,
    end_of,
    gradient_at,
    open_areas,
    straight_or_not,
    value_at,
)
from heatsim.problem.shapes.voxelise import last_regions, stl_surface
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.regions import Cylinder, Polygon, Shape

OBLIQUE_FORMS = ("sphere", "cylinder", "polygon", "where", "stl")  # forms that may be oblique
LEVELS = 64  # factors between 1 and 2 that are told apart, so that cell classes stay few
_FARTHEST = 1.3  # by which an area may be off that is scaled: what is farther off is no such surface


class AreaFactors(NamedTuple):
    """Solid cells (m,), flat indices in ascending order, with an oblique surface that resists heat; `levels` (m, 6): of
    each of their faces, an index into `factors`, those on the resistance, the first being 1."""

    cells: np.ndarray
    levels: np.ndarray
    factors: np.ndarray


def find_area_factors(
    scenario: Scenario, grid: CellGrid, material_ids: np.ndarray, contact: np.ndarray, solids: int
) -> AreaFactors | None:
    """The oblique surfaces that resist heat; None where there are none.

    material_ids: (nz, ny, nx) the material of each cell; contact: (m, m) resistance between materials, m2 K/W, of which
    the first `solids` are materials and the others ambients.
    """
    slanting = np.array([any(form in OBLIQUE_FORMS for form in region.forms) for region in scenario.regions], bool)
    solid = np.arange(len(contact)) < solids
    resists = (contact > 0) | (solid[:, None] != solid)
    if not slanting.any() or not resists.any():
        return None
    regions = last_regions(scenario, grid)
    axis, lower, upper, region = _resisting_pairs(material_ids, regions, resists, slanting)
    low, high = (solid[material_ids.reshape(-1)[cells]] for cells in (lower, upper))
    own = np.where(low & ~(high & (regions.reshape(-1)[upper] == region)), lower, upper)
    factors, parts = np.ones(len(axis)), np.zeros(len(axis), int)
    sizes = _along(grid.sizes, grid, lower)
    faces = sizes.prod(axis=0) / sizes[axis, np.arange(len(axis))]  # areas, m2, in Cartesian coordinates
    for number in np.unique(region).tolist():
        those = region == number
        below, above, here = (_along(grid.centres, grid, cells[those]) for cells in (lower, upper, own))
        pairs = CellPairs(axis[those], below, above, here, _along(grid.sizes, grid, own[those]))
        normals = surface_normals(scenario.regions[number], pairs)
        factors[those] = _factors(grid, normals)
        parts[those] = _parts(scenario.regions[number], normals)
    materials = material_ids.reshape(-1)
    higher = regions.reshape(-1)[lower] < regions.reshape(-1)[upper]  # the region's own cell is the upper one
    within, beyond = (np.where(higher, materials[a], materials[b]) for a, b in ((upper, lower), (lower, upper)))
    sheets = np.stack((region, parts, within, beyond))
    beside = {n: np.concatenate((lower[region == n], upper[region == n])) for n in np.unique(region).tolist()}
    factors *= _scales(open_areas(scenario, grid, material_ids, beside), sheets, faces, factors)
    cells, sides = np.append(lower[low], upper[high]), np.append(2 * axis[low] + 1, 2 * axis[high])
    return _round_factors(cells, sides, np.append(factors[low], factors[high]))


def _parts(shape: Shape, normals: np.ndarray) -> np.ndarray:
    """(n,) which part of a shape's surface has these normals."""
    if shape.cylinder is not None:
        along = np.array(shape.cylinder.end) - np.array(shape.cylinder.start)
        lengths = np.linalg.norm(along) * np.linalg.norm(normals, axis=0)
        return np.where(np.abs(along @ normals) > 0.5 * lengths, ENDS, MANTLE)
    if shape.sphere is not None:
        return np.full(normals.shape[1], MANTLE)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = straight_or_not(normals / np.linalg.norm(normals, axis=0))
    if shape.polygon is not None:
        ends = normals["xyz".index(shape.polygon.axis)] != 0
        return np.where(ends, end_of(shape.polygon), parts)
    return parts


def _scales(
    true: Mapping[tuple[int, int, int, int], float],
    sheets: np.ndarray,
    faces: np.ndarray,
    factors: np.ndarray,
) -> np.ndarray:
    """(n,) numbers by which the factors of faces are multiplied, so that the faces of each sheet (4, n) sum to its true
    area. faces: areas (n,), m2."""
    found, sheets = np.ones(len(faces)), sheets.copy()
    oblique = {key[0] for key, area in true.items() if key[1] == MANTLE and area > 0.0}
    sheets[1, (sheets[1] == STRAIGHT) & np.isin(sheets[0], sorted(oblique))] = MANTLE
    for region, part, inside, outside in true:
        key: tuple[int, int, int, int] = region, part, inside, outside
        of_parts: tuple[int, ...] = (part,)
        if region in oblique and part != ENDS:
            key, of_parts = (region, MANTLE, inside, outside), (MANTLE, STRAIGHT)
        area = sum(true.get((region, each, inside, outside), 0.0) for each in of_parts)
        those = (sheets == np.array(key)[:, None]).all(axis=0)
        ratio = float((faces[those] / factors[those]).sum()) / max(area, np.finfo(float).tiny)
        if key[1] != STRAIGHT and 1.0 / _FARTHEST < ratio < _FARTHEST:
            found[those] = ratio
    return found


def _resisting_pairs(
    material_ids: np.ndarray, regions: np.ndarray, resists: np.ndarray, slanting: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Pairs of cells with a surface in between that resists heat and may be oblique: their axis, the flat indices of
    the lower and the upper cell, and the region whose surface it is. resists (m, m): of two materials."""
    found, flat = [], material_ids.reshape(-1)
    for axis in range(3):
        step = int(np.prod(material_ids.shape[3 - axis :]))
        differs = np.flatnonzero(np.diff(material_ids, axis=2 - axis))
        shape = tuple(n - (i == 2 - axis) for i, n in enumerate(material_ids.shape))
        lower = np.ravel_multi_index(np.unravel_index(differs, shape), material_ids.shape)
        region = np.maximum(regions.reshape(-1)[lower], regions.reshape(-1)[lower + step])
        keep = slanting[region] & resists[flat[lower], flat[lower + step]]
        found.append((np.full(int(keep.sum()), axis), lower[keep], lower[keep] + step, region[keep]))
    axes, lowers, uppers, owners = (np.concatenate(each) for each in zip(*found, strict=True))
    return axes, lowers, uppers, owners


def _factors(grid: CellGrid, normal: np.ndarray) -> np.ndarray:
    """(n,) |nx| + |ny| + |nz| of unit vectors along normals (3, n) in the axes that the grid resolves; 1 for none."""
    resolved = np.array([grid.shape[2 - axis] > 1 for axis in range(3)])[:, None]
    n = np.abs(np.where(resolved & np.isfinite(normal).all(axis=0), normal, 0.0))
    n /= np.maximum(n.max(axis=0), np.finfo(float).tiny)
    length = np.sqrt((n * n).sum(axis=0))
    return np.where(length > 0, n.sum(axis=0) / np.where(length > 0, length, 1.0), 1.0)


def _round_factors(of_faces: np.ndarray, faces: np.ndarray, factors: np.ndarray) -> AreaFactors | None:
    """Round the factors to levels, each with the mean conductance of its faces, so that areas stay what they are."""
    oblique = np.abs(factors - 1.0) > FLAT
    if not oblique.any():
        return None
    of_faces, faces, factors = of_faces[oblique], faces[oblique], factors[oblique]
    _, level = np.unique(np.rint((factors - 1.0) * LEVELS), return_inverse=True)
    share = np.bincount(level, 1.0 / factors) / np.bincount(level)
    cells, place = np.unique(of_faces, return_inverse=True)
    levels = np.zeros((len(cells), 6), np.uint8)
    levels[place, faces] = level + 1
    return AreaFactors(cells, levels, np.append(1.0, 1.0 / share))


def _along(values: Callable[[str], np.ndarray], grid: CellGrid, cells: np.ndarray) -> np.ndarray:
    """(3, n) values along each axis, such as `grid.centres`, of cells by their flat indices."""
    places = np.unravel_index(cells, grid.shape)[::-1]
    return np.array([values(axis)[index] for axis, index in zip(AXES, places, strict=True)])


# --- normals of the surfaces of shapes, where these lie between the centres of two neighbouring cells
#
# Those of a sphere are radial; those of a cylinder radial on its mantle, and along its axis on its ends; an STL surface
# has those of its triangles. A condition changes between two cells where one of its comparisons does, a < b say: there
# the normal is the gradient of a - b, by central differences.


_STEP = 1e-3  # of central differences, in cells


class CellPairs(NamedTuple):
    """Neighbours along `axis` (n,): the centres of the lower and the upper cell and of the one to look from, and the
    size of that cell, (3, n) m each."""

    axis: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    own: np.ndarray
    size: np.ndarray


def surface_normals(shape: Shape, pairs: CellPairs) -> np.ndarray:
    """(3, n) normals, of any length, of the surface of a shape that passes between each pair; 0 or not finite where
    there is none."""
    if shape.sphere is not None:
        return np.asarray(pairs.own - np.array(shape.sphere.center)[:, None])
    if shape.cylinder is not None:
        return _of_cylinder(shape.cylinder, pairs)
    if shape.polygon is not None:
        return _of_polygon(shape.polygon, pairs)
    if shape.stl is not None:
        surface, found = stl_surface(shape.stl), np.zeros(pairs.own.shape)
        for axis in np.unique(pairs.axis).tolist():
            those = pairs.axis == axis
            found[:, those] = surface.normals(pairs.lower[:, those], pairs.upper[:, those], axis)
        return found
    assert shape.where is not None
    return _of_condition(shape.where, pairs)


def _of_cylinder(cylinder: Cylinder, pairs: CellPairs) -> np.ndarray:
    start, axis = np.array(cylinder.start)[:, None], np.array(cylinder.end) - np.array(cylinder.start)
    length = np.linalg.norm(axis)
    direction = (axis / length)[:, None]
    below, above, here = (
        (direction * (points - start)).sum(axis=0) for points in (pairs.lower, pairs.upper, pairs.own)
    )
    through_end = ((below >= 0) & (below <= length)) != ((above >= 0) & (above <= length))
    return np.asarray(np.where(through_end, direction, pairs.own - start - direction * here))


def _of_polygon(polygon: Polygon, pairs: CellPairs) -> np.ndarray:
    """The normals of the edge nearest to the middle between the two cells, and of the ends along the axis."""
    axis, (low, high) = "xyz".index(polygon.axis), polygon.span
    within = [(low <= points[axis]) & (points[axis] <= high) for points in (pairs.lower, pairs.upper)]
    u, v = (0.5 * (pairs.lower[number] + pairs.upper[number]) for number in polygon.across)
    nearest, normal = np.full(u.shape, np.inf), np.zeros(pairs.own.shape)
    for (a, b), (c, d) in polygon.edges:
        du, dv = c - a, d - b
        length2 = du * du + dv * dv
        if length2 == 0.0:
            continue
        along = np.clip(((u - a) * du + (v - b) * dv) / length2, 0.0, 1.0)
        away = (u - a - along * du) ** 2 + (v - b - along * dv) ** 2
        nearer = away < nearest
        nearest[nearer] = away[nearer]
        for number, part in zip(polygon.across, (dv, -du), strict=True):
            normal[number, nearer] = part
    ends = within[0] != within[1]
    normal[:, ends] = np.eye(3)[axis][:, None]
    return normal


def _of_condition(condition: Expression, pairs: CellPairs) -> np.ndarray:
    found, left = np.zeros(pairs.own.shape), np.ones(pairs.axis.size, bool)
    for truth, difference in condition.comparisons():
        changes = left & (value_at(truth, pairs.lower) != value_at(truth, pairs.upper))
        if changes.any():
            found[:, changes] = gradient_at(difference, pairs.own[:, changes], _STEP * pairs.size[:, changes])
        left &= ~changes
    return found
