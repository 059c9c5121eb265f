"""When inputs jump, and between which times they may be taken as smooth: what steps must not pass over.

Nothing is found by sampling, which misses what is shorter than its spacing or has its period. Bounds of an expression
over intervals of time (`Expression.bounds`) say where it cannot change; what is left is cut until the time of a change
is known, to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np

from heatsim.scenario import Expression
from heatsim.scenario.language.expressions.time_series import TimeSeries

MAX_DISCONTINUITIES = 20_000  # jumps of a run; what switches more often is left to the error control, and told
MAX_MARKS = 20_000  # times of a run at which steps end to follow inputs; what bends more often is told
FIRST_INTERVALS, MAX_INTERVALS = 64, 600_000  # looked at together, and in all
ASIDE = 0.0382491  # of a first interval: edges that far from round times, which jumps are at
SHORTEST = 1e-13  # of the run: an interval that is cut no more
BISECTION_STEPS = 60
FOLLOWED = 0.05  # of the range of an input: how far it may be off straight lines between the times at which steps end
ROUNDED = 1e-3  # of the size of an input: a range that is less need not be followed
BESIDE = 1e-6  # of the time between two jumps: so near to one nothing is looked at
ROWS_FOLLOWED = 1e-3  # of the range of a series, by which its rows may be off these lines


def discontinuity_times(values: Iterable[object], end: float) -> frozenset[float]:
    """Times in 0..end, s, at which those of the values that are expressions jump: the first at which a comparison, or a
    floor(), is no longer what it was. None if there are more than MAX_DISCONTINUITIES of them.

    Only what depends on t alone counts: what depends on the place as well jumps somewhere all the time.
    """
    found: set[float] = set()
    for expression in _expressions(values):
        times = _jumps(expression, end)
        if times is None:
            return frozenset()
        found.update(times)
    return frozenset(found) if len(found) <= MAX_DISCONTINUITIES else frozenset()


class Marks(NamedTuple):
    """Times at which steps end to follow inputs that are smooth, s; and inputs that change too often for that."""

    times: frozenset[float]
    too_many: tuple[Expression, ...]


def mark_times(values: Iterable[object], end: float, longest: float, *, corners: bool = False) -> Marks:
    """Times in 0..end at which steps of up to `longest` s have to end, lest they pass over what expressions and series
    do within a step; corners: whether they end wherever a series bends, too."""
    found: set[float] = set()
    too_many = []
    for value in _expressions(values):
        if isinstance(value, TimeSeries):
            times: tuple[float, ...] | None = _rows(value, end, inf if corners else longest)
        elif value.names == {"t"}:
            times = _marks(value, end, longest)
        else:
            continue
        if times is None or len(times) > MAX_MARKS:
            too_many.append(value)
        else:
            found.update(times)
    return Marks(frozenset(found), tuple(too_many))


def switches_too_often(values: Iterable[object], end: float) -> tuple[Expression, ...]:
    """Those expressions that jump more than MAX_DISCONTINUITIES times."""
    counted = ((each, _jumps(each, end)) for each in _expressions(values))
    return tuple(each for each, times in counted if times is None or len(times) > MAX_DISCONTINUITIES)


def _expressions(values: Iterable[object]) -> list[Expression]:
    """The expressions among values that depend on time, each once; series too."""
    return [each for each in dict.fromkeys(v for v in values if isinstance(v, Expression)) if "t" in each.names]


# --- jumps


@lru_cache(maxsize=512)
def _jumps(expression: Expression, end: float) -> tuple[float, ...] | None:
    """The times at which what is constant but for jumps changes, sorted; None if they are too many to find."""
    found: set[float] = set()
    differences = {truth.text: difference for truth, difference in expression.comparisons()}
    for jumping in expression.jumps():
        if jumping.names != {"t"}:
            continue
        times = _changes(jumping, differences.get(jumping.text), end)
        if times is None:
            return None
        found.update(times)
    return tuple(sorted(found))


def _changes(jumping: Expression, difference: Expression | None, end: float) -> list[float] | None:
    """The first times at which a truth or a floor is no longer what it was. difference: whose sign decides a truth."""
    edges = np.linspace(0.0, end, FIRST_INTERVALS + 1)
    # Where an edge is the time of a jump, a bound and a value may round to different sides of it.
    edges[1:-1] += ASIDE * (edges[1] - edges[0])
    starts, ends = edges[:-1], edges[1:]
    low, high = [], []
    seen = 0
    while starts.size:
        seen += starts.size
        if seen > MAX_INTERVALS:
            return None
        steady, monotone = _constant(jumping, difference, starts, ends)
        narrow = ends - starts <= SHORTEST * end
        changes = ~steady & (monotone | narrow)
        differ = changes & (_at(jumping, starts) != _at(jumping, ends))
        low.append(starts[differ])
        high.append(ends[differ])
        left = ~steady & ~changes
        middles = 0.5 * (starts[left] + ends[left])
        starts, ends = np.concatenate((starts[left], middles)), np.concatenate((middles, ends[left]))
    return _bisected(jumping, np.concatenate(low), np.concatenate(high))


def _constant(
    jumping: Expression, difference: Expression | None, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Over which intervals a truth or a floor is constant, and over which it changes once at most."""
    direct = jumping.bounds(starts, ends)
    steady = direct.low == direct.high
    if difference is None:
        return steady, np.zeros_like(steady)
    found, half = difference.bounds(starts, ends), 0.5 * (ends - starts)
    middle = np.broadcast_to(difference(t=0.5 * (starts + ends)), starts.shape)
    steepest = np.maximum(np.abs(found.least_slope), np.abs(found.greatest_slope)) * half
    steady |= np.abs(middle) > steepest * (1 + 1e-9)
    return steady, (found.least_slope > 0.0) | (found.greatest_slope < 0.0)


