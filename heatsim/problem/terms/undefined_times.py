"""The first time of a run at which an input has no value: beside a pole, or beyond the domain of a function.

Bounds over intervals of time say where an expression has a value; what is left is cut until it is so short that the
values on both sides tell a pole from a bound that is too wide.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np

from heatsim.problem.terms.event_times import BISECTION_STEPS, SHORTEST
from heatsim.scenario import Expression
from heatsim.scenario.language.expressions.time_series import TimeSeries

FIRST_INTERVALS, AT_ONCE, MAX_INTERVALS = 64, 64, 50_000  # between 0 and the end; looked at together; in all
NEAR = (1e-12, 1e-10, 1e-8)  # of the run, that sizes beside a pole are looked at
POLE_GROWTH = 4.0  # by which they grow from one to the next, at least: as the third root of the distance


@lru_cache(maxsize=256)
def undefined_time(value: Expression, end: float) -> float | None:
    """The first time in 0..end, s, at which an expression in t alone has no finite value; None if it always has one, or
    if none is found among MAX_INTERVALS intervals."""
    if isinstance(value, TimeSeries) or value.names != {"t"} or not 0.0 < end < np.inf:
        return None
    edges, seen = np.linspace(0.0, end, FIRST_INTERVALS + 1), 0
    starts, ends = edges[:-1], edges[1:]
    while starts.size and seen < MAX_INTERVALS:
        first, rest = slice(AT_ONCE), slice(AT_ONCE, None)
        seen += starts[first].size
        bounds = value.bounds(starts[first], ends[first])
        open_ones = ~(np.isfinite(bounds.low) & np.isfinite(bounds.high))
        low, high = starts[first][open_ones], ends[first][open_ones]
        middles = 0.5 * (low + high)
        for number in range(low.size):
            times = np.array([low[number], middles[number], high[number]])
            bad = np.flatnonzero(~np.isfinite(_at(value, times)))
            if bad.size:
                return float(times[0] if bad[0] == 0 else _bisected(value, *times[bad[0] - 1 : bad[0] + 1]))
            if high[number] - low[number] <= SHORTEST * end and _is_pole(value, float(times[1]), end):
                return float(times[1])
        wide = high - low > SHORTEST * end
        halves = np.stack((low[wide], middles[wide], middles[wide], high[wide]), axis=1).reshape(-1, 2)
        starts, ends = np.append(halves[:, 0], starts[rest]), np.append(halves[:, 1], ends[rest])
    return None


def _bisected(value: Expression, good: float, bad: float) -> float:
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if np.isfinite(_at(value, np.array([middle]))[0]) else (good, middle)
    return bad


def _is_pole(value: Expression, time: float, end: float) -> bool:
    """Whether values grow without end towards a time, faster than a logarithm does."""
    sizes = []
    for share in NEAR:
        beside = np.array([time - share * end, time + share * end])
        found = np.abs(_at(value, beside[(beside >= 0.0) & (beside <= end)]))
        sizes.append(float(found[np.isfinite(found)].max(initial=0.0)))
    return all(near > POLE_GROWTH * far for near, far in pairwise(sizes))


def _at(value: Expression, times: np.ndarray) -> np.ndarray:
    return np.broadcast_to(value(t=times), times.shape)
