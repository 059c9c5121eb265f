"""Means over cells of an expression that moves: in which space and time do not separate.

They are found anew for each time that is asked for. On small grids that would take longer in Python than in arithmetic,
so that the means at the times of many steps to come are found at once. What they are at a time does not depend on which
times are found together: each is made by operations on its own numbers, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from math import prod

import numpy as np

from heatsim.problem.shapes.adaptive_means import TOLERANCES_IN_TIME, gauss_places, hidden
from heatsim.problem.shapes.axis_cells import Cells, centre_values, enclosed
from heatsim.problem.shapes.space_means import FactorMeans, SpaceMeans, counted_cells, means_of_factor, sum_of_products
from heatsim.scenario import Expression

_FEW = 2**12  # cells, up to which a fixed rule is tried first, for many times at once
_VALUES = 2**15  # of cells and times together, found at once: what a cache holds
_RULES = {1: ((5, 3),), 2: ((2, 1), (3, 2)), 3: ((2, 1), (3, 2))}  # by axes: Gauss points of a rule and of a poorer one
_TIMES, _GONE = 17, 1e-3  # in a run, of which the greatest integral says what share of it is not worth any effort
_SAMPLED = 2**15  # cells at which that is looked for


class MeansInTime:
    """The means of an expression in space and time over cells: see `space_means`. What depends on space alone is found
    once. end: that of the run, s; `windowed`: where it is as good as 0 is left out.

    What is left of a spot that has gone by is found no more accurately than a share _GONE of the greatest heat needs.
    """

    def __init__(
        self, value: Expression, cells: Cells, inside: np.ndarray | None, most: int, end: float, windowed: bool = True
    ) -> None:
        self._end, self._least = end, dict[Expression, float]()
        self._value, self._cells, self._inside, self._most, self._windowed = value, cells, inside, most, windowed
        self._factors = value.split_space()
        self._known: dict[Expression, FactorMeans] = {}
        self._ahead = np.zeros(0)
        self._found: dict[Expression, dict[float, FactorMeans]] = {}

    def look_ahead(self, times: np.ndarray) -> None:
        """Tell the times (k,), s, ascending, for which means will be asked next."""
        self._ahead = times

    def at(self, time: float, **fixed: float) -> SpaceMeans:
        """The means at a time, s; fixed: the other variables, always the same."""
        of_factors = partial(self._factor, fixed={"t": time, **fixed})
        return sum_of_products(self._value, self._factors, self._cells.shape, of_factors)

    def _factor(self, factor: Expression, fixed: Mapping[str, float]) -> FactorMeans:
        if factor in self._known:
            return self._known[factor]
        args = factor, self._cells, fixed, self._inside, False, self._windowed, self._most
        if factor.names.isdisjoint(fixed):
            self._known[factor] = means_of_factor(*args)
            return self._known[factor]
        own = Cells({axis: e for axis, e in self._cells.edges.items() if axis in factor.names}, self._cells.radial)
        if factor not in self._least:
            self._least[factor] = _GONE * self._greatest_whole(factor, own, fixed)
        if own.edges and prod(own.shape) <= _FEW:
            time = fixed["t"]
            if time not in self._found.get(factor, ()):
                self._found[factor] = self._at_once(factor, own, fixed)
            if time in self._found[factor]:
                return self._found[factor][time]
        return means_of_factor(*args, least=self._least[factor])

    def _at_once(self, factor: Expression, own: Cells, fixed: Mapping[str, float]) -> dict[float, FactorMeans]:
        """The means by a rule that is good enough at a time and at those that come next, for each of them that has
        one."""
        start = int(np.searchsorted(self._ahead, fixed["t"]))
        count = max(1, _VALUES // prod(own.shape))
        times = self._ahead[start : start + count]
        if not times.size or times[0] != fixed["t"]:
            times = np.array([fixed["t"]])
        found, left, least = dict[float, FactorMeans](), times, self._least[factor]
        spans = tuple(axis in own.edges for axis in self._cells.edges)
        shape = tuple(n if spanned else 1 for n, spanned in zip(self._cells.shape, spans, strict=True))
        window = tuple(slice(0, n) for n in self._cells.shape)
        others = {name: at for name, at in fixed.items() if name != "t"}
        counted = self._counted(own)
        for points, fewer in _RULES[len(own.edges)]:
            values, doubt, good = _rule_means(factor, own, others, left, (points, fewer), counted, least)
            for i in np.flatnonzero(good).tolist():
                means = values[i].reshape(shape)
                found[float(left[i])] = FactorMeans(means, window, spans, float(doubt[i]), finite=True)
            left = left[~good]
            if not left.size:
                break
        return found

    def _counted(self, own: Cells) -> np.ndarray | None:
        """Which cells along the axes of a factor have any above them that count; None for all."""
        return None if self._inside is None else counted_cells(self._inside, self._cells, own)

    def _greatest_whole(self, factor: Expression, own: Cells, fixed: Mapping[str, float]) -> float:
        """The greatest integral of the size of a factor over its cells at some times of the run; 0 where there is
        no such number."""
        if not 0.0 < self._end < np.inf or not own.edges:
            return 0.0
        counted, size = self._counted(own), max(1, round((prod(own.shape) / _SAMPLED) ** (1 / len(own.edges))))
        if counted is not None:
            counted = counted[(slice(None, None, size),) * counted.ndim]
        own = own.blocks(size)
        volumes = own.volumes() if counted is None else np.where(counted, own.volumes(), 0.0)
        times = np.linspace(0.0, self._end, _TIMES).tolist()
        wholes = []
        for time in times:
            with np.errstate(all="ignore"):
                values = centre_values(factor, own, {**fixed, "t": time})
                wholes.append(float(np.where(volumes > 0.0, np.abs(values) * volumes, 0.0).sum()))
        return max((whole for whole in wholes if np.isfinite(whole)), default=0.0)


def _rule_means(
    value: Expression,
    cells: Cells,
    fixed: Mapping[str, float],
    times: np.ndarray,
    rules: tuple[int, int],
    counted: np.ndarray | None,
    least: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The means (k, cells) at k times by Gauss points an axis, by which share of the whole they may be off (k,), and at
    which times that is good enough. rules: points of the rule, and of the poorer one with which it is compared;
    counted: the cells that count."""
    axes = len(cells.edges)
    t = times.reshape(-1, *(1,) * axes)
    with np.errstate(all="ignore"):
        mean, low, high = _gauss(value, cells, fixed, t, rules[0])
        other, least_seen, most_seen = _gauss(value, cells, fixed, t, rules[1])
        differ = np.abs(mean - other)
        size = np.abs(mean) + np.abs(other) + np.finfo(float).tiny
        seen = np.maximum(high, most_seen) - np.minimum(low, least_seen)
        lower, upper = enclosed(value, {**cells.ranges(), "t": (t, t)}, fixed)
        width = np.broadcast_to(upper - lower, mean.shape)
        doubt = differ * (1.0 if axes == 1 else np.minimum(1.0, 4.0 * differ / size)) + hidden(width, seen, size)
        counts = np.ones(cells.shape, bool) if counted is None else counted
        finite = np.isfinite(low + high) | ~counts
        unsettled, whole = (
            np.where(counts, each * cells.volumes(), 0.0).reshape(times.size, -1).sum(axis=1)
            for each in (doubt, np.abs(mean))
        )
        good = finite.reshape(times.size, -1).all(axis=1)
        good &= unsettled <= TOLERANCES_IN_TIME[axes - 1] * np.maximum(whole, least)
        return mean, np.where(whole > 0.0, unsettled / whole, 0.0), good


def _gauss(
    value: Expression, cells: Cells, fixed: Mapping[str, float], t: np.ndarray, points: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means over cells at times t (k, 1 ...), and the least and the greatest value at the points. These are taken one
    after the other, so that the sum does not depend on how many times there are."""
    shape = len(t), *cells.shape
    mean, low, high = np.zeros(shape), np.full(shape, np.inf), np.full(shape, -np.inf)
    of_axes = [
        (axis, *gauss_places(*ends, points, cells.radial and axis == "x")) for axis, ends in cells.ranges().items()
    ]
    for chosen in product(range(points), repeat=len(of_axes)):
        places, weight = {}, np.ones(())
        for (axis, at, weights), i in zip(of_axes, chosen, strict=True):
            places[axis], weight = at[..., i], weight * weights[..., i]
        values = np.broadcast_to(value(**places, t=t, **fixed), shape)
        mean += weight * values
        low, high = np.minimum(low, values), np.maximum(high, values)
    return mean, low, high
