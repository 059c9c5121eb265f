"""How far each step goes: equal steps, steps under error control, or the one leap to the steady state.

Each way is built on a state and gives `advance(target)`, a generator that brings the state to a time exactly and yields
now and then. Integrators only step; here are step sizes, rejected steps, and the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, Protocol

from heatsim.errors import NotConvergedError, NotFiniteError, ScenarioError
from heatsim.integrators import euler
from heatsim.integrators.tableaus import METHODS

if TYPE_CHECKING:
    from heatsim.integrators.implicit import Implicit
    from heatsim.integrators.nonlinear_implicit import NonlinearImplicit
    from heatsim.integrators.rkl2 import Rkl2
    from heatsim.simulation.state import State

CHECK_EVERY = {"cpu": 100, "cuda": 60}  # steps between looks for what is not finite; 60: sweeps of 2 to 6 steps fit
FIRST_BATCH = {"cpu": 1, "cuda": 12}  # steps; launches tell nothing of how long they take
RESPONSE_SECONDS = 0.1  # s of computing between looks at the clock and at signals

DEFAULT_TOLERANCES = {"rkl2": 1e-3, "implicit": 1e-3, "steady": 1e-6}  # time.tolerance, where it is left out
STEP_ERROR_SHARE = 0.2  # of the tolerance that the estimated error of a step may be
# Tolerances below which it is less, by the power of the step with which its error falls: see `allowed_step_error`.
ERRORS_ADD_BELOW = {2: 0.05, 3: 1e-4}
MIN_STEP_ERROR = 1e-11  # of a step, as a share of the range: what is less is rounding
SOLVER_ACCURACY = 0.02  # of the error allowed in a step: accuracy of the linear solver
MIN_RISE_K = 1e-9  # K; what is so small is rounding
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 5.0  # on the step that the error estimate asks for
MIN_GROWTH = 1.25  # a step that would grow by less stays: another size makes another matrix, and a rejection is dear


def choose_stepping(state: State) -> Callable[[float], Iterator[None]]:
    """The way in which the scenario of a state asks to go through time; explicit steps where it leaves that open, which
    `runs.settle` does not."""
    control = state.problem.scenario.time
    if control.integrator in ("euler", "auto"):
        return ExplicitSteps(state).advance
    tolerance = control.tolerance or DEFAULT_TOLERANCES[control.integrator]
    equal = isinstance(control.step, float) and control.tolerance is None
    if control.integrator == "steady" and state.problem.temperature_dependent:
        from heatsim.integrators import nonlinear_steady

        return lambda target: nonlinear_steady.solve(state, tolerance)
    if control.integrator == "steady":
        from heatsim.integrators import steady

        return lambda target: steady.solve(state, tolerance)
    if control.integrator == "implicit":
        integrator = _make_implicit(state)
        if equal:
            return lambda target: equal_implicit_steps(state, integrator, target)
        order = integrator.tableau.embedded_order
        return ErrorControl(state, integrator, tolerance, order, state.problem.largest_step).advance
    from heatsim.integrators.rkl2 import ERROR_ORDER, Rkl2

    super_steps = Rkl2(state, tolerance)
    if equal:
        return lambda target: equal_super_steps(state, super_steps, target)
    return ErrorControl(state, super_steps, tolerance, ERROR_ORDER, super_steps.longest).advance


def _make_implicit(state: State) -> Implicit | NonlinearImplicit:
    tableau = METHODS[state.problem.scenario.time.method]
    if state.problem.temperature_dependent:
        from heatsim.integrators.nonlinear_implicit import NonlinearImplicit

        return NonlinearImplicit(state, tableau)
    from heatsim.integrators.implicit import Implicit

    return Implicit(state, tableau)


def allowed_step_error(tolerance: float, order: int) -> float:
    """Estimated error that a step may have, as a share of the range of temperatures.

    Errors of steps add up over the time in which a body forgets them: if each falls like dt^order, their sum falls like
    dt^(order - 1), as there are more. So the share of a small tolerance that a step may have has to fall, too: like the
    (order - 1)th root of the tolerance.
    """
    share: float = min(1.0, tolerance / ERRORS_ADD_BELOW[order]) ** (1 / (order - 1))
    allowed = STEP_ERROR_SHARE * tolerance
    return min(allowed, max(allowed * share, MIN_STEP_ERROR))


def count_equal_steps(start: float, target: float, largest_step: float) -> int:
    """Number of equal steps, none larger than allowed, from one event to the next."""
    return max(1, ceil((target - start) / largest_step * (1 - 1e-12)))


class ExplicitSteps:
    """Explicit steps of equal size from event to event, no larger than allowed, in batches of about RESPONSE s."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._check_every = CHECK_EVERY[state.sweep.device]
        self._at_once: int = getattr(state.sweep, "fused", 1)
        self._batch, self._unchecked = min(FIRST_BATCH[state.sweep.device], state.problem.batch), 0

    def advance(self, target: float) -> Iterator[None]:
        """Bring the state to a time; yields after each batch."""
        state, start = self._state, self._state.time
        if target <= start:
            return
        total = count_equal_steps(start, target, state.problem.largest_step)
        dt = (target - start) / total
        done = 0
        while done < total:
            count = min(self._batch, total - done)
            self._take(start, dt, done, count)
            done += count
            yield
        state.time = target

    def _take(self, start: float, dt: float, done: int, count: int) -> None:
        """Take a batch, and look now and then whether it is finite."""
        begun = time.perf_counter()
        try:
            euler.advance(self._state, start, dt, done, count)
        except ScenarioError as error:
            raise _input_error(error) from None
        if count == self._batch:  # not one that an event cut short
            most = min(self._check_every, self._state.problem.batch)
            self._batch = _next_batch(count, time.perf_counter() - begun, most, self._at_once)
        self._unchecked += count
        if self._unchecked + self._batch > self._check_every:
            require_finite(self._state.sweep.was_finite(), self._state)
            self._unchecked = 0


