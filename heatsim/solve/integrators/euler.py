"""Explicit (forward) Euler: the new state from the rates at the old one.

It does not control its error, so `auto` takes it only where its steps are so many that the error must be below the
tolerance, and rounding does not add up to more (see `rounding`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heatsim.base import methods
from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.errors import ScenarioError
from heatsim.solve.integrators.growth import longest_explicit_step
from heatsim.solve.integrators.integrator import EstimateInputs, Integrator, IntegratorEstimate, SavedState, StepControl
from heatsim.solve.integrators.rounding import rounding_loss, rounding_refusal
from heatsim.solve.integrators.step_control import (
    CHECK_EVERY,
    Interval,
    count_steps,
    input_error,
    require_finite,
    require_inputs,
)

if TYPE_CHECKING:
    from heatsim_kernels.explicit.coefficients import Forcing

    from heatsim.problem import Problem
    from heatsim.solve.state import State

FIRST_BATCH = {"cpu": 1, "cuda": 12}  # steps; launches tell nothing of how long they take
LOOK_AHEAD = 64  # steps for which inputs are found at once where forcings serve a single step
MAX_TANGENT_STEPS = 48  # that a tangent to the flux of a face serves: a multiple of the steps that kernels fuse
MAX_TANGENT_ERROR = 1e-4  # of the largest flux: error of a tangent at its end
TANGENT_SHARE = 0.1  # of its range, that an input changes by while a tangent serves
RESPONSE_SECONDS = 0.1  # s of computing between looks at the clock and at signals

WEIGHT_OF_TANGENTS, WEIGHT_OF_POTENTIALS = 1.1, 2.3  # see `step_weight`
WEIGHT_OF_SOURCES = 10.0  # that depend on temperature: NumPy evaluates them over the field in each step

# Of eps/2 of the range an update: the greatest error measured, of a plate that cools slowly in air far colder; boundary
# faces, sources and modes lost a fifth of that or less.
ROUNDING_SHARE = 0.2


class TangentsMade(NamedTuple):
    """What tangents were made from: `steps` steps of `dt` s from number `first` on of an interval that started at
    `start` s, and the stored values of the cells beside their faces, where the field is."""

    start: float
    dt: float
    first: int
    steps: int
    cells: Any


class StepForcing:
    """Gives the forcing of explicit steps, interval by interval.

    Where tangents stand for boundary faces, they serve several steps: twice as many as the last ones if those were off
    by little at their end, fewer if they were off by too much, and one after a jump of an input. They follow inputs in
    every step, and are judged by what the balance gives at the time to which they lead, not at the time of their last
    step. How many steps a tangent serves does not depend on the batches that steps are asked for in.
    """

    def __init__(self, state: State, tangent_steps: int = 1) -> None:
        """tangent_steps: that the first tangents serve."""
        self._state, self._length, self._left = state, tangent_steps, 0
        self._forcing: Forcing | None = None
        self._made: TangentsMade | None = None
        self._is_over = False  # whether an interval has ended while the tangents might have served on
        self._is_afresh = False

    @cached_property
    def _longest(self) -> int:
        """The most steps that tangents serve."""
        return min(_max_tangent_steps(self._state.problem), self._state.problem.batch)

    def state(self) -> SavedState:
        """How many steps tangents serve, and what the last ones were made from."""
        made = None
        if self._made is not None:
            cells = self._made.cells
            made = [*self._made[:-1], cells.host() if hasattr(cells, "host") else cells]
        return {"length": self._length, "left": self._left, "made": made}

    def restore(self, saved: SavedState) -> None:
        """Go on from what `state` gave."""
        self._length, self._left = saved["length"], saved["left"]
        if saved["made"] is not None:
            start, dt, first, steps, values = saved["made"]
            cells = self._state.field.as_stored(values)
            self._made = TangentsMade(start, dt, first, steps, cells)
            times = self._times(start, dt, first, steps + 1)
            lines = self._state.boundary_tangents(times, lambda indices: cells)
            self._forcing = self._state.explicit_forcing(times[:steps], dt, boundary=lines)

    def begin_interval(self, *, afresh: bool) -> None:
        """Renew the tangents with the next step; afresh: an input jumps there. Nothing has moved yet, so the last
        tangents are right at the jump, but will not be for long."""
        self._is_over, self._is_afresh = True, afresh

    def of(self, start: float, dt: float, first: int, count: int) -> tuple[Forcing, int]:
        """The forcing of steps from number `first` on of an interval that starts at `start` s, and how many of the
        `count` steps asked for it serves."""
        form = self._state.problem.explicit_form
        if form is None or not form.faces.entries.size:  # no tangents, which would have to be renewed
            return self._state.explicit_forcing(self._times(start, dt, first, count), dt), count
        if self._left == 0 or self._is_over or self._forcing is None:
            self._forcing = self._renewed(start, dt, first)
        served = min(count, self._left)
        forcing = self._forcing.of_steps(self._length - self._left, max(1, served))
        self._left -= served
        return forcing, served

    def _renewed(self, start: float, dt: float, first: int) -> Forcing:
        state, before, seen = self._state, self._forcing, dict[str, Any]()

        def cells(indices: Any) -> Any:
            if "cells" not in seen:
                seen["cells"] = state.field.stored_cells(indices)
            return seen["cells"]

        times = self._times(start, dt, first, min(2 * self._length, self._longest) + 1)
        lines = state.boundary_tangents(times, cells)
        if before is not None:
            error = state.tangents.error(before, self._length - self._left, lines)
            if error > MAX_TANGENT_ERROR:  # which grows with the square of the steps; after a jump it is of order 1
                self._length = max(1, int(self._length * sqrt(MAX_TANGENT_ERROR / error)))
            elif error < MAX_TANGENT_ERROR / 8:  # twice the steps give four times the error
                self._length = 2 * self._length
        self._length = self._left = 1 if self._is_afresh else min(self._length, self._longest)
        self._made = TangentsMade(start, dt, first, self._length, seen.get("cells"))
        self._is_over = self._is_afresh = False
        return state.explicit_forcing(times[: self._length], dt, boundary=lines)

    def _times(self, start: float, dt: float, first: int, count: int) -> np.ndarray:
        problem = self._state.problem
        return np.asarray(start + dt * (first + np.arange(max(1, count if problem.varies else 1))))


def advance(
    state: State, start: float, dt: float, first: int, count: int, step_forcing: StepForcing | None = None
) -> None:
    """Advance the state by steps number `first` to `first + count - 1` of an interval that starts at `start` s.

    Times are start + n dt, not sums of dt, so that nothing drifts. `count` is at most `state.problem.batch`.
    step_forcing: of the steps; left out, tangents serve MAX_TANGENT_STEPS.
    """
    step_forcing, end = step_forcing or StepForcing(state, MAX_TANGENT_STEPS), first + count
    while True:
        forcing, served = step_forcing.of(start, dt, first, end - first)
        state.stepper.advance(dt, served, forcing)
        from_ambients = state.problem.ambient_heat(start + dt * (first + np.arange(served)), dt)
        if forcing.from_ambients is not None:
            by_surfaces = dt * forcing.from_ambients[None]
            from_ambients = by_surfaces if from_ambients is None else by_surfaces + from_ambients
        for number, energy in enumerate(state.problem.source_energy(forcing, dt, served).tolist()):
            # One by one: the sum must not depend on batches.
            from_sides = None if forcing.from_sides is None else dt * forcing.from_sides
            state.add_released(energy, None if from_ambients is None else from_ambients[number], from_sides)
        first += served
        if first >= end:
            break
    state.step += count
    state.time = start + dt * end


class ExplicitSteps:
    """Explicit steps of equal size from event to event, no larger than allowed, in batches of about RESPONSE s."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._check_every = CHECK_EVERY[state.field.device]
        self._step_forcing = StepForcing(state)
        self._restarts = state.problem.events().restarts
        self._at_once = state.stepper.fused_steps
        self._interval: Interval | None = None
        self._at_most: int | None = None
        self._batch, self._unchecked = min(FIRST_BATCH[state.field.device], state.problem.batch), 0

    def advance(self, target: float) -> Iterator[None]:
        """Bring the state to a time; yields after each batch."""
        state, start = self._state, self._state.time
        if target <= start:
            return
        if self._interval is None or self._interval.target != target:
            self._step_forcing.begin_interval(afresh=start in self._restarts)
        interval = Interval.begin(self._interval, start, target, state.problem.largest_step)
        start, _, total, done = interval
        dt = (target - start) / total
        ahead = done
        while done < total:
            if done >= ahead and state.problem.batch == 1:
                ahead = done + LOOK_AHEAD
                state.problem.look_ahead(start + dt * np.arange(done, min(ahead, total)))
            count = min(self._batch, total - done, self._at_most or total)
            self._take(start, dt, done, count)
            done += count
            self._interval = interval._replace(done=done) if done < total else None
            if done == total:
                state.time = target
            yield

    def look_after(self, steps: int) -> None:
        """Take batches of so many steps at most."""
        self._at_most = steps

    def state(self) -> SavedState:
        """The interval under way, and the tangents."""
        return {"interval": self._interval and list(self._interval), "forcing": self._step_forcing.state()}

    def restore(self, saved: SavedState) -> None:
        """Go on from what `state` gave."""
        self._interval = Interval.of(saved)
        self._step_forcing.restore(saved["forcing"])

    def _take(self, start: float, dt: float, done: int, count: int) -> None:
        """Take a batch, and look now and then whether it is finite."""
        begun = time.perf_counter()
        require_inputs(self._state, start + dt * (done + count))
        try:
            advance(self._state, start, dt, done, count, self._step_forcing)
        except ScenarioError as error:
            raise input_error(error) from None
        if count == self._batch:  # not one that an event cut short
            most = min(self._check_every, self._state.problem.batch)
            self._batch = _next_batch(count, time.perf_counter() - begun, most, self._at_once)
        self._unchecked += count
        if self._unchecked + self._batch > self._check_every:
            require_finite(self._state.field.was_finite(), self._state)
            self._unchecked = 0


