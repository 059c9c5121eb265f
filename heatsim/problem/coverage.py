"""Whether the cells painted for a source or a patch, by their centres, have the volume or area of its shape.

|     |     |     |      cells of 1 mm and a source 0.8 mm thick: the cell whose centre it covers is heated as a
|  .  |  . #|##.##|      whole, and with a given power density a quarter more heat is released than was meant
"""

from __future__ import annotations

from collections.abc import Iterator
from math import dist

import numpy as np

from heatsim.grid import AXES, FACES, Grid
from heatsim.problem.painting import covered_volume, covers
from heatsim.problem.patches import Points
from heatsim.problem.values import Key
from heatsim.problem.walls import PLANE, Walls
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.boundary import Flux
from heatsim.scenario.findings import Finding
from heatsim.scenario.shapes import Shape

MOST_OFF = 0.05  # relative
_SAMPLES = 96  # along each axis, in what reaches out of the grid
_FINEST, _COARSEST, _MOST_POINTS = 100, 8, 2**20  # points along a side of a cell's face; on a face in all


def sources_off_their_shapes(scenario: Scenario, grid: Grid) -> Iterator[Finding]:
    """Power densities in boxes, balls and cylinders whose cells have another volume."""
    for i, source in enumerate(scenario.sources):
        shape, density = source.region, source.power_density
        exact = None if shape is None or density is None else _volume(shape, grid)
        if shape is None or density is None or not exact:
            continue
        key: Key = ("sources", i, "region")
        painted = covered_volume(scenario, key, shape, grid)
        if abs(painted - exact) > MOST_OFF * exact:
            found = _told("volume", "m3", painted, exact) + _heat(density, painted, exact, "are released")
            yield Finding((*key, *shape.forms), found, "power in place of power_density, or cells that fit the shape")


def patches_off_their_areas(scenario: Scenario, grid: Grid, walls: Walls) -> Iterator[Finding]:
    """Patches with a flux whose cell faces have another area than their condition."""
    told = set()
    for i, pieces in enumerate(walls.pieces):
        for piece in pieces:
            patch, key = piece.face, piece.key
            if not isinstance(patch, Flux) or patch.where is None or key in told:
                continue
            painted, exact = _areas(patch.where, grid, i)
            if exact and abs(painted - exact) > MOST_OFF * exact:
                told.add(key)
                found = _told("area", "m2", painted, exact) + _heat(patch.flux, painted, exact, "enter")
                yield Finding((*key, "where"), f"{found} at {FACES[i]}", "cells that fit the patch, or a scaled flux")


def _told(what: str, unit: str, painted: float, exact: float) -> str:
    return f"the cells with their centres in it have {painted / exact:.3g} times its {what} of {exact:.4g} {unit}"


def _heat(density: float | Expression, painted: float, exact: float, happens: str) -> str:
    if isinstance(density, Expression):
        return ""
    return f": {density * painted:.4g} W {happens} in place of {density * exact:.4g} W"


def _volume(shape: Shape, grid: Grid) -> float | None:
    """Volume of the part of a box, ball or cylinder that lies in the grid, m3; None of other shapes."""
    bounds = shape.bounds()
    if bounds is None:
        return None
    spans = np.array([grid.span(axis) for axis in AXES]).T
    low, high = np.clip(bounds, *spans)
    if shape.box is not None:
        radial = 0.5 * (low[0] + high[0]) if grid.coordinates == "cylindrical" else 1.0
        return float((high - low).prod() * radial)
    if (low == bounds[0]).all() and (high == bounds[1]).all():
        return _whole_volume(shape)
    steps = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    x, y, z = (start + length * steps for start, length in zip(low, high - low, strict=True))
    inside = [covers(shape, x[None, :], y[:, None], height).mean() for height in z]
    return float((high - low).prod() * np.mean(inside))


def _whole_volume(shape: Shape) -> float:
    if shape.sphere is not None:
        return 4 / 3 * np.pi * shape.sphere.radius**3
    assert shape.cylinder is not None
    return np.pi * shape.cylinder.radius**2 * dist(shape.cylinder.start, shape.cylinder.end)


def _areas(condition: Expression, grid: Grid, face: int) -> tuple[float, float]:
    """Area of the cells of a face whose centres meet a condition, and of all points that do, m2; the latter 0 where
    the patch has so many cells that it would take long."""
    whole = [grid.faces(axis) for axis in PLANE[FACES[face][0]]]
    truth, areas = _on_face(condition, grid, face, *whole)
    painted = float(areas[truth].sum())
    if not truth.any():
        return painted, 0.0
    near = [edges[max(at.min() - 1, 0) : at.max() + 3] for edges, at in zip(whole, np.nonzero(truth), strict=True)]
    finer = min(_FINEST, int(np.sqrt(_MOST_POINTS / (near[0].size * near[1].size))))
    if finer < _COARSEST:
        return painted, 0.0
    truth, areas = _on_face(condition, grid, face, *(_cut(edges, finer) for edges in near))
    return painted, float(areas[truth].sum())


def _on_face(
    condition: Expression, grid: Grid, face: int, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of the pieces of a face between these places: whether their middles meet a condition, and their areas, m2."""
    normal, upper = FACES[face][0], face % 2
    across = {axis: 0.5 * (edges[1:] + edges[:-1]) for axis, edges in zip(PLANE[normal], (rows, columns), strict=True)}
    at: Points = dict(zip(PLANE[normal], np.meshgrid(*across.values(), indexing="ij"), strict=True))
    at = {**at, normal: grid.span(normal)[upper]}
    areas = np.outer(np.diff(rows), np.diff(columns))
    if grid.coordinates == "cylindrical":
        areas = areas * at["x"]
    return np.broadcast_to(condition(**at), areas.shape) != 0, areas


def _cut(edges: np.ndarray, parts: int) -> np.ndarray:
    """Each interval cut into equal parts."""
    inner = edges[:-1, None] + np.diff(edges)[:, None] * np.arange(parts) / parts
    return np.append(inner.reshape(-1), edges[-1])