def _next_batch(count: int, seconds: float, most: int, at_once: int) -> int:
    """As many steps as take about RESPONSE s, at most twice as many as last time, and at least those of one pass over
    memory, however long it takes: fewer would take as long."""
    fitting = int(count * RESPONSE_SECONDS / max(seconds, 1e-6))
    return min(max(at_once, min(fitting, 2 * count)), most)


def equal_implicit_steps(state: State, integrator: Implicit | NonlinearImplicit, target: float) -> Iterator[None]:
    """Implicit steps of equal size, no larger than asked for, without error control."""
    start = state.time
    if target <= start:
        return
    total = count_equal_steps(start, target, state.problem.largest_step)
    for number in range(1, total + 1):
        end = target if number == total else start + (target - start) * number / total
        trial_step = _compute_trial_step(integrator, (target - start) / total, None)
        require_finite(isfinite(trial_step.high - trial_step.low), state)
        integrator.accept_step(trial_step, end)
        yield


def equal_super_steps(state: State, integrator: Rkl2, target: float) -> Iterator[None]:
    """Super steps of equal size, no larger than asked for, of as many stages as they need, without error control."""
    start = state.time
    if target <= start:
        return
    total = count_equal_steps(start, target, integrator.longest)
    unchecked = state.solver_statistics.stages
    for number in range(1, total + 1):
        end = target if number == total else start + (target - start) * number / total
        integrator.advance((target - start) / total, end)
        if state.solver_statistics.stages - unchecked >= CHECK_EVERY[state.sweep.device]:
            require_finite(state.sweep.was_finite(), state)
            unchecked = state.solver_statistics.stages
        yield


class TrialStep(Protocol):
    """A step that was computed and not taken yet: the largest estimated error of a cell, K, and the least and greatest
    value of the new field."""

    error: float
    low: float
    high: float


class Integrator(Protocol):
    """Steps that are attempted before they are taken."""

    def trial_step(self, dt: float, accuracy: float | None) -> Any:
        """A `TrialStep` of `dt` s, solved to about `accuracy` K where something is solved; None: without an
        estimate."""

    def accept_step(self, trial_step: Any, time: float) -> None:
        """Make the attempted step the state of `time` s."""


class ErrorControl:
    """Steps as large as the tolerance allows.

    The estimated error of a step, the largest of any cell, is kept below `allowed_step_error` times the rise, which is
    the hottest less the coldest temperature of any cell that is not held so far, in K. Steps between two events are
    equal; a step grows only if that is worth another matrix. `order`: power of the step with which its error falls;
    `longest`: step allowed, s.
    """

    def __init__(self, state: State, integrator: Integrator, tolerance: float, order: int, longest: float) -> None:
        self._state, self._integrator, self._share = state, integrator, allowed_step_error(tolerance, order)
        self._order, self._longest = order, longest
        problem = state.problem
        self._low, self._high = state.extent_at_start
        self._least = problem.min_step
        self._size = min(problem.stability_limit, longest)  # s, what the error allows

    def advance(self, target: float) -> Iterator[None]:
        """Bring the state to a time; yields after each step."""
        state = self._state
        while state.time < target:
            count = count_equal_steps(state.time, target, self._size)
            dt = (target - state.time) / count
            trial_step, factor = self._try(dt)
            if trial_step is None:
                state.solver_statistics.rejected += 1
                self._size = dt * factor
                continue
            self._integrator.accept_step(trial_step, target if count == 1 else state.time + dt)
            self._low, self._high = min(self._low, trial_step.low), max(self._high, trial_step.high)
            if factor >= MIN_GROWTH:
                self._size = min(max(self._size, dt * factor), self._longest)
            yield

    def _try(self, dt: float) -> tuple[TrialStep | None, float]:
        """An attempt, or None if it is rejected, and by what factor the step should change."""
        accuracy = SOLVER_ACCURACY * self._share * max(self._high - self._low, MIN_RISE_K)
        try:
            trial_step = _compute_trial_step(self._integrator, dt, accuracy)
        except NotConvergedError:
            if dt <= self._least:
                raise
            return None, MIN_FACTOR
        require_finite(isfinite(trial_step.error + trial_step.high - trial_step.low), self._state)
        rise = max(self._high, trial_step.high) - min(self._low, trial_step.low)
        error = trial_step.error / (self._share * max(rise, MIN_RISE_K))
        factor = min(max(SAFETY * max(error, 1e-12) ** (-1 / self._order), MIN_FACTOR), MAX_FACTOR)
        return (trial_step if error <= 1.0 or dt <= self._least else None), factor


def _compute_trial_step(integrator: Integrator, dt: float, accuracy: float | None) -> Any:
    try:
        return integrator.trial_step(dt, accuracy)
    except ScenarioError as error:
        raise _input_error(error) from None


def _input_error(error: ScenarioError) -> NotFiniteError:
    """Of a value of the scenario that was good at the times at which it was looked at before the run."""
    return NotFiniteError(f"the run ends where an input is no longer good; earlier results are kept. {error}")


def require_finite(finite: bool, state: State) -> None:
    """Raise `NotFiniteError` if the state is not finite."""
    if not finite:
        raise NotFiniteError.at(state.step, state.time)