def _next_batch(count: int, seconds: float, most: int, at_once: int) -> int:
    """As many steps as take about RESPONSE s, at most twice as many as last time, and at least those of one pass over
    memory, however long it takes: fewer would take as long."""
    fitting = int(count * RESPONSE_SECONDS / max(seconds, 1e-6))
    return min(max(at_once, min(fitting, 2 * count)), most)


# What `auto` asks.


def step_weight(problem: Problem) -> float:
    """How many times as long as in a linear problem an explicit step takes, about: docs/reports/nonlinear.md."""
    form = problem.explicit_form
    if form is None:
        return 1.0
    weight = WEIGHT_OF_POTENTIALS if form.coefficients is problem.coefficients else WEIGHT_OF_TANGENTS
    return weight if problem.temperature_sources is None else weight + WEIGHT_OF_SOURCES


def _max_tangent_steps(problem: Problem) -> int:
    """The most steps that tangents serve: no more than an input takes to change by TANGENT_SHARE of its range."""
    if not problem.varies:
        return MAX_TANGENT_STEPS
    fastest = problem.accurate_explicit_steps(DEFAULT_TOLERANCE).fastest_input
    return int(min(max(1.0, TANGENT_SHARE * fastest / problem.largest_step), MAX_TANGENT_STEPS))


