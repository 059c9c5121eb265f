"""How fast inputs change in a run: the sizes of their jumps, and their steepest slopes between jumps.

As in `event_times` nothing is found by sampling: intervals on which the bound of the slope is greatest are cut until
that bound is near a slope that is reached.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heatsim.problem.terms.event_times import BESIDE, SHORTEST, discontinuity_times, intervals_between
from heatsim.scenario import Expression
from heatsim.scenario.language.expressions.time_series import TimeSeries

Floats = NDArray[np.float64]

FIRST_INTERVALS = 64  # between 0 and the end
CUT_AT_ONCE = 64  # intervals
MAX_INTERVALS = 20_000  # looked at; a bound that is wider even then stands for the slope, which may be less
MAX_PIECES = 2000  # between jumps; what jumps oftener is taken to be as smooth later as up to there
CLOSE = 1.3  # times a slope that is reached: a bound that is good enough
SAMPLES, GOLDEN = 2000, 0.5 * (5.0**0.5 - 1.0)  # times at which the range is looked at, in step with no period
LITTLE = 1e-4  # of the size of a value: so small a change may have any slope at a point


class Changes(NamedTuple):
    """Jumps of one input, or ramps between its rows: times (n,) at which they end, s, ascending; how long they take, s;
    and by how much the value changes, with its sign. `scale` is the greatest size of the value, `spread` its greatest
    less its least value."""

    times: Floats
    durations: Floats
    sizes: Floats
    scale: float
    spread: float


class Slope(NamedTuple):
    """The steepest slope of an input between its jumps, 1/s, with scale and spread as in `Changes`."""

    steepest: float
    scale: float
    spread: float


def time_factors(value: object) -> list[Expression] | None:
    """The factors of a value that depend on time alone; None where it mixes time with place or temperature."""
    if not isinstance(value, Expression) or "t" not in value.names:
        return []
    if value.names == {"t"}:
        return [value]
    terms = value.split_terms("t")
    return None if terms is None else [time for _, time in terms if time is not None and "t" in time.names]


@lru_cache(maxsize=256)
def changes_of(value: Expression, end: float) -> Changes:
    """The jumps of an expression in t between 0 and `end`; of a series the ramps between its rows."""
    if isinstance(value, TimeSeries):
        return ramps(value.times, value.values, end)
    times = _jumps(value, end)
    starts, ends = intervals_between(times, end)
    before, after = _at(value, ends)[:-1], _at(value, starts)[1:]
    seen = np.concatenate((_at(value, starts), _at(value, ends)))
    return Changes(
        np.array(times), np.zeros(len(times)), after - before, float(np.abs(seen).max()), float(np.ptp(seen))
    )


def ramps(times: Floats, values: Floats, end: float) -> Changes:
    """Those between rows in 0 to `end`; rows at one time are a jump."""
    inside = (times[1:] > 0.0) & (times[:-1] < end)
    rows = values[(times > 0.0) & (times < end)]
    seen = np.concatenate((np.interp([0.0, end], times, values), rows))
    sizes, durations = np.diff(values)[inside], np.diff(times)[inside]
    return Changes(times[1:][inside], durations, sizes, float(np.abs(seen).max()), float(np.ptp(seen)))


@lru_cache(maxsize=256)
def steepest_slope(value: Expression, end: float, enough: float) -> Slope:
    """A bound of the slope of an expression in t between its jumps that is not far above it.

    enough: a slope, as a share of the spread, 1/s, below which it does not matter.
    """
    starts, ends = _pieces(value, end)
    steep, reached, low, high = _look(value, starts, ends)
    samples = _at(value, end * np.modf(GOLDEN * np.arange(1, SAMPLES + 1))[0])
    low, high = min(low, float(samples.min())), max(high, float(samples.max()))
    known, seen = float(reached.max()), starts.size
    while seen < MAX_INTERVALS:
        worst = np.argsort(steep)[-CUT_AT_ONCE:]
        worst = worst[steep[worst] > max(CLOSE * known, enough * (high - low))]
        worst = worst[ends[worst] - starts[worst] > SHORTEST * end]  # at a pole no interval is short enough
        if not worst.size:
            break
        middles = 0.5 * (starts[worst] + ends[worst])
        new_starts, new_ends = np.append(starts[worst], middles), np.append(middles, ends[worst])
        new_steep, reached, least, greatest = _look(value, new_starts, new_ends)
        known, low, high = max(known, float(reached.max())), min(low, least), max(high, greatest)
        seen += new_starts.size
        starts = np.append(np.delete(starts, worst), new_starts)
        ends = np.append(np.delete(ends, worst), new_ends)
        steep = np.append(np.delete(steep, worst), new_steep)
    return Slope(max(known, float(steep.max())), max(abs(low), abs(high)), high - low)


def _jumps(value: Expression, end: float) -> tuple[float, ...]:
    return tuple(sorted(time for time in discontinuity_times([value], end) if 0.0 < time < end))


def _pieces(value: Expression, end: float) -> tuple[Floats, Floats]:
    """Intervals without jumps, of which each piece between two has several if there are few."""
    starts, ends = (each[:MAX_PIECES] for each in intervals_between(_jumps(value, end), end))
    starts[0] += BESIDE * (ends[0] - starts[0])  # a jump at 0 or at the end is none in the run
    ends[-1] -= BESIDE * (ends[-1] - starts[-1])
    shares = np.linspace(0.0, 1.0, max(1, FIRST_INTERVALS // starts.size) + 1)
    edges = starts[:, None] + (ends - starts)[:, None] * shares
    return edges[:, :-1].ravel(), edges[:, 1:].ravel()


def _look(value: Expression, starts: Floats, ends: Floats) -> tuple[Floats, Floats, float, float]:
    """For each interval a bound of the slope, and one that is reached; and the least and greatest value met."""
    found = value.bounds(starts, ends)
    values = np.stack([_at(value, times) for times in (starts, 0.5 * (starts + ends), ends)])
    secants = np.abs(np.diff(values, axis=0)).max(axis=0) / np.maximum(0.5 * (ends - starts), np.finfo(float).tiny)
    everywhere = np.maximum(np.maximum(found.least_slope, -found.greatest_slope), 0.0)
    reached = np.maximum(np.where(np.isfinite(everywhere), everywhere, 0.0), secants)
    steep = np.maximum(np.abs(found.least_slope), np.abs(found.greatest_slope))
    # As sqrt(t) at t = 0: what changes by little in so short a time counts as steep as it is from end to end.
    little = found.high - found.low <= LITTLE * np.abs(values).max()
    return np.where(little, reached, steep), reached, float(values.min()), float(values.max())


def _at(value: Expression, times: Floats) -> Floats:
    found = np.broadcast_to(value(t=times), times.shape)
    return np.where(np.isfinite(found), found, 0.0)
