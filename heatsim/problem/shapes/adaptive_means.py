"""Means of an expression over the cells of a grid along one, two or three axes, by adaptive cubature.

    +-----+-----+-----+     Each cell has its mean by Gauss points, of many cells by differences of their centres
    |     |     |     |     (`difference_means`). Where these may not do, cells are halved again and again, each
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

from heatsim.problem.shapes.adaptive_boxes import Boxes, gauss_mean, gauss_places, hidden
from heatsim.problem.shapes.axis_cells import Cells, bound_widths, centre_values
from heatsim.problem.shapes.difference_means import MANY, ROUNDING, means_by_differences
from heatsim.scenario import Expression

TOLERANCES = (1e-8, 1e-4, 1e-4)  # share of the whole that may stay unsettled, along one, two and three axes
TOLERANCES_IN_TIME = (1e-5, 1e-4, 1e-4)  # the same of means that are found anew in each step: what they differ by then
# is the error of the poorer rule, and that of the better one far less
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
    *,
    in_time: bool = False,
    least: float = 0.0,
) -> CellMeans:
    """The means of a value over cells.

    fixed: other variables; inside: the cells that count; by_distance: the whole is that of the distance from the mean,
    as of a temperature; in_time: they are one of many that are found in a run, each of which is to take as few rounds
    of halving as may be; least: what the whole is taken to be at least. Points at which there is no value are left out;
    where that is so at the centre, so is the mean.
    """
    with np.errstate(all="ignore"):  # values and bounds may be infinite
        return _cell_means(value, cells, fixed, inside, by_distance, most, in_time, least)


def _cell_means(
    value: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    inside: np.ndarray | None,
    by_distance: bool,
    most: int,
    in_time: bool,
    least: float,
) -> CellMeans:
    centre = centre_values(value, cells, fixed)
    if centre.size > MANY and min(cells.shape) >= 3 and np.isfinite(centre).all():
        found = means_by_differences(value, cells, fixed, centre, inside, by_distance)
        mean, level = found.values, found.level
        rounding = max(found.rounding, least)
        boxes = Boxes.of_cells(cells.ranges(), mean, found.suspects, cells.radial, level, found.whole, rounding)
        boxes.look_again(value, fixed)
    else:
        finer, doubt = _gauss_means(value, cells, fixed, centre, fine=in_time)
        mean = np.where(np.isfinite(centre) & np.isfinite(finer), finer, centre)
        counts = np.isfinite(centre) if inside is None else np.isfinite(centre) & inside
        volume, known = np.where(counts, cells.volumes(), 0.0), np.where(counts, mean, 0.0)
        level = float((known * volume).sum() / max(volume.sum(), np.finfo(float).tiny)) if by_distance else 0.0
        chosen = np.flatnonzero(doubt * volume > 0.0)
        whole, size = (float((np.abs(known - at) * volume).sum()) for at in (level, 0.0))
        boxes = Boxes.of_cells(cells.ranges(), mean, chosen, cells.radial, level, whole, max(ROUNDING * size, least))
        boxes.doubt(doubt.reshape(-1)[chosen])
    boxes.settle(value, fixed, (TOLERANCES_IN_TIME if in_time else TOLERANCES)[len(cells.edges) - 1], most)
    return CellMeans(boxes.means(mean), boxes.unsettled, boxes.whole)


def _gauss_means(
    value: Expression, cells: Cells, fixed: Mapping[str, float], centre: np.ndarray, *, fine: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Means over cells by Gauss points, and by how much they are in doubt: along one axis by as much as rules of three
    and of five points differ; else, by two points an axis, or three if `fine`, by the order that their distance from
    the centres, or from two points, tells."""
    mean, doubt = np.empty((2, *cells.shape))
    alone = len(cells.edges) == 1
    points, fewer = (5, 3) if alone else (3, 2) if fine else (2, 1)
    for part, some in cells.chunks(10 if alone else points ** len(cells.edges) + 4):
        mean[part], low, high = _gauss_rule(value, some, fixed, points)
        other, least, most = _gauss_rule(value, some, fixed, fewer) if fewer > 1 else (centre[part],) * 3
        differ = np.abs(mean[part] - other)
        size = np.abs(mean[part]) + np.abs(other) + np.finfo(float).tiny
        seen = np.maximum(high, most) - np.minimum(low, least)
        width = bound_widths(value, some, fixed)
        doubt[part] = differ * (1.0 if alone else np.minimum(1.0, 4.0 * differ / size)) + hidden(width, seen, size)
    return mean, np.where(np.isfinite(doubt), doubt, 0.0)


def _gauss_rule(
    value: Expression, cells: Cells, fixed: Mapping[str, float], points: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means over cells by so many Gauss points an axis, the least and the greatest value at these."""
    axes, places, weights = len(cells.edges), {}, np.ones(())
    for number, (axis, (low, high)) in enumerate(cells.ranges().items()):
        at, weight = gauss_places(low, high, points, cells.radial and axis == "x")
        spread = at.shape[:-1] + (1,) * number + (points,) + (1,) * (axes - 1 - number)
        places[axis], weights = at.reshape(spread), weights * weight.reshape(spread)
    values = np.broadcast_to(value(**places, **fixed), (*cells.shape, *(points,) * axes))
    return gauss_mean(values, weights, axes)