def _steps_of_tangents(problem: Problem, tolerance: float, step: float) -> float:
    """How many steps tangents serve, about: so many that their error, which grows with the square of the time and is
    twice the range of an input in the time in which the input changes by that, is half of MAX_TANGENT_ERROR."""
    if not problem.varies:
        return float(MAX_TANGENT_STEPS)
    fastest = problem.accurate_explicit_steps(tolerance).fastest_input
    served: float = sqrt(MAX_TANGENT_ERROR / 4.0) * fastest / step
    return min(max(1.0, served), float(MAX_TANGENT_STEPS))


def allows_explicit_steps(problem: Problem) -> bool:
    """Whether the step that the scenario asks for is stable."""
    step = problem.scenario.time.step
    return isinstance(step, str) or step <= problem.stability_limit * (1 + 1e-12)


def with_explicit_steps(problem: Problem) -> Problem:
    """The problem to be taken by explicit Euler, or as it is where the step asked for is not stable."""
    return problem.with_integrator(EULER.name, None) if allows_explicit_steps(problem) else problem


def _estimate(inputs: EstimateInputs) -> IntegratorEstimate:
    problem, tolerance = inputs.problem, inputs.tolerance
    steps = count_steps(with_explicit_steps(problem))
    refused = inputs.refused or _refusal(problem, steps, tolerance)
    lost = 0.0 if refused else rounding_loss(problem, ROUNDING_SHARE, steps, tolerance)
    refused = refused or rounding_refusal(problem, lost, tolerance)
    each, tangents = inputs.cost.step + inputs.cost.inputs, inputs.cost.tangents
    if tangents > 0.0:
        each += tangents / _steps_of_tangents(problem, tolerance, problem.scenario.time.end / steps)
    return IntegratorEstimate(EULER.name, steps, steps, steps * each, refused, lost)


def accurate_step(problem: Problem, tolerance: float) -> float:
    """The longest step with which explicit Euler is stable and must be accurate enough, s."""
    after_jump, for_inputs, *_ = problem.accurate_explicit_steps(tolerance)
    growing = longest_explicit_step(problem, tolerance)
    return min(problem.largest_step, after_jump.step, for_inputs, growing) * (1 - 1e-9)


def _refusal(problem: Problem, steps: int, tolerance: float) -> str:
    """Why explicit Euler would not be accurate enough, or ""."""
    if not allows_explicit_steps(problem):
        return "would need shorter steps to be stable"
    step = problem.scenario.time.end / steps
    after_jump, for_inputs, *_ = problem.accurate_explicit_steps(tolerance)
    if step > after_jump.step:
        since = f" from the jump of an input at t = {after_jump.jump:g} s" if after_jump.jump > 0.0 else ""
        until = "on to" if since else "before"
        return f"has too few steps{since} {until} t = {after_jump.record:g} s for the tolerance"
    if step > longest_explicit_step(problem, tolerance):
        return "has too few steps for the tolerance where sources make the field grow"
    return "has too few steps to follow inputs that depend on time" if step > for_inputs else ""


def _start(state: State) -> StepControl:
    return ExplicitSteps(state)


def _warm_up(state: State) -> None:
    advance(state, 0.0, state.problem.largest_step, 0, 0)


EULER = Integrator(
    methods.EULER,
    start=_start,
    warm_up=_warm_up,
    estimate=_estimate,
)
