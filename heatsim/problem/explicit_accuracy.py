"""How short explicit steps have to be for the error in time of explicit Euler to be below a tolerance.

An error in time starts with what changes. After a jump of an input, or of the initial temperature at a boundary face,
a mode of decay rate r is off by n x^2/2 exp(-n x) of the jump after n steps, x = r dt: at most ERROR_CONSTANT/n, that
is ERROR_CONSTANT dt/age; and as x is no more than 2 dt/limit, at most ERROR_CONSTANT dt/(limit/2) after any number of
steps, limit being that of stability. What is looked at next after a jump sees the greatest part. Behind an input that
is smooth Euler is dt/2 late at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import inf, pi, sqrt
from typing import NamedTuple

import numpy as np

from heatsim.problem.terms.input_rates import Changes, Floats, changes_of, ramps, steepest_slope, time_factors
from heatsim.problem.terms.sources.power_trace import PowerTrace
from heatsim.scenario import Expression
from heatsim.scenario.language.expressions.time_series import TimeSeries

ERROR_CONSTANT = 0.27  # of the jump times dt/age: half the greatest x^2 exp(-x)
PERIODS = 3.0  # in a run, of beams and of inputs whose change in time cannot be told from that with place
LATENESS = 0.5  # of a step: how far Euler is behind inputs
MAX_SWING_SAMPLES = 2**16
SHORTEST = 1e-12  # of a run, in which an input changes
JUMPS_REMEMBERED = 64  # before each jump: the errors of older ones have decayed


class AfterJump(NamedTuple):
    """The longest step, s, that is short enough after a jump at `jump` s for what is looked at at `record` s."""

    step: float
    jump: float
    record: float


NO_JUMP = AfterJump(inf, 0.0, inf)


class InputsInTime(NamedTuple):
    """What an explicit run has to follow.

    temperatures: inputs that are temperatures; others: fluxes, powers, coefficients; traces: of powers; switches: times
    at which beams go on or off, s; beams: whether there are any; temperature_range: between the given temperatures, K.
    """

    temperatures: list[Expression]
    others: list[object]
    traces: list[PowerTrace]
    switches: list[float]
    beams: bool
    temperature_range: float

    def factors(self) -> tuple[list[tuple[Expression, float]], bool]:
        """Each factor that depends on time alone, and the least size that its changes are compared with; and whether
        there are inputs from which none can be split."""
        found, mixed = dict[Expression, float](), self.beams
        for value in dict.fromkeys(each for each in [*self.others, *self.temperatures] if isinstance(each, Expression)):
            factors = time_factors(value)
            mixed |= factors is None
            of_range = self.temperature_range if value in self.temperatures and factors == [value] else 0.0
            found.update(dict.fromkeys(factors or (), of_range))
        return list(found.items()), mixed


class AccurateSteps(NamedTuple):
    """The longest explicit steps with which the error is below the tolerance, s: after jumps, and behind inputs.
    fastest_input: s in which an input changes by its range at the least; swings: how often an expression goes through
    its range in the run, at most, up and down."""

    after_jump: AfterJump
    for_inputs: float
    fastest_input: float
    swings: float = 0.0


def accurate_steps(
    inputs: InputsInTime, end: float, records: Iterable[float], limit: float, longest: float, tolerance: float
) -> AccurateSteps:
    """records: times after 0 at which something is recorded or looked at, s, ascending; limit: of stability, s;
    longest: step that would be taken, s."""
    looks = _Looks(np.asarray(list(records)), limit, tolerance)
    at_start = Changes(np.zeros(1), np.zeros(1), np.ones(1), 1.0, 1.0)
    switched = _switched(inputs.switches)
    found = [looks.after(each, each.sizes) for each in (at_start, switched)]
    (factors, mixed), swings = inputs.factors(), 0.0
    follow = [end / (pi * PERIODS)] if mixed else []  # s in which an input changes by its range
    for value, of_range in factors:
        temperature = of_range > 0.0 or value in inputs.temperatures
        changes = changes_of(value, end)
        scale = max(changes.spread, of_range, 0.0 if temperature else changes.scale)
        if isinstance(value, TimeSeries):
            follow.append(looks.behind(changes, changes.sizes / (scale or inf)))
            continue
        slope = steepest_slope(value, end, tolerance / (LATENESS * longest) if longest > 0.0 else inf)
        scale = max(scale, slope.spread, 0.0 if temperature else slope.scale)
        found.append(looks.after(changes, changes.sizes / (scale or inf)))
        follow.append(scale / slope.steepest if slope.steepest > 0.0 else inf)
        swings = max(swings, _swings(value, end, scale, slope.steepest))
    for trace in inputs.traces:
        changes = ramps(np.repeat(trace.times, twice(trace)), closed(trace), end)
        follow.append(looks.behind(changes, changes.sizes / (changes.scale or inf)))
    after_jump = min((each for each in found if each is not None), default=NO_JUMP)
    fastest = max(min(follow, default=inf), SHORTEST * end)  # beside a pole it is 0
    return AccurateSteps(after_jump, tolerance / LATENESS * fastest, fastest, swings)


@lru_cache(maxsize=64)
def _swings(value: Expression, end: float, scale: float, steepest: float) -> float:
    """The way of an expression in t up and down, over its range `scale`; steepest: its slope, 1/s."""
    if not (0.0 < end < inf and scale > 0.0 and 0.0 < steepest < inf):
        return 0.0
    count = min(MAX_SWING_SAMPLES, max(64, int(min(8.0 * steepest * end / scale, MAX_SWING_SAMPLES))))
    with np.errstate(all="ignore"):
        way = np.abs(np.diff(np.asarray(value(t=np.linspace(0.0, end, count + 1)), np.float64))).sum()
    return float(way / scale) if np.isfinite(way) else 0.0


def _switched(times: Iterable[float]) -> Changes:
    """What goes on and off in turn."""
    when = np.array(sorted(times), np.float64)
    signs = np.where(np.arange(when.size) % 2, -1.0, 1.0)
    return Changes(when, np.zeros(when.size), signs, 1.0, 1.0)


def twice(trace: PowerTrace) -> np.ndarray:
    """How many rows stand for each of a trace, which begins and ends with no power."""
    return 1 + np.isin(np.arange(trace.times.size), (0, trace.times.size - 1)).astype(int)


def closed(trace: PowerTrace) -> Floats:
    """The powers of these rows."""
    return np.array([0.0, *trace.powers, 0.0])


class _Looks:
    """Ages of changes when something is looked at."""

    def __init__(self, records: Floats, limit: float, tolerance: float) -> None:
        self._records, self._half, self._tolerance = records, 0.5 * limit, tolerance
        # What one short step after a jump is off by, 2 (dt/limit)^2, is below the tolerance up to there.
        self._soon = limit * sqrt(0.5 * tolerance)

    def after(self, changes: Changes, shares: Floats) -> AfterJump | None:
        """The jump that asks for the shortest steps; shares: (n,) of the range that changes are."""
        ages, records = self._ages(changes.times, shares)
        if not ages.size:
            return None
        worst = int(np.argmin(ages))
        step = self._tolerance * float(ages[worst]) / ERROR_CONSTANT
        return AfterJump(step, float(changes.times[worst]), float(records[worst]))

    def behind(self, changes: Changes, shares: Floats) -> float:
        """The least time, s, in which the ramps of an input would change it by its range. A short ramp is no worse than
        a jump at its end."""
        ages, _ = self._ages(changes.times, shares)
        sizes = np.maximum(np.abs(shares), np.finfo(float).tiny)
        with np.errstate(over="ignore"):  # of what hardly changes: any step will do
            return float(np.maximum(changes.durations / sizes, LATENESS * ages / ERROR_CONSTANT).min(initial=inf))

    def _ages(self, times: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """(n,) the age, s, that a jump over the whole range would have, to be seen as well as each jump and those
        before it are at the next look; and the time of that look, s."""
        places = np.searchsorted(self._records, np.maximum(times + self._soon, np.nextafter(times, inf)))
        looked = np.append(self._records, inf)[places]
        seen, most = np.zeros(times.size), np.zeros(times.size)
        for back in range(min(JUMPS_REMEMBERED, times.size)):
            ages = np.maximum(looked[back:] - times[: times.size - back], self._half)
            seen[back:] += shares[: times.size - back] / ages
            most = np.maximum(most, np.abs(seen))
        with np.errstate(divide="ignore"):
            return 1.0 / most, looked
