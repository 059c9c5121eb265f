"""Implicit Runge-Kutta steps, each stage solved by multigrid.

With d = a_ii and the rates F_j = G(t_j, T_j) of the earlier stages, stage i is solved for its increment:

    (C/(d dt) + A) (T_i - T) = sum over j < i of a_ij/d F_j + G(t_i, T)
    F_i = C/(d dt) (T_i - T) - sum over j < i of a_ij/d F_j

F_i from the increment, not from A T_i: where cells are stiff A would multiply what error the solver left (Shampine,
ACM Trans. Math. Software 6 (1980), section 4). G(t, T) of the old state is computed anew each step, so these errors do
not add up. The heat of a step is dt sum b_i (sources + boundary faces of stage i), which is what the cells store, to
rounding.

The error of a step is estimated by the difference from the embedded method, with the matrix of the stages applied to it
once more: without that it would be far too large in stiff cells (Hosea and Shampine 1996, section 4).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import ceil, log2, nan, pi, prod, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from heatsim.base import methods
from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.errors import NotConvergedError, RunawayError
from heatsim.solve.integrators.euler import step_weight
from heatsim.solve.integrators.growth import NO_GROWTH, foreseen_growth, growth_share, seeds_refusal
from heatsim.solve.integrators.integrator import (
    EstimateInputs,
    Integrator,
    IntegratorEstimate,
    SavedState,
    StepControl,
    solver_rows,
)
from heatsim.solve.integrators.steady import seconds_of_solves
from heatsim.solve.integrators.step_control import (
    NO_LIMIT,
    ErrorControl,
    StepLimit,
    TrialStep,
    allowed_step_error,
    equal_trial_steps,
    foresee_steps,
    solver_accuracy,
    step_share,
)
from heatsim.solve.integrators.tableaus import SCHEMES, TR_BDF2, Tableau

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from heatsim_kernels.solver.solver import Solution

    from heatsim.solve.integrators.balance import BalanceInputs
    from heatsim.solve.integrators.nonlinear_implicit import NonlinearImplicit
    from heatsim.solve.state import State

MAX_ITERATIONS = 100
MIN_RESIDUAL = 1e-9  # |b - A x| / |b| at which a stage is solved at any rate
ESTIMATE_RESIDUAL = 0.05  # the error need not be known to more than a digit

TYPICAL_ITERATIONS = 6  # of all solves of a step
# A step, with all its solves, by device: explicit steps that take as long, and seconds of the host beside, for each
# level of multigrid and each axis that it coarsens.
# Steps are those of a linear problem; where something depends on temperature, a step solves several in turn.
EULER_STEPS_A_SOLVE = {"cpu": 400.0, "cuda": 300.0}
HOST_SECONDS_A_LEVEL = {"cpu": 0.6e-3, "cuda": 1.2e-3}
SOLVES_A_NONLINEAR_SOLVE = 5.0
# Steps in which a front melts a cell, with those rejected: 12 measured, of ground that thaws and freezes for ten years.
STEPS_A_MELTING_CELL, MAX_SWINGS = 12, 1e6
# Where a source jumps at a temperature: attempts at steps, over the root of the cells along the longest axis (17 to 35
# measured, on 60 to 480 cells); and how many times as many solves as others such a step takes.
STEPS_OF_A_SWITCH, SOLVES_OF_A_SWITCH = 24, 3.0
SETUP_STEPS = 5  # steps that a run takes longer, for its matrices
TIMED_ATTEMPTS, TIMED_FACTOR = 4, 0.1  # of a step that is timed; by what it is shortened if it does not converge
MAX_TIMED_CELLS = 300_000  # of a problem whose whole step is timed; of others some solves are

Values = Any  # (nz, ny, nx) float64: an array, or a field on the GPU


@dataclass(frozen=True)
class ImplicitTrialStep(TrialStep):
    """field: the new one, K; inputs: those of its last stage; entered: heat through each face and from each ambient in
    the step, J."""

    field: Values
    inputs: BalanceInputs
    entered: np.ndarray


class HasRate(Protocol):
    """A stage whose rate is known, the heat that flows into each cell, W."""

    @property
    def rate(self) -> Values:
        """(nz, ny, nx)"""


class Present(NamedTuple):
    """The state that a step starts from: its time, s, and the heat exchanged between its cells and flowing into them,
    W."""

    time: float
    inputs: BalanceInputs
    exchange: Values
    flow: Values


class ImplicitStage(NamedTuple):
    """inputs at its time; field, K; rate: heat that flows into each cell, W; entering: through each face and from
    each ambient, W."""

    inputs: BalanceInputs
    field: Values
    rate: Values
    entering: np.ndarray


class Implicit:
    """Steps of one method on a state."""

    def __init__(self, state: State, tableau: Tableau = TR_BDF2) -> None:
        from heatsim.solve.integrators.balance import Balance

        self._state, self.tableau = state, tableau
        self._balance = Balance(state.problem, state.field)
        self._present = self._look(self._balance.inputs(state.time))
        self._slope: Values | None = None  # K/s, of the last step: what the next is guessed from

    def trial_step(self, dt: float, accuracy: float | None) -> ImplicitTrialStep:
        """Compute a step of `dt` s and estimate its error, its stages to about `accuracy` K; without an estimate, and
        as accurate as it gets, if that is None. The state stays.

        Raises `NotConvergedError` where the solver does not get there.
        """
        tableau, present, old = self.tableau, self._present, self._balance.values
        stages: list[ImplicitStage] = []
        slope = self._slope
        for c, row in zip(tableau.c, tableau.a, strict=True):
            if row[-1] == 0.0:
                entering = self._balance.entering(present.inputs, old)
                stages.append(ImplicitStage(present.inputs, old, present.flow, entering))
            else:
                stages.append(self._stage(c, row[:-1], stages, dt, slope, accuracy or 0.0))
                slope = (stages[-1].field - old) / (c * dt)
        error, last = nan if accuracy is None else self._error(stages), stages[-1]
        weights = np.array(tableau.weights) * dt
        entered = weights @ np.array([stage.entering for stage in stages])
        released = float(weights @ np.array([stage.inputs.power for stage in stages]))
        low, high = self._balance.extent(last.field)
        return ImplicitTrialStep(error, low, high, released, last.field, last.inputs, entered)

    def _stage(
        self,
        c: float,
        weights: tuple[float, ...],
        stages: list[ImplicitStage],
        dt: float,
        slope: Values | None,
        accuracy: float,
    ) -> ImplicitStage:
        """Solve a stage at c dt, guessed from a slope, K/s; `weights`: of the stages before it."""
        from heatsim.solve.integrators.balance import by_parts

        balance, present, old, diagonal = self._balance, self._present, self._balance.values, self.tableau.diagonal
        inputs = balance.inputs(present.time + c * dt)
        balance.prepare(inputs, diagonal * dt)
        same = inputs is present.inputs
        flow = present.flow if same else balance.flow(inputs, old, present.exchange)
        earlier = combine_rates(weights, stages, diagonal)
        guess = None if slope is None else c * dt * slope
        found = self._solve(earlier + flow, guess, accuracy, MIN_RESIDUAL)
        field = by_parts(lambda old, x: old + x, old, found.x)
        rate = by_parts(lambda C, x, earlier: C / (diagonal * dt) * x - earlier, balance.capacity, found.x, earlier)
        return ImplicitStage(inputs, field, rate, balance.entering(inputs, field))

    def accept_step(self, trial_step: ImplicitTrialStep, time: float) -> None:
        """Make the step computed the state of `time` s."""
        state, balance = self._state, self._balance
        self._slope = (trial_step.field - balance.values) / (time - state.time)
        balance.assign(trial_step.field)
        state.field.sample(time - state.time)
        state.entered += trial_step.entered
        state.source_energy += trial_step.released
        state.time, state.step = time, state.step + 1
        self._present = self._look(trial_step.inputs)

    @staticmethod
    def limit_by_growth(tolerance: float) -> Callable[[], StepLimit]:
        """No step of a linear problem is limited by growth: nothing grows."""
        return lambda: NO_LIMIT

    def state(self) -> SavedState:
        """The slope that the next step is guessed from, when the inputs of the last one were, and the matrix."""
        slope = None if self._slope is None else self._balance.on_host(self._slope)
        return {"slope": slope, "inputs_time": self._present.inputs.time, "matrix": self._balance.state()}

    def restore(self, saved: SavedState) -> None:
        """Go on from what `state` gave."""
        self._slope = None if saved["slope"] is None else self._balance.on_device(saved["slope"])
        inputs = self._balance.inputs(saved["inputs_time"])
        self._balance.restore(saved["matrix"], inputs)
        self._present = self._look(inputs)

    def _look(self, inputs: BalanceInputs) -> Present:
        values = self._balance.values
        exchange = self._balance.exchange(values)
        return Present(self._state.time, inputs, exchange, self._balance.flow(inputs, values, exchange))

    def _error(self, stages: list[ImplicitStage]) -> float:
        difference = combine_rates(self.tableau.error_weights, stages, self.tableau.diagonal)
        low, high = self._balance.extent(self._solve(difference, None, 0.0, ESTIMATE_RESIDUAL).x)
        return max(-low, high)

    def _solve(self, rhs: Values, guess: Values | None, accuracy: float, residual: float) -> Solution:
        found = self._balance.solve(rhs, guess, tolerance=residual, accuracy=accuracy, iterations=MAX_ITERATIONS)
        self._state.solver_statistics.iterations += found.iterations
        if not found.converged:
            self._state.solver_statistics.residuals = list(found.residuals)
            when = f"the implicit step from t = {self._state.time:g} s, in {found.iterations} iterations,"
            raise NotConvergedError(when, found.residuals)
        return found


def combine_rates(weights: tuple[float, ...], stages: Sequence[HasRate], diagonal: float) -> Values:
    """Sum of weight/diagonal times rate, W."""
    from heatsim.solve.integrators.balance import by_parts

    def sum_of(*rates: Values) -> Values:
        total: Values = 0.0
        for weight, rate in zip(weights, rates, strict=True):
            total = total + (weight / diagonal) * rate
        return total

    return by_parts(sum_of, *(stage.rate for stage in stages))


def _start(state: State) -> StepControl:
    control = state.problem.scenario.time
    integrator = _make_stepper(state)
    if control.has_equal_steps:
        return equal_trial_steps(state, integrator)
    order, largest_step = integrator.tableau.embedded_order, state.problem.largest_step
    tolerance = control.tolerance or DEFAULT_TOLERANCE
    limit = integrator.limit_by_growth(tolerance)
    return ErrorControl(state, integrator, tolerance, order, largest_step, limit=limit)


def _make_stepper(state: State) -> Implicit | NonlinearImplicit:
    tableau = SCHEMES[state.problem.scenario.time.method]
    if state.problem.temperature_dependent:
        from heatsim.solve.integrators.nonlinear_implicit import NonlinearImplicit

        return NonlinearImplicit(state, tableau)
    return Implicit(state, tableau)


def _estimate(inputs: EstimateInputs) -> IntegratorEstimate:
    problem = inputs.problem.with_integrator(IMPLICIT.name, inputs.tolerance)
    tableau = SCHEMES[problem.scenario.time.method]
    share = step_share(inputs.tolerance, tableau.embedded_order, tableau.error_constant)
    steps, _ = foresee_steps(problem, share, tableau.embedded_order, problem.largest_step, lambda dt: 0)
    if problem.melts:  # a front meets each cell on its way, and again with each swing of the inputs
        follow = problem.accurate_explicit_steps(inputs.tolerance).fastest_input
        swings = max(1.0, problem.scenario.time.end / (pi * follow))
        steps = max(steps, ceil(STEPS_A_MELTING_CELL * max(problem.grid.shape) * min(swings, MAX_SWINGS)))
    if problem.switches:
        steps = max(steps, ceil(STEPS_OF_A_SWITCH * sqrt(max(problem.grid.shape))))
    _, foldings, _ = foreseen_growth(problem)
    if foldings > NO_GROWTH:
        constant = tableau.growth_constant
        steps += ceil(foldings / growth_share(inputs.tolerance, tableau.embedded_order, constant, foldings))
    linear_step = inputs.cost.step / step_weight(problem)
    solve = EULER_STEPS_A_SOLVE[inputs.device] * linear_step + _host_seconds(problem.grid.shape, inputs.device)
    if problem.temperature_dependent:
        solve *= SOLVES_A_NONLINEAR_SOLVE * (SOLVES_OF_A_SWITCH if problem.switches else 1.0)
    refused = inputs.refused or seeds_refusal(problem, inputs.tolerance)
    seconds = (steps + SETUP_STEPS) * (solve + len(tableau.c) * inputs.cost.inputs)
    return IntegratorEstimate(IMPLICIT.name, steps, 0, seconds, refused)


def _host_seconds(shape: tuple[int, ...], device: str) -> float:
    """Seconds of a step that do not depend on the number of cells but by the levels of multigrid."""
    from heatsim_kernels.solver.hierarchy import MAX_DIRECT_CELLS

    axes = max(1, sum(count > 1 for count in shape))
    levels = 1 + max(0, ceil(log2(prod(shape) / MAX_DIRECT_CELLS) / axes))
    return HOST_SECONDS_A_LEVEL[device] * levels * axes


def _measure(state: State, dt: float) -> float:
    problem = state.problem
    if not problem.temperature_dependent or problem.grid.cells > MAX_TIMED_CELLS:
        return seconds_of_solves(state, dt, TYPICAL_ITERATIONS)
    stepper, control = _make_stepper(state), problem.scenario.time
    low, high = state.extent_at_start
    share = allowed_step_error(control.tolerance or DEFAULT_TOLERANCE, stepper.tableau.embedded_order)
    accuracy = None if control.has_equal_steps else solver_accuracy(share, low, high)
    for attempt in range(TIMED_ATTEMPTS):  # from the start a step of the usual length may be too long
        try:
            stepper.trial_step(dt * TIMED_FACTOR**attempt, accuracy)  # compiles
            begun = time.perf_counter()
            stepper.trial_step(dt * TIMED_FACTOR**attempt, accuracy)
            return (time.perf_counter() - begun) * (SOLVES_OF_A_SWITCH if problem.switches else 1.0)
        except (NotConvergedError, RunawayError):
            continue
    return seconds_of_solves(state, dt, TYPICAL_ITERATIONS)


IMPLICIT = Integrator(
    methods.IMPLICIT,
    start=_start,
    estimate=_estimate,
    measure=_measure,
    report=solver_rows,
)
