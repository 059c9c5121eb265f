"""The volumes of shapes, as they are and not as whole cells hold them."""

from __future__ import annotations

from math import dist

import numpy as np

from heatsim.geometry.grid import AXES, CellGrid
from heatsim.geometry.voxelise import contains_points
from heatsim.scenario.regions import Shape

_SAMPLES = 96  # along each axis, in what reaches out of the grid


def exact_volume(shape: Shape, grid: CellGrid) -> float | None:
    """Volume of the part of a box, ball or cylinder that lies in the grid, m3; None of other shapes."""
    bounds = shape.bounds()
    if bounds is None:
        return None
    spans = np.array([grid.span(axis) for axis in AXES]).T
    low, high = np.clip(bounds, *spans)
    if shape.box is not None:
        radial = 0.5 * (low[0] + high[0]) if grid.coordinates == "cylindrical" else 1.0
        return float((high - low).prod() * radial)
    if grid.coordinates == "cylindrical":
        return None
    if (low == bounds[0]).all() and (high == bounds[1]).all():
        return _whole_volume(shape)
    steps = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    x, y, z = (start + length * steps for start, length in zip(low, high - low, strict=True))
    inside = [contains_points(shape, x[None, :], y[:, None], height).mean() for height in z]
    return float((high - low).prod() * np.mean(inside))


def _whole_volume(shape: Shape) -> float:
    if shape.sphere is not None:
        return 4 / 3 * np.pi * shape.sphere.radius**3
    if shape.polygon is not None:
        low, high = shape.polygon.span
        return shape.polygon.area * (high - low)
    assert shape.cylinder is not None
    return np.pi * shape.cylinder.radius**2 * dist(shape.cylinder.start, shape.cylinder.end)
