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
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from heatsim.problem.shapes.axis_cells import Cells, Ends, bound_widths, centre_values, enclosed, measure
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
            boxes = Boxes.of_cells(
                cells.ranges(), mean, chosen, cells.radial, level, whole, max(ROUNDING * size, least)
            )
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
        mean[part], low, high = gauss_rule(value, some.ranges(), some.shape, fixed, points, some.radial)
        other, least, most = (
            gauss_rule(value, some.ranges(), some.shape, fixed, fewer, some.radial)
            if fewer > 1
            else (centre[part],) * 3
        )
        differ = np.abs(mean[part] - other)
        size = np.abs(mean[part]) + np.abs(other) + np.finfo(float).tiny
        seen = np.maximum(high, most) - np.minimum(low, least)
        width = bound_widths(value, some, fixed)
        doubt[part] = differ * (1.0 if alone else np.minimum(1.0, 4.0 * differ / size)) + hidden(width, seen, size)
    return mean, np.where(np.isfinite(doubt), doubt, 0.0)


WIDER = 8.0  # bounds so many times as far apart as samples may hide something; those of smooth values are less
_BATCH = 4096  # boxes halved at a time
_ROUNDS = 400  # halvings of all at most
_HOPELESS = 0.3  # share of the whole in doubt at which an eighth of the points is enough