def _bisected(jumping: Expression, low: np.ndarray, high: np.ndarray) -> list[float]:
    was = _at(jumping, low)
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        same = _at(jumping, middle) == was
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [float(time) for time in high]


def _at(value: Expression, times: np.ndarray) -> np.ndarray:
    return np.broadcast_to(value(t=times), times.shape)


# --- what bends


@lru_cache(maxsize=512)
def _marks(expression: Expression, end: float, longest: float) -> tuple[float, ...] | None:
    """Ends of intervals, some of them shorter than a step, over each of which an expression is nearly a straight line,
    FOLLOWED of its range; None if they are too many to find."""
    jumps = _jumps(expression, end)
    if jumps is None:
        return None
    starts, ends = intervals_between(jumps, end)
    values = _finite(_at(expression, np.concatenate((starts, ends))))
    low, high, seen = float(values.min(initial=0.0)), float(values.max(initial=0.0)), 0
    parked: list[tuple[np.ndarray, ...]] = []  # intervals by start, end, and what they are off a straight line at most
    while starts.size:
        seen += starts.size
        if seen > MAX_INTERVALS:  # of what has no value somewhere, the run tells
            return None if np.isfinite(_at(expression, 0.5 * (starts + ends))).all() else ()
        found = expression.bounds(starts, ends)
        middle = _finite(_at(expression, 0.5 * (starts + ends)))
        low, high = min(low, float(middle.min())), max(high, float(middle.max()))
        width = np.minimum(ends - starts, longest)
        with np.errstate(invalid="ignore"):  # beside a pole
            off = np.minimum(found.high - found.low, 0.25 * width * (found.greatest_slope - found.least_slope))
        off = np.where(ends - starts <= SHORTEST * end, 0.0, off)
        reached = off[np.isfinite(off)].max(initial=0.0)
        wide = off > FOLLOWED * max(_range(low, high), 0.2 * min(reached, _BOUNDED))
        parked.append((starts[~wide], ends[~wide], off[~wide]))
        starts, ends = _halved(starts[wide], ends[wide])
        if not starts.size:  # what seemed little beside a bound that was too wide
            parts = [np.concatenate(each) for each in zip(*parked, strict=True)]
            again = parts[2] > FOLLOWED * _range(low, high)
            parked = [(parts[0][~again], parts[1][~again], parts[2][~again])]
            starts, ends = _halved(parts[0][again], parts[1][again])
    parts = [np.concatenate(each) for each in zip(*parked, strict=True)]
    short = parts[1] - parts[0] < longest
    times = np.unique(np.concatenate((parts[0][short], parts[1][short])))
    inside = (times > 0.0) & (times < end)
    at_jumps = np.isin(times, np.concatenate(intervals_between(jumps, end)))  # whose own times do as well
    return tuple(times[inside & ~at_jumps].tolist())


_BOUNDED = 1e300


def _range(low: float, high: float) -> float:
    return max(high - low, ROUNDED * max(abs(low), abs(high)))


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, 0.0)


def _halved(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    middles = 0.5 * (starts + ends)
    return np.concatenate((starts, middles)), np.concatenate((middles, ends))


def intervals_between(jumps: tuple[float, ...], end: float) -> tuple[np.ndarray, np.ndarray]:
    """Intervals that have no jump inside: from just after one to just before the next."""
    times = np.array([0.0, *(time for time in jumps if 0.0 < time < end), end])
    starts, ends = times[:-1].copy(), times[1:].copy()
    gaps = BESIDE * (ends - starts)  # at a jump bounds of both sides meet, to rounding
    starts[1:] += gaps[1:]
    ends[:-1] -= gaps[:-1]
    return starts, ends


@lru_cache(maxsize=64)
def _rows(series: TimeSeries, end: float, longest: float) -> tuple[float, ...]:
    """The times of rows that are closer to the row before or after than a step, of those rows of a series that are off
    the straight lines between others."""
    times, values = series.times, series.values
    needed = np.array(_corners(times, values, ROWS_FOLLOWED * float(np.ptp(values))))
    apart = np.diff(times[needed])
    close = np.append(apart < longest, False) | np.insert(apart < longest, 0, False)
    chosen = times[needed[close]]
    return tuple(chosen[(chosen > 0.0) & (chosen < end)].tolist())


def _corners(times: np.ndarray, values: np.ndarray, allowed: float) -> list[int]:
    """The rows that are left when those are taken out that are off the line between the others by little. Source: D.
    Douglas and T. Peucker, The Canadian Cartographer 10 (1973) 112."""
    corners, pending = {0, len(times) - 1}, [(0, len(times) - 1)]
    while pending:
        first, last = pending.pop()
        if last - first < 2:
            continue
        inner = slice(first + 1, last)
        line = np.interp(times[inner], times[[first, last]], values[[first, last]])
        off = np.abs(values[inner] - line)
        worst = int(np.argmax(off))
        if off[worst] > allowed:
            middle = first + 1 + worst
            corners.add(middle)
            pending += [(first, middle), (middle, last)]
    return sorted(corners)
