"""The volumes of shapes, as they are and not as whole cells hold them."""

from __future__ import annotations

from math import dist

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.problem.shapes.floorplans import covered_area, read_plan
from heatsim.problem.shapes.layouts import LayerName, layer_area
from heatsim.problem.shapes.voxelise import contains_points, floorplan_blocks
from heatsim.scenario import Scenario
from heatsim.scenario.language.toml.positions import Key
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


def drawn_volume(scenario: Scenario, key: Key, shape: Shape, grid: CellGrid) -> float | None:
    """Volume of the part of the blocks of a floorplan, or of a layer of a layout, that lies in the grid, m3; None where
    it is not known. key: of the shape."""
    drawing = shape.floorplan or shape.gds
    if drawing is None or grid.coordinates == "cylindrical":
        return None
    (left, right), (bottom, top) = (
        (grid.span(axis)[0] - at, grid.span(axis)[1] - at) for axis, at in zip("xy", drawing.at, strict=True)
    )
    low, high = np.clip(drawing.z, *grid.span("z"))
    if shape.floorplan is not None:
        blocks = floorplan_blocks(scenario, key, shape.floorplan)
        inside = [
            block._replace(
                left=max(block.left, left), right=min(block.right, right),
                bottom=max(block.bottom, bottom), top=min(block.top, top),
            )
            for block in blocks
        ]  # fmt: skip
        drawn = [block for block in inside if block.left < block.right and block.bottom < block.top]
        overlap = read_plan(shape.floorplan.file).overlap
        return (covered_area(drawn) if overlap else sum(block.area for block in drawn)) * float(high - low)
    assert shape.gds is not None
    name = LayerName(shape.gds.layer, shape.gds.datatype, shape.gds.cell)
    area = layer_area(shape.gds.file, name, (left, bottom), (right, top))
    return None if area is None else float(area * (high - low))


def _whole_volume(shape: Shape) -> float:
    if shape.sphere is not None:
        return 4 / 3 * np.pi * shape.sphere.radius**3
    if shape.polygon is not None:
        low, high = shape.polygon.span
        return shape.polygon.area * (high - low)
    assert shape.cylinder is not None
    return np.pi * shape.cylinder.radius**2 * dist(shape.cylinder.start, shape.cylinder.end)
