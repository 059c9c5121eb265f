"""Which integrator takes a problem to its end soonest, as accurately as was asked for; and why.

`integrator = "auto"` promises an error in time within `time.tolerance` of the range of temperatures, 1e-3 if left out:
integrators that control their error do so with this tolerance, and explicit Euler, which does not, is taken only where
its steps are so many that the error must be below; where something depends on temperature, they are made so many if
that takes less time than the others. What each would take, it estimates itself (`Integrator.estimate`),
from what an explicit step costs. On the CPU a rough cost is tried first: a step is timed only if that leaves the choice
open, as timing compiles explicit Euler, which the run may not need.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.solve.integrators import INTEGRATORS, euler
from heatsim.solve.integrators.euler import EULER, accurate_step, step_weight
from heatsim.solve.integrators.input_costs import (
    seconds_of_inputs,
    seconds_of_tangents,
    typical_seconds_of_inputs,
    typical_seconds_of_tangents,
)
from heatsim.solve.integrators.integrator import EstimateInputs, Integrator, IntegratorEstimate, StepCost
from heatsim.solve.integrators.step_control import CHECK_EVERY

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.solve.state import State

MAX_SHARE_OF_EULER = 0.8  # of its seconds: the estimates are rough, and nothing is simpler
MAX_UPDATES_OF_EULER = 2e8  # cell updates that take any machine less than a second
CELLS_A_LAUNCH = 100  # cells that are updated in the time that a step takes however few there are
CELLS_OF_SOURCES, SECONDS_OF_SOURCES = 100_000, 3e-4  # the same, and s, of sources that depend on temperature
UPDATES_A_SECOND = MAX_UPDATES_OF_EULER
MAX_TIMING_SECONDS = 0.1  # s that each of two timings takes at most, beside compiling
TIMED_STEPS, FEW_CELLS = 8, 10_000  # steps timed at once, as a run takes them; more on grids with so few cells
LEAST_SHARE_OF_SWEEP = 0.2  # of a sweep alone: what a step takes in a batch without its inputs, at least
UNTIMED = StepCost(0.0, 0.0)
# Roughly: seconds of a call, and of a cell, of each thread on the CPU. Measured on two cores of an Intel Xeon (Emerald
# Rapids) for 3200 to 147 000 cells, and rounded up for slower ones. Of a GPU of 1.5 TB/s, in float32.
SECONDS_A_CALL = {"cpu": StepCost(3e-6, 15e-6), "cuda": StepCost(4e-6, 20e-6)}
SECONDS_A_CELL = {"cpu": StepCost(0.6e-9, 1.5e-9), "cuda": StepCost(4e-12, 7e-12)}
CLEAR_FACTOR = 2.0  # by which shorter steps of explicit Euler have to be sooner than another integrator
WORTH_TIMING = 0.3  # s: what is foretold to take less is not timed, which may compile explicit Euler
WORTH_SHORT_STEPS = 10.0  # s, beyond which it is looked whether explicit Euler in shorter steps is sooner
CANDIDATES = tuple(each for each in INTEGRATORS.values() if each.estimate)


@dataclass(frozen=True)
class Recommendation:
    """The integrator to take, the reason, the tolerance that it is to keep, and what all were estimated at; hint: what
    would allow more of them; step: s, if steps are to be shorter than those of the problem."""

    integrator: str
    reason: str
    tolerance: float
    estimates: tuple[IntegratorEstimate, ...]
    hint: str = ""
    step: float | None = None

    @property
    def seconds(self) -> float:
        """What the integrator is estimated at, s."""
        return next((each.seconds for each in self.estimates if each.integrator == self.integrator), 0.0)


def recommend(problem: Problem, device: str, refused: Mapping[str, str] | None = None, *, full: bool) -> Recommendation:
    """The integrator for a problem on "cpu" or "cuda": always the same on the same machine.

    refused: integrators that cannot be had, with the reason; full: estimate all of them, even if Euler is done in no
    time, and recommend the same.
    """
    tolerance, refused = problem.scenario.time.tolerance or DEFAULT_TOLERANCE, refused or {}
    of_euler, step = _for_euler(problem, device, tolerance)
    of_host = UNTIMED._replace(inputs=typical_seconds_of_inputs(problem), tangents=typical_seconds_of_tangents(problem))
    first = _estimate(EULER, EstimateInputs(of_euler, tolerance, device, of_host), refused)
    launch = CELLS_A_LAUNCH if problem.temperature_sources is None else CELLS_OF_SOURCES
    updates = first.steps * (problem.grid.cells + launch) + int(first.seconds * UPDATES_A_SECOND)
    few = not first.refused and updates <= MAX_UPDATES_OF_EULER
    within = "" if step is None else f" of at most {step:.3g} s, for the tolerance,"
    reason = f"{first.steps} steps{within} are done in no time"
    if few and not full:
        return Recommendation(EULER.name, reason, tolerance, (first,), step=step)
    cost = _typical_cost(problem, device, of_host)
    estimates = _estimate_all(of_euler, EstimateInputs(problem, tolerance, device, cost), refused)
    if few:
        return Recommendation(EULER.name, reason, tolerance, tuple(estimates), step=step)
    found = _recommend_fastest(problem, estimates, tolerance, refused)
    if step is None and found.seconds > WORTH_SHORT_STEPS and estimates[0].seconds < found.seconds:
        found = _with_short_steps(problem, estimates, found, refused)
        step = found.step
    if found.integrator != EULER.name or step is None:
        return found
    return replace(found, reason=f"in steps of at most {step:.3g} s, for the tolerance, {found.reason}", step=step)


def timed(
    found: Recommendation,
    problem: Problem,
    device: str,
    measure: Callable[[], StepCost],
    refused: Mapping[str, str] | None = None,
) -> Recommendation:
    """What was recommended for a problem, with estimates by what steps and inputs take now, if that is worth while.

    measure: times explicit steps: see `measure_step_cost`; refused: as for `recommend`.
    """
    if found.seconds < WORTH_TIMING:
        return found
    of_euler, _ = _for_euler(problem, device, found.tolerance)
    if found.step is not None:
        of_euler = problem.with_integrator(problem.scenario.time.integrator, found.tolerance, found.step)
    for_inputs, cost = seconds_of_inputs(problem), measure()
    cost = cost._replace(
        step=max(cost.step - for_inputs, LEAST_SHARE_OF_SWEEP * cost.sweep),
        inputs=for_inputs,
        tangents=seconds_of_tangents(problem),
    )
    inputs = EstimateInputs(problem, found.tolerance, device, cost)
    return replace(found, estimates=tuple(_estimate_all(of_euler, inputs, refused or {})))


def _estimate_all(of_euler: Problem, inputs: EstimateInputs, refused: Mapping[str, str]) -> list[IntegratorEstimate]:
    """What each would take; of_euler: the problem as explicit Euler is to take it."""
    others = [_estimate(each, inputs, refused) for each in CANDIDATES if each is not EULER]
    return [_estimate(EULER, inputs._replace(problem=of_euler), refused), *others]


def _with_short_steps(
    problem: Problem, estimates: list[IntegratorEstimate], found: Recommendation, refused: Mapping[str, str]
) -> Recommendation:
    """The recommendation of a linear problem that takes long, or explicit Euler in steps that are short enough for the
    tolerance, if that is sooner by much."""
    usual, step = estimates[0], accurate_step(problem, found.tolerance)
    if EULER.name in refused or not usual.steps or not 0.0 < step < problem.largest_step:
        return found
    each = usual.seconds / usual.steps
    shorter = problem.with_integrator(problem.scenario.time.integrator, found.tolerance, step)
    inputs = EstimateInputs(shorter, found.tolerance, "cpu", StepCost(each, each))
    short = _estimate(EULER, inputs, refused)
    if short.refused or CLEAR_FACTOR * short.seconds > found.seconds:
        return found
    again = _recommend_fastest(problem, [short, *estimates[1:]], found.tolerance, refused)
    return replace(again, step=step)


def _for_euler(problem: Problem, device: str, tolerance: float) -> tuple[Problem, float | None]:
    """The problem as explicit Euler is to take it, and its step, s, if that is shorter than the problem allows: where
    something depends on temperature, so short that the steps are accurate enough."""
    if not problem.temperature_dependent:
        return problem, None
    if not _estimate(EULER, EstimateInputs(problem, tolerance, device, UNTIMED), {}).refused:
        return problem, None
    step = accurate_step(problem, tolerance)
    return problem.with_integrator(problem.scenario.time.integrator, tolerance, step), step


def _estimate(integrator: Integrator, inputs: EstimateInputs, refused: Mapping[str, str]) -> IntegratorEstimate:
    assert integrator.estimate is not None
    return integrator.estimate(inputs._replace(refused=refused.get(integrator.name, "")))


def _typical_cost(problem: Problem, device: str, of_host: StepCost) -> StepCost:
    """What steps cost about, without computing any. of_host: what they cost beside kernels."""
    from heatsim_kernels.device.cpu.threads import threads_for

    cells = step_weight(problem) * problem.grid.cells
    if device == "cpu":
        cells /= threads_for(problem.grid.cells)
    more = 0.0 if problem.temperature_sources is None else SECONDS_OF_SOURCES
    of_calls, of_cells = SECONDS_A_CALL[device], SECONDS_A_CELL[device]
    step, sweep = (more + call + cells * cell for call, cell in zip(of_calls[:2], of_cells[:2], strict=True))
    return of_host._replace(step=step, sweep=sweep)


def _recommend_fastest(
    problem: Problem, estimates: list[IntegratorEstimate], tolerance: float, refused: Mapping[str, str]
) -> Recommendation:
    """The soonest of those that are accurate enough, or the last that can be had, if none is."""
    possible = [estimate for estimate in estimates if not estimate.refused]
    possible = possible or [estimate for estimate in estimates if estimate.integrator not in refused][-1:]
    best = min(possible, key=lambda estimate: estimate.seconds)
    first = possible[0]
    if first.integrator == EULER.name and best.seconds > MAX_SHARE_OF_EULER * first.seconds:
        best = first
    others = "; ".join(
        f"{other.integrator} {other.refused or f'about {other.seconds:.2g} s'}"
        for other in estimates
        if other is not best
    )
    though = f", though it {best.refused}" if best.refused else ""
    hint = _precision_hint(problem, estimates, tolerance)
    reason = f"about {best.seconds:.2g} s{though}; {others}{hint and f'; {hint}'}"
    return Recommendation(best.integrator, reason, tolerance, tuple(estimates), hint)


def _precision_hint(problem: Problem, estimates: list[IntegratorEstimate], tolerance: float) -> str:
    """What float64 would make possible, or ""."""
    finer = float(np.finfo(np.float64).eps / np.finfo(problem.dtype).eps)
    names = [each.integrator for each in estimates if each.lost > tolerance >= finer * each.lost]
    return f'compute.precision = "float64" would make {" and ".join(names)} accurate enough' if names else ""


def measure_step_cost(state: State) -> StepCost:
    """Time explicit steps on a state that is thrown away: that of the problem itself with `with_explicit_steps`, on a
    stencil kernel."""
    problem = state.problem
    batch = min(TIMED_STEPS if problem.grid.cells > FEW_CELLS else CHECK_EVERY["cpu"], problem.batch)
    # No longer than the end allows: no input is known after it.
    dt = min(problem.largest_step, problem.stability_limit, problem.scenario.time.end / batch)

    stepper, field, forcing = state.stepper, state.field, state.explicit_forcing(np.zeros(1), dt)

    middle = 0.5 * (problem.scenario.time.end - batch * dt)  # beams may be off at the start

    def steps() -> float:
        begun = time.perf_counter()
        euler.advance(state, middle, dt, 0, batch)
        field.is_finite()  # waits for the device
        return (time.perf_counter() - begun) / batch

    def sweeps() -> float:
        begun = time.perf_counter()
        for _ in range(TIMED_STEPS):
            stepper.advance(dt, 1, forcing)
        field.is_finite()
        return (time.perf_counter() - begun) / TIMED_STEPS

    return StepCost(_min_seconds(steps), _min_seconds(sweeps))


def _min_seconds(timing: Callable[[], float]) -> float:
    """The least of several timings, after one that compiles; another is made until they have taken TIMING s."""
    timing()
    begun, best = time.perf_counter(), inf
    while best == inf or time.perf_counter() - begun < MAX_TIMING_SECONDS:
        best = min(best, timing())
    return best
