"""How far each step goes: equal steps, steps under error control, and how many of them a run would take.

Integrators only step; here are step sizes, rejected steps, and the time.

Steps under error control are counted before anything is computed, by a model. What starts with a jump, of the initial
temperature at a boundary face or of a source, has no time scale but its age; so a step under error control is a share
of the age, which the tolerance sets, and many more than the stability limit once it is old. Smooth problems need fewer
steps than that. A beam that moves heats every place on its way anew: a step is a share of the time in which it passes
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf, isfinite, pi, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.errors import NotConvergedError, NotFiniteError, RunawayError, ScenarioError

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.solve.integrators.integrator import SavedState
    from heatsim.solve.state import State

CHECK_EVERY = {"cpu": 100, "cuda": 60}  # steps between looks for what is not finite; 60: sweeps of 2 to 6 steps fit

STEP_ERROR_SHARE = 0.2  # of the tolerance that the estimated error of a step may be
# Tolerances below which it is less, by the power of the step with which its error falls: see `allowed_step_error`.
ERRORS_ADD_BELOW = {2: 0.05, 3: 1e-4}
FEW_BENDS = 16  # bends of inputs in a run: the errors of so few steps hardly add up
MOST_STRICTER = 2.0  # by which the error of a step is divided at most, where inputs bend more often
MIN_STEP_ERROR = 1e-11  # of a step, as a share of the range: what is less is rounding
SOLVER_ACCURACY = 0.02  # of the error allowed in a step: accuracy of the linear solver
MIN_RANGE_K = 1e-9  # K; what is so small is rounding
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 5.0  # on the step that the error estimate asks for
# Errors that fall more slowly than dt to this power, of attempts up to so many times the stability limit, are rounding.
ROUNDING_ORDER, ROUNDING_SEEN_BELOW = 1.2, 2.0
MIN_GROWTH = 1.25  # a step that would grow by less stays: another size makes another matrix, and a rejection is dear
# Of a beam that passes a place in a standard deviation s, T''' is about 0.4 jump/s^3, the heating rate being a normal
# distribution in time: a step with the error of one at age t is PASSES s/t times as long.
PASSES = 1.5
MAX_EVENTS, EVENTS_A_BLOCK = 4000, 100  # that are looked at one by one: of more, some blocks
LEAST_CHANGE = 1e-6  # share of the range of an input: a change of it that no step has to follow


@dataclass(frozen=True)
class TrialStep:
    """A step that was computed and not taken yet.

    error: the largest estimated error of a cell, K, or not a number if it was not estimated; low, high: the least and
    greatest value of the new field; released: heat of the sources in the step, J.
    """

    error: float
    low: float
    high: float
    released: float


class StepLimit(NamedTuple):
    """What sources that grow allow a step: the longest, s, and a factor on the error that it may have."""

    longest: float
    share: float


NO_LIMIT = StepLimit(inf, 1.0)


class TrialStepper(Protocol):
    """Takes steps in two: computes one, and makes it the state if its error is small enough."""

    def trial_step(self, dt: float, accuracy: float | None) -> Any:
        """A `TrialStep` of `dt` s, solved to about `accuracy` K where something is solved; None: without an
        estimate."""

    def accept_step(self, trial_step: Any, time: float) -> None:
        """Make the step computed the state of `time` s."""

    def state(self) -> SavedState:
        """All that later steps depend on beside the state of the run: see `StepControl`."""

    def restore(self, saved: SavedState) -> None:
        """Go on from what `state` gave."""


def allowed_step_error(tolerance: float, order: int) -> float:
    """Estimated error that a step may have, as a share of the range of temperatures.

    Errors of steps add up over the time in which a body forgets them: if each falls like dt^order, their sum falls like
    dt^(order - 1), as there are more. So the share of a small tolerance that a step may have has to fall, too: like the
    (order - 1)th root of the tolerance.
    """
    share: float = min(1.0, tolerance / ERRORS_ADD_BELOW[order]) ** (1 / (order - 1))
    allowed = STEP_ERROR_SHARE * tolerance
    return min(allowed, max(allowed * share, MIN_STEP_ERROR))


def _strictness(bends: int) -> float:
    """By how much less the error of a step may be where inputs bend often: errors of the steps after a bend are of the
    same kind after the next, and a body that forgets little adds them up."""
    return min(sqrt(1.0 + bends / FEW_BENDS), MOST_STRICTER)


def count_equal_steps(start: float, target: float, largest_step: float) -> int:
    """Number of equal steps, none larger than allowed, from one event to the next."""
    return max(1, ceil((target - start) / largest_step * (1 - 1e-12)))


def count_steps(problem: Problem, largest_step: float | None = None) -> int:
    """The number of steps of the largest size, s, left out that of the problem: between any two events an equal
    division of the time."""
    largest, events = largest_step or problem.largest_step, problem.events().after_start
    return sum(count_equal_steps(start, target, largest) for start, target in pairwise([0.0, *events]))


class Interval(NamedTuple):
    """The way from one event to the next in `total` equal steps, of which `done` are taken; start, target in s."""

    start: float
    target: float
    total: int
    done: int = 0

    @classmethod
    def begin(cls, saved: Interval | None, start: float, target: float, largest_step: float) -> Interval:
        """The interval that was saved on the way to this target, or a new one from `start`."""
        if saved is not None and saved.target == target:
            return saved
        return cls(start, target, count_equal_steps(start, target, largest_step))

    @classmethod
    def of(cls, saved: SavedState) -> Interval | None:
        """That of a saved state, which has one if it was saved on the way."""
        return None if saved["interval"] is None else cls(*saved["interval"])


class EqualSteps:
    """Steps of equal size from event to event, none larger than allowed, without error control.

    `take_step(dt, end)` takes one of `dt` s to the time `end`.
    """

    def __init__(
        self,
        state: State,
        largest_step: float,
        take_step: Callable[[float, float], None],
        method: TrialStepper,
    ) -> None:
        """method: whose state is saved with the steps."""
        self._state, self._largest_step, self._take_step, self._method = state, largest_step, take_step, method
        self._interval: Interval | None = None

    def advance(self, target: float) -> Iterator[None]:
        """Bring the state to a time; yields after each step."""
        if target <= self._state.time:
            return
        interval = Interval.begin(self._interval, self._state.time, target, self._largest_step)
        start, _, total, done = interval
        for number in range(done + 1, total + 1):
            end = target if number == total else start + (target - start) * number / total
            require_inputs(self._state, end)
            self._take_step((target - start) / total, end)
            self._interval = interval._replace(done=number) if number < total else None
            yield

    def look_after(self, steps: int) -> None:
        """It yields after each step."""

    def state(self) -> SavedState:
        """The interval under way, and the state of the method."""
        return {"interval": self._interval and list(self._interval), "method": self._method.state()}

    def restore(self, saved: SavedState) -> None:
        """Go on from what `state` gave."""
        self._interval = Interval.of(saved)
        self._method.restore(saved["method"])


def equal_trial_steps(state: State, integrator: TrialStepper) -> EqualSteps:
    """Equal steps no larger than asked for, of an integrator that computes a step before it takes it."""

    def take_step(dt: float, end: float) -> None:
        trial_step = _compute_trial_step(integrator, dt, None)
        require_finite(isfinite(trial_step.high - trial_step.low), state)
        integrator.accept_step(trial_step, end)

    return EqualSteps(state, state.problem.largest_step, take_step, integrator)


class ErrorControl:
    """Steps as large as the tolerance allows.

    The estimated error of a step, the largest of any cell, is kept below `allowed_step_error` times the rise, which is
    the hottest less the coldest temperature of any solved cell so far, in K; or below what rounding was seen to make of
    it, which no shorter step takes away. Steps between two events are equal; a step grows only if that is worth another
    matrix. `order`: power of the step with which its error falls; `longest`: step allowed, s.
    """

    def __init__(
        self,
        state: State,
        integrator: TrialStepper,
        tolerance: float,
        order: int,
        longest: float,
        accepted: Callable[[float], float] = lambda time: 0.0,
        limit: Callable[[], StepLimit] = lambda: NO_LIMIT,
    ) -> None:
        """accepted: gives, for a time, s, the step that is taken whatever its error, if it is longer than the least of
        the problem; limit: what growth allows now."""
        problem = state.problem
        self._state, self._integrator = state, integrator
        self._share = allowed_step_error(tolerance, order) / _strictness(len(problem.marks.times))
        self._order, self._longest = order, longest
        self._low, self._high = state.extent_at_start
        self._least, self._accepted, self._limit = problem.min_step, accepted, limit
        self._size = min(problem.stability_limit, longest)  # s, what the error allows
        self._rounding, self._most_rounding = 0.0, problem.rounding  # K, seen, and the most that it may be
        self._rejected = (0.0, 0.0)  # s, K: the last attempt at this step, and its error

    def advance(self, target: float) -> Iterator[None]:
        """Bring the state to a time; yields after each step."""
        state = self._state
        while state.time < target:
            least = max(self._least, min(self._accepted(state.time), self._longest))
            limit = self._limit()
            count = count_equal_steps(state.time, target, max(min(self._size, limit.longest), least))
            dt = (target - state.time) / count
            require_inputs(state, state.time + dt)
            trial_step, factor = self._try(dt, least, self._share * limit.share)
            if trial_step is None:
                state.solver_statistics.rejected += 1
                self._size = dt * factor
                continue
            self._integrator.accept_step(trial_step, target if count == 1 else state.time + dt)
            self._low, self._high = min(self._low, trial_step.low), max(self._high, trial_step.high)
            if factor >= MIN_GROWTH:
                self._size = min(max(self._size, dt * factor), self._longest)
            yield

    def look_after(self, steps: int) -> None:
        """It yields after each step."""

    def state(self) -> SavedState:
        """The range of temperatures so far, the size of the next step, rounding, and the state of the method."""
        found = {"low": self._low, "high": self._high, "size": self._size, "rounding": self._rounding}
        return {**found, "method": self._integrator.state()}

    def restore(self, saved: SavedState) -> None:
        """Go on from what `state` gave."""
        self._low, self._high, self._size = saved["low"], saved["high"], saved["size"]
        self._rounding = saved.get("rounding", 0.0)
        self._integrator.restore(saved["method"])

    def _try(self, dt: float, least: float, share: float) -> tuple[TrialStep | None, float]:
        """An attempt, and by what factor the step should change.

        The attempt is None if it is rejected; one that is no longer than `least` is always taken. share: of the range,
        that its error may be.
        """
        accuracy = solver_accuracy(share, self._low, self._high)
        try:
            trial_step = _compute_trial_step(self._integrator, dt, accuracy)
        except (NotConvergedError, RunawayError):
            if dt > least:
                return None, MIN_FACTOR
            following = self._state.problem.temperature_sources
            if following is None:
                raise
            why = f"steps of {dt:.3g} s are too long"
            raise following.runaway(self._state.temperature(), self._state.time, why) from None
        require_finite(isfinite(trial_step.error + trial_step.high - trial_step.low), self._state)
        self._look_for_rounding(dt, trial_step.error)
        temperature_range = max(self._high, trial_step.high) - min(self._low, trial_step.low)
        error = trial_step.error / max(share * max(temperature_range, MIN_RANGE_K), self._rounding)
        factor = min(max(SAFETY * max(error, 1e-12) ** (-1 / self._order), MIN_FACTOR), MAX_FACTOR)
        taken = error <= 1.0 or dt <= least
        self._rejected = (0.0, 0.0) if taken else (dt, trial_step.error)
        return (trial_step if taken else None), factor

    def _look_for_rounding(self, dt: float, error: float) -> None:
        """Take the error of the last attempt for rounding if that of a shorter one is not what it would have to be.

        Below the stability limit an error in time falls like dt^2 or faster; rounding falls like dt at most, or is gone
        where nothing is rounded to another value any more. Attempts are compared however little shorter they are:
        where errors are a few last places, the next is taken at the size that makes it one less.
        """
        before, rejected = self._rejected
        if not 0.0 < dt < before or before > ROUNDING_SEEN_BELOW * self._state.problem.stability_limit:
            return
        smooth = 0.0 < error <= rejected * (dt / before) ** ROUNDING_ORDER
        if not smooth and rejected <= self._most_rounding:
            self._rounding = max(self._rounding, min(2.0 * rejected, self._most_rounding))


def solver_accuracy(share: float, low: float, high: float) -> float:
    """The accuracy, K, to which the stages of a step are solved whose error may be a share of the range of
    temperatures."""
    return SOLVER_ACCURACY * share * max(high - low, MIN_RANGE_K)


def step_share(tolerance: float, order: int, error_constant: float) -> float:
    """The share of the age that a step may be, for a method whose error falls like the step to the `order`.

    error_constant: of the jump times (dt/t)^order, the largest error of a step dt at age t.
    """
    share: float = SAFETY * (allowed_step_error(tolerance, order) / error_constant) ** (1 / order)
    return share


class _Restart(NamedTuple):
    """An input that starts afresh at a time, s: see `Restarts`."""

    time: float
    jump: float
    bend: float
    most: float
    age: float

    def step(self, now: float, share: float, order: int) -> float:
        """The step that it allows, s: `share` of its age if it is over the whole range."""
        age = max(now - self.time, self.age)
        size = min(1.0, max(min(self.jump + self.bend * age, self.most), LEAST_CHANGE))
        return share * float(size ** (-1.0 / order)) * age


def foresee_steps(
    problem: Problem, share: float, order: int, longest: float, sweeps_of: Callable[[float], int]
) -> tuple[int, int]:
    """The steps and sweeps that a run under error control would take: each step is `share` of the time since its inputs
    last started afresh, more if they did so by little, and at most `longest` s, or what follows inputs that swing;
    order: power of the step with which its error falls; sweeps_of: those of a step of so many seconds."""
    swings = problem.accurate_explicit_steps(problem.scenario.time.tolerance or DEFAULT_TOLERANCE).swings
    if swings > 0.0:  # a wave passes a place as a bell does whose standard deviation is its period over 2 pi
        longest = min(longest, PASSES * share * problem.scenario.time.end / (pi * swings))
    least = min(problem.stability_limit, longest)
    restarts, stops = _find_stops(problem, least / share)
    blocks = [range(len(stops))]
    if len(stops) > MAX_EVENTS:
        starts = np.linspace(0, len(stops) - EVENTS_A_BLOCK, MAX_EVENTS // EVENTS_A_BLOCK).astype(int).tolist()
        blocks = [range(start, start + EVENTS_A_BLOCK) for start in starts]
    steps, sweeps = 0, 0
    for block in blocks:
        now = stops[block.start - 1] if block.start else 0.0
        latest = before = restarts.get(now, _Restart(now, 1.0, 0.0, 1.0, least / share))
        for stop in (stops[number] for number in block):
            while now < stop:
                most = min([longest, *_beam_steps(problem, share, now)])
                size = min(most, latest.step(now, share, order), before.step(now, share, order))
                count = count_equal_steps(now, stop, size)
                dt = (stop - now) / count
                taken = count if size == most else 1
                steps, sweeps = steps + taken, sweeps + taken * sweeps_of(dt)
                now = stop if taken == count else now + dt
            if stop in restarts:  # the sharper of those before may still count
                before = min(before, latest, key=lambda each: each.step(now, share, order))
                latest = restarts[stop]
    looked = sum(map(len, blocks))
    return ceil(steps * len(stops) / looked), ceil(sweeps * len(stops) / looked)


def _find_stops(problem: Problem, slow: float) -> tuple[dict[float, _Restart], list[float]]:
    """What starts afresh, by the time from which on it counts; and all times at which steps end, or become shorter,
    after 0, s. slow: as which age what is felt slowly counts at least, s."""
    planned, half = problem.events(), 0.5 * problem.stability_limit
    events, found = np.array(planned.after_start), problem.restarts(planned.restarts)
    after = np.append(events, inf)[np.searchsorted(events, found.times)]
    times = np.where(after - found.times <= problem.min_step, after, found.times)  # a step passes over a discontinuity
    counts = np.minimum(found.jumps + found.bends * half, found.most) > LEAST_CHANGE
    ages = np.where(np.isinf(found.ages), slow, np.maximum(found.ages, half))
    columns = (each[counts].tolist() for each in (times, found.jumps, found.bends, found.most, ages))
    restarts: dict[float, _Restart] = {}
    for each in map(_Restart, *columns):
        known = restarts.get(each.time)
        if known is None or each.most > known.most:
            restarts[each.time] = each
    return restarts, np.union1d(events, list(restarts)).tolist()


def typical_step(problem: Problem, share: float, restarts: Iterable[float]) -> Callable[[float], float]:
    """The step at a time by the model above, s. restarts: times at which inputs start afresh, after 0."""

    def step(time: float) -> float:
        born = max((each for each in restarts if each <= time), default=0.0)
        return min([share * (time - born), *_beam_steps(problem, share, time)])

    return step


def _beam_steps(problem: Problem, share: float, time: float) -> list[float]:
    sources = problem.volume_sources
    passages = [*(beam.passage(time) for beam in sources.beams), *sources.passages]
    return [PASSES * share * passage for passage in passages]


def _compute_trial_step(integrator: TrialStepper, dt: float, accuracy: float | None) -> Any:
    try:
        return integrator.trial_step(dt, accuracy)
    except ScenarioError as error:
        raise input_error(error) from None


def require_inputs(state: State, until: float) -> None:
    """Raise `NotFiniteError` if steps to a time, s, would pass over one at which an input has no value: steps beside it
    would grow ever shorter, and pass over it all the same, to a wrong result."""
    undefined = state.problem.undefined
    if undefined is not None and until >= undefined.time > 0.0:
        raise input_error(ScenarioError([state.problem.scenario.issue_at(*undefined.issue())]))


def input_error(error: ScenarioError) -> NotFiniteError:
    """Of a value of the scenario that was good at the times at which it was looked at before the run."""
    return NotFiniteError(f"the run ends where an input is no longer good; earlier results are kept. {error}")


def require_finite(finite: bool, state: State) -> None:
    """Raise `NotFiniteError` if the state is not finite."""
    if not finite:
        raise NotFiniteError.at(state.step, state.time, _place_not_finite(state))


def _place_not_finite(state: State) -> tuple[float, float, float] | None:
    """The centre x, y, z of the first cell of a state that is not finite, m; None where the state itself is good."""
    grid = state.problem.grid
    for z, plane in enumerate(state.field.host()):
        bad = np.argwhere(~np.isfinite(plane))
        if bad.size:
            y, x = bad[0].tolist()
            return grid.centre(z, y, x)
    return None
