"""Means of an expression over the cells of a grid along one, two or three axes, by adaptive cubature.

    +-----+-----+-----+     Each cell has its mean by two Gauss points an axis, of many cells by differences of their
    |     |     |     |     centres (`difference_means`). Where these may not do, cells are halved again and again, each
    |     |--.--|     |     half with rules of two and of three points, until what is unsettled is a small share of the
    |     |  | :|     |     whole. A half is unsettled by as much as the two rules differ, and as its bounds (interval
    +-----+-----+-----+     arithmetic) allow values far beyond those sampled: a spike or a jump between the points is
                            found, however narrow it is.

Global adaptive subdivision: van Dooren and de Ridder, An adaptive algorithm for numerical integration over an
n-dimensional cube, J. Comput. Appl. Math. 2 (1976), 207.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from heatsim.geometry.adaptive_boxes import Boxes, gauss_mean, gauss_places, hidden
from heatsim.geometry.axis_cells import Cells, bound_widths, centre_values
from heatsim.geometry.difference_means import MANY, ROUNDING, means_by_differences
from heatsim.scenario import Expression

TOLERANCES = (1e-6, 1e-4, 1e-4)  # share of the whole that may stay unsettled, along one, two and three axes
MOST_POINTS = 2**21  # at which an expression is evaluated, about, beyond those of the cells


class CellMeans(NamedTuple):
    """Means over cells, of the shape of these; `unsettled` and `whole`: the integrals over the cells of what may be
    wrong, about, and of the absolute value, or of that of the distance from the middle."""

    values: np.ndarray
    unsettled: float
    whole: float


def cell_means(
    value: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    inside: np.ndarray | None = None,
    by_distance: bool = False,
    most: int = MOST_POINTS,
) -> CellMeans:
    """The means of a value over cells.

    fixed: other variables; inside: the cells that count; by_distance: the whole is that of the distance from the mean,
    as of a temperature. Points at which there is no value are left out; where that is so at the centre, so is the mean.
    """
    with np.errstate(all="ignore"):  # values and bounds may be infinite
        return _cell_means(value, cells, fixed, inside, by_distance, most)


def _cell_means(
    value: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    inside: np.ndarray | None,
    by_distance: bool,
    most: int,
) -> CellMeans:
    centre = centre_values(value, cells, fixed)
    if centre.size > MANY and min(cells.shape) >= 3 and np.isfinite(centre).all():
        found = means_by_differences(value, cells, fixed, centre, inside, by_distance)
        mean, level = found.values, found.level
        boxes = Boxes.of_cells(cells.ranges(), mean, found.suspects, cells.radial, level, found.whole, found.rounding)
        boxes.look_again(value, fixed)
    else:
        finer, doubt = _two_points(value, cells, fixed, centre)
        mean = np.where(np.isfinite(centre) & np.isfinite(finer), finer, centre)
        counts = np.isfinite(centre) if inside is None else np.isfinite(centre) & inside
        volume, known = np.where(counts, cells.volumes(), 0.0), np.where(counts, mean, 0.0)
        level = float((known * volume).sum() / max(volume.sum(), np.finfo(float).tiny)) if by_distance else 0.0
        chosen = np.flatnonzero(doubt * volume > 0.0)
        whole, size = (float((np.abs(known - at) * volume).sum()) for at in (level, 0.0))
        boxes = Boxes.of_cells(cells.ranges(), mean, chosen, cells.radial, level, whole, ROUNDING * size)
        boxes.doubt(doubt.reshape(-1)[chosen])
    boxes.settle(value, fixed, TOLERANCES[len(cells.edges) - 1], most)
    return CellMeans(boxes.means(mean), boxes.unsettled, boxes.whole)


def _two_points(
    value: Expression, cells: Cells, fixed: Mapping[str, float], centre: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means over cells by two points an axis, and by how much they are in doubt."""
    axes = len(cells.edges)
    mean, doubt = np.empty((2, *cells.shape))
    for part, some in cells.chunks(2**axes + 4):
        places, weights = {}, np.ones(())
        for number, (axis, (low, high)) in enumerate(some.ranges().items()):
            at, weight = gauss_places(low, high, 2, some.radial and axis == "x")
            spread = at.shape[:-1] + (1,) * number + (2,) + (1,) * (axes - 1 - number)
            places[axis], weights = at.reshape(spread), weights * weight.reshape(spread)
        values = np.broadcast_to(value(**places, **fixed), (*some.shape, *(2,) * axes))
        mean[part], low, high = gauss_mean(values, weights, axes)
        differ = np.abs(mean[part] - centre[part])
        size = np.abs(mean[part]) + np.abs(centre[part]) + np.finfo(float).tiny
        seen = np.maximum(high, centre[part]) - np.minimum(low, centre[part])
        width = bound_widths(value, some, fixed)
        doubt[part] = differ * np.minimum(1.0, 4.0 * differ / size) + hidden(width, seen, size)
    return mean, np.where(np.isfinite(doubt), doubt, 0.0)