@lru_cache(maxsize=4)
def _gauss(points: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(points)


def gauss_places(low: np.ndarray, high: np.ndarray, points: int, radial: bool) -> tuple[np.ndarray, np.ndarray]:
    """(..., points) places of Gauss between ends, and their weights, which sum to 1; along a radius they grow with
    it."""
    middle, half = 0.5 * (low + high)[..., None], 0.5 * (high - low)[..., None]
    places = middle + half * _gauss(points)[0]
    return places, np.broadcast_to(0.5 * _gauss(points)[1] * (places / middle if radial else 1.0), places.shape)


def gauss_mean(values: np.ndarray, weights: np.ndarray, axes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The weighted mean over the last axes, the least and the greatest of the values; those that are not finite are
    left out."""
    over = tuple(range(-axes, 0))
    finite = np.isfinite(values)
    if finite.all():
        return (values * weights).sum(axis=over), values.min(axis=over), values.max(axis=over)
    weights = np.where(finite, weights, 0.0)
    with np.errstate(all="ignore"):
        mean = (np.where(finite, values, 0.0) * weights).sum(axis=over) / weights.sum(axis=over)
    least, most = (np.where(finite, values, end) for end in (np.inf, -np.inf))
    return mean, least.min(axis=over), most.max(axis=over)


def gauss_rule(
    value: Expression,
    ranges: Mapping[str, Ends],
    shape: tuple[int, ...],
    fixed: Mapping[str, float],
    points: int,
    radial: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means over boxes of these ranges by so many Gauss points an axis, of a shape to which ranges broadcast; the least
    and the greatest value at the points."""
    axes, places, weights = len(ranges), {}, np.ones(())
    for number, (axis, (low, high)) in enumerate(ranges.items()):
        at, weight = gauss_places(low, high, points, radial and axis == "x")
        spread = at.shape[:-1] + (1,) * number + (points,) + (1,) * (axes - 1 - number)
        places[axis], weights = at.reshape(spread), weights * weight.reshape(spread)
    values = np.broadcast_to(value(**places, **fixed), (*shape, *(points,) * axes))
    return gauss_mean(values, weights, axes)


def hidden(width: np.ndarray, seen: np.ndarray, size: np.ndarray) -> np.ndarray:
    """By how much values that bounds allow may exceed the values seen; `seen` + `size` where there are no bounds."""
    beyond = np.where(np.isfinite(width), width, seen + size)
    return np.where(width > WIDER * seen, beyond, 0.0)


class Boxes:
    """Boxes (m,) along d axes, the means of a value over them and how far in doubt these are.

    `unsettled`: the integral of the doubt over all boxes; `whole`: that of the distance of the value from a level.
    """

    def __init__(self, axes: tuple[str, ...], radial: bool, level: float) -> None:
        self._axes, self._radial, self._level = axes, radial, level
        self._rules = (3, 5) if len(axes) == 1 else (2, 3)  # Gauss points an axis of two rules that are compared
        self._cell, self._looked = np.zeros(0, np.int64), False
        self._low, self._high = np.zeros((2, len(axes), 0))
        self._mean, self._doubt, self._volume = np.zeros((3, 0))
        self._rest, self._least = 0.0, 0.0  # the part of `whole` in other cells; what `whole` is at least

    @classmethod
    def of_cells(
        cls,
        ranges: Mapping[str, tuple[np.ndarray, np.ndarray]],
        mean: np.ndarray,
        cell: np.ndarray,
        radial: bool,
        level: float,
        whole: float,
        rounding: float,
    ) -> Boxes:
        """Make a box for each of some cells, by their numbers (m,). mean: of all cells; whole: the integral over all
        cells of the distance of the mean from the level; rounding: the least value of that integral."""
        found = cls(tuple(ranges), radial, level)
        found._cell, places = cell, np.unravel_index(cell, mean.shape)
        found._low, found._high = (
            np.array([np.broadcast_to(pair[end], mean.shape)[places] for pair in ranges.values()]) for end in (0, 1)
        )
        found._mean, found._doubt = mean.reshape(-1)[cell], np.zeros(cell.size)
        found._volume = found._volumes(found._low, found._high)
        found._rest = max(whole - float((np.abs(found._mean - level) * found._volume).sum()), 0.0)
        found._least = rounding
        return found

    def doubt(self, doubt: np.ndarray) -> None:
        """Set by how much the means of the boxes are in doubt, (m,)."""
        self._doubt = doubt * self._volume

    @property
    def unsettled(self) -> float:
        """The integral of what may be wrong."""
        return float(self._doubt.sum())

    @property
    def whole(self) -> float:
        """The integral of the distance from the level."""
        return max(self._rest + float((np.abs(self._mean - self._level) * self._volume).sum()), self._least)

    def settle(self, value: Expression, fixed: Mapping[str, float], tolerance: float, most: int) -> None:
        """Halve boxes until the share in doubt is within a tolerance, or at `most` points."""
        axes = len(self._axes)
        cost = 2 * sum(points**axes for points in self._rules)
        hopeless = most - most // 8
        for _ in range(_ROUNDS):
            allowed = tolerance * self.whole
            if self._doubt.sum() <= allowed or most < cost:
                return
            if most < hopeless and self._doubt.sum() > _HOPELESS * self.whole:
                return
            chosen = np.flatnonzero(self._doubt > 0.5 * allowed / len(self._doubt))
            limit = min(_BATCH, most // cost)
            if chosen.size > limit:
                chosen = chosen[np.argpartition(-self._doubt[chosen], limit - 1)[:limit]]
            most -= cost * chosen.size
            self._halve(value, fixed, np.sort(chosen))

    def look_again(self, value: Expression, fixed: Mapping[str, float]) -> None:
        """Evaluate all boxes as they are."""
        self._looked = True
        for start in range(0, len(self._cell), _BATCH):
            part = slice(start, start + _BATCH)
            found = self._evaluated(value, fixed, self._low[:, part], self._high[:, part])
            self._mean[part], self._doubt[part], _ = found

    def means(self, of_cells: np.ndarray) -> np.ndarray:
        """The means over cells, of boxes where there are any; these are put into `of_cells`, a contiguous array."""
        cells, place = np.unique(self._cell, return_inverse=True)
        integral, volume = np.bincount(place, self._mean * self._volume), np.bincount(place, self._volume)
        halved = np.bincount(place) > (0 if self._looked else 1)
        of_cells.reshape(-1)[cells[halved]] = integral[halved] / volume[halved]
        return of_cells

    def _halve(self, value: Expression, fixed: Mapping[str, float], chosen: np.ndarray) -> None:
        low, high = self._low[:, chosen], self._high[:, chosen]
        middle = 0.5 * (low + high)
        along = self._best_axes(value, fixed, low, high, middle)
        place = along, np.arange(chosen.size)
        below, above = high.copy(), low.copy()
        below[place] = above[place] = middle[place]
        low, high = np.concatenate((low, above), axis=1), np.concatenate((below, high), axis=1)
        mean, doubt, volume = self._evaluated(value, fixed, low, high)
        keep = np.ones(self._cell.size, bool)
        keep[chosen] = False
        self._low = np.concatenate((self._low[:, keep], low), axis=1)
        self._high = np.concatenate((self._high[:, keep], high), axis=1)
        self._cell = np.concatenate((self._cell[keep], self._cell[chosen], self._cell[chosen]))
        self._mean = np.concatenate((self._mean[keep], mean))
        self._doubt = np.concatenate((self._doubt[keep], doubt))
        self._volume = np.concatenate((self._volume[keep], volume))

    def _best_axes(
        self, value: Expression, fixed: Mapping[str, float], low: np.ndarray, high: np.ndarray, middle: np.ndarray
    ) -> np.ndarray:
        """The axis of each box along which halves have the closest bounds, or else the longest."""
        axes = len(self._axes)
        if axes == 1:
            return np.zeros(low.shape[1], np.int64)
        widths = np.zeros(low.shape)
        for axis in range(axes):
            for end in (0, 1):
                lower, upper = low.copy(), high.copy()
                (upper, lower)[end][axis] = middle[axis]
                widths[axis] += np.minimum(self._widths(value, fixed, lower, upper), 1e300)
        least = widths.min(axis=0)
        long = (high - low) / (self._high - self._low).max(axis=1)[:, None]
        return np.asarray(np.where(widths <= least * 1.01, long, -1.0).argmax(axis=0))

    def _ranges(self, low: np.ndarray, high: np.ndarray) -> dict[str, Ends]:
        return {axis: (low[number], high[number]) for number, axis in enumerate(self._axes)}

    def _volumes(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        volume = np.ones(low.shape[1])
        for number, axis in enumerate(self._axes):
            volume = volume * measure(low[number], high[number], self._radial and axis == "x")
        return volume

    def _widths(self, value: Expression, fixed: Mapping[str, float], low: np.ndarray, high: np.ndarray) -> np.ndarray:
        least, most = enclosed(value, self._ranges(low, high), fixed)
        return np.asarray(np.broadcast_to(most - least, low.shape[1:]))

    def _evaluated(
        self, value: Expression, fixed: Mapping[str, float], low: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(m,) means, integrals of their doubt, and volumes."""
        volume, ranges = self._volumes(low, high), self._ranges(low, high)
        (two, low_two, high_two), (three, low_three, high_three) = (
            gauss_rule(value, ranges, low.shape[1:], fixed, points, self._radial) for points in self._rules
        )
        seen = np.maximum(high_two, high_three) - np.minimum(low_two, low_three)
        mean = np.where(np.isfinite(three), three, np.where(np.isfinite(two), two, 0.0))
        differ = np.where(np.isfinite(two - three), np.abs(two - three), 0.0)
        seen = np.where(np.isfinite(seen), seen, 0.0)
        size = np.maximum(np.abs(mean), seen)
        return mean, (differ + hidden(self._widths(value, fixed, low, high), seen, size)) * volume, volume
