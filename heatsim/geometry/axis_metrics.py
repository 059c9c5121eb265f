"""The grid of a scenario, and what finite volumes need of it along each axis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim.geometry.grid import AXES, Grid
from heatsim.scenario import Scenario

SAME_SIZE = 1e-9  # relative; cells of a layer differ by the rounding of their faces


def make_grid(scenario: Scenario) -> Grid:
    """The grid of a scenario."""
    wanted = scenario.grid
    (nx, ny, nz), (width, depth, height) = wanted.cells, wanted.size
    spacing = (width / nx, depth / ny, height / nz)
    return Grid((nz, ny, nx), wanted.origin, spacing, wanted.edges, wanted.coordinates)


class FaceMetrics(NamedTuple):
    """Of a cell's face: its half length to it, that of the cell beyond, and the area of the face over the measures of
    the two other axes. See `heatsim.geometry.grid`."""

    half: np.ndarray
    beyond: np.ndarray
    area: np.ndarray


class AxisMetrics(NamedTuple):
    """Classes of places along an axis: the label of each cell, and of each label the measure and the two sides."""

    labels: np.ndarray
    measure: np.ndarray
    sides: tuple[FaceMetrics, FaceMetrics]


def find_axis_metrics(grid: Grid, axis: str, wraps: bool) -> AxisMetrics:
    """The classes of cells along "x", "y" or "z" that see the same on both sides; beyond a wall lies their mirror
    image."""
    measure, (lower, upper) = grid.measure(axis), grid.halves(axis)
    area = np.ones(len(measure) + 1)
    if grid.coordinates == "cylindrical" and axis == "x":
        area = np.where(grid.faces("x") > 0, grid.faces("x"), 1.0)  # on the axis itself nothing passes
    elif grid.edges[AXES.index(axis)] is not None:
        measure = _alike(measure)
        lower = upper = 0.5 * measure
    below, above = np.roll(upper, 1), np.roll(lower, -1)
    if not wraps:
        below[0], above[-1] = lower[0], upper[-1]
    table = np.array([measure, lower, below, area[:-1], upper, above, area[1:]])
    classes, labels = np.unique(table, axis=1, return_inverse=True)
    return AxisMetrics(labels.reshape(-1), classes[0], (FaceMetrics(*classes[1:4]), FaceMetrics(*classes[4:7])))


def _alike(sizes: np.ndarray) -> np.ndarray:
    """Sizes with those that differ by rounding made equal."""
    order = np.argsort(sizes)
    ascending = sizes[order]
    group = np.concatenate(([0], np.cumsum(np.diff(ascending) > SAME_SIZE * ascending[1:])))
    means = np.bincount(group, ascending) / np.bincount(group)
    result = np.empty_like(sizes)
    result[order] = means[group]
    return result
