"""Discontinuities of inputs: the times at which a comparison in an expression, or a step(), changes its result."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from heatsim.scenario import Expression

EVENT_SAMPLES = 10_000  # times of a run, equally apart, between which a comparison is taken not to change twice
MAX_DISCONTINUITIES = 1_000  # jumps of a run; what switches more often is left to the error control
BISECTION_STEPS = 60


def discontinuity_times(values: Iterable[object], end: float) -> frozenset[float]:
    """Times in 0..end, s, at which those of the values that are expressions jump; none if there are more than
    MAX_DISCONTINUITIES of them.

    Only comparisons in t alone count: what depends on the place as well jumps somewhere all the time.
    """
    expressions = {value for value in values if isinstance(value, Expression)}
    truths = {truth for each in expressions for truth, _ in each.comparisons() if truth.names == {"t"}}
    found = frozenset(time for truth in truths for time in _changes(truth, end))
    return found if len(found) <= MAX_DISCONTINUITIES else frozenset()


def _changes(truth: Expression, end: float) -> list[float]:
    """The first times at which a comparison is no longer what it was, by bisection."""
    times = np.linspace(0.0, end, EVENT_SAMPLES + 1)
    states = _at(truth, times)
    before = np.flatnonzero(states[1:] != states[:-1])
    low, high, was = times[before], times[before + 1], states[before]
    for _ in range(BISECTION_STEPS):
        middle = 0.5 * (low + high)
        same = _at(truth, middle) == was
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [float(time) for time in high]


def _at(truth: Expression, times: np.ndarray) -> np.ndarray:
    return np.broadcast_to(truth(t=times), times.shape)
