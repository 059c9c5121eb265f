"""Implicit Runge-Kutta steps of a body that depends on temperature, each stage by Newton's iterations on the enthalpy.

With d = a_ii and the rates F_j = G(t_j, T_j) of the earlier stages, stage i is solved for its state u_i:

    C (u_i - u)/(d dt) = sum over j < i of a_ij/d F_j + G(t_i, T(u_i))

An iteration freezes conductances and boundary faces at T(u_i) (`frozen`), takes T(u) for a straight line there, solves
for the change of T, and adds the enthalpy that belongs to it: change/(dT/du). A cell that melts at one temperature has
all but no slope, so it takes up heat and stays as warm as it is. Where a line ends, the next iteration goes on along
the next. An iteration that does not come closer is halved. Swaminathan and Voller, Metallurgical Transactions B 23
(1992) 651-664; when to end: Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8.

Rates, errors and methods are those of `implicit`. What iterations leave is put right by a shift of the states at the
end of a step, so that cells store what has entered, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from heatsim_kernels.explicit.coefficients import FACES
from heatsim_kernels.field.window_source import window_heating_rate, window_sources_of
from heatsim_kernels.solver.operator import Operator

from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.errors import NotConvergedError
from heatsim.solve.integrators.balance import solver_kernels
from heatsim.solve.integrators.growth import GrowthLimit
from heatsim.solve.integrators.implicit import combine_rates
from heatsim.solve.integrators.linearised import (
    MAX_SOLVER_ITERATIONS,
    SOLVER_RESIDUAL,
    EnteringHeat,
    LinearisedProblem,
    damped_coupling,
    diagonal_coupling,
    linearise_problem,
    nonlinear_coefficients,
    nonlinear_forcing,
)
from heatsim.solve.integrators.step_control import NO_LIMIT, SOLVER_ACCURACY, StepLimit, TrialStep, allowed_step_error
from heatsim.solve.integrators.tableaus import TR_BDF2, Tableau
from heatsim.solve.ranks.solver import make_solver

if TYPE_CHECKING:
    from collections.abc import Callable

    from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearForcing
    from heatsim_kernels.solver.solver import Solver

    from heatsim.solve.integrators.integrator import SavedState
    from heatsim.solve.ranks.solver import RanksSolver
    from heatsim.solve.state import State

MAX_ITERATIONS = 40  # Newton's, of a stage
MAX_REUSE_ITERATIONS = 6  # iterations of a solve after which it is worth a preconditioner of its own
MIN_SLOPE = 1e-6  # dT/du, in place of none
MIN_ACCURACY = 1e-10  # of the temperatures and of their offsets
MIN_ACCURACY_OF_GROWTH = 1e-13  # the same where the field grows
MIN_DAMPING = 1 / 16
RAMP = 0.2  # of the tolerance and the range of temperatures: over which sources switch


@dataclass(frozen=True)
class NonlinearTrialStep(TrialStep):
    """state: the new u; low, high are temperatures; entered: heat through each face and from each ambient in the step,
    J."""

    state: np.ndarray
    entered: np.ndarray


class NonlinearInputs(NamedTuple):
    """Boundary faces at a time, s; what sources release in each cell, W, but for those that depend on temperature; and
    the values that prescribed cells have then (nz, ny, nx), None where those are the stored ones."""

    time: float
    boundary: NonlinearForcing
    sources: np.ndarray
    prescribed: np.ndarray | None


class NonlinearStage(NamedTuple):
    """inputs at its time; u, K; rate: heat that flows into each cell, W; entering: through each face and from each
    ambient, W; released: by all sources, W."""

    inputs: NonlinearInputs
    u: np.ndarray
    rate: np.ndarray
    entering: np.ndarray
    released: float


class NonlinearImplicit:
    """Steps of one method on a state whose field stores the enthalpy; linear problems are solved on the state's
    `solver_device`, all else on the host."""

    def __init__(self, state: State, tableau: Tableau = TR_BDF2) -> None:
        self._state, self.tableau = state, tableau
        self._coefficients = coefficients = nonlinear_coefficients(state.problem)
        self._kernels = solver_kernels(state.solver_device)
        self._material = coefficients.spread_over_cells(coefficients.material)
        self._capacity = np.broadcast_to(coefficients.spread_over_cells(coefficients.capacity), coefficients.shape)
        self._solved = self._capacity > 0
        self._entering_heat = EnteringHeat(coefficients)
        self._solver: Solver | RanksSolver | None = None
        self._still: NonlinearInputs | None = None
        self._growth_limit: GrowthLimit | None = None
        self._switches = state.problem.switches
        self._ramp = 0.0  # K, see `_set_ramp`
        self._slope: np.ndarray | None = None  # of u over time, in the last step: what the next is guessed from
        stored = np.array(state.field.state())
        self._start = stored if state.problem.ambients.moves else None  # prescribed cells of the field keep it
        self._present = self._look(self._inputs(state.time), stored)

    def trial_step(self, dt: float, accuracy: float | None) -> NonlinearTrialStep:
        """Compute a step of `dt` s and estimate its error, its stages to about `accuracy` K; without an estimate, and
        as accurate as it gets, if that is None. The state stays.

        Raises `NotConvergedError` where the iterations do not get there.
        """
        self._set_ramp(accuracy)
        tableau, present, slope = self.tableau, self._present, self._slope
        stages: list[NonlinearStage] = []
        for c, row in zip(tableau.c, tableau.a, strict=True):
            if row[-1] == 0.0:
                stages.append(present)
            else:
                guess = present.u if slope is None else present.u + c * dt * slope
                earlier = combine_rates(row[:-1], stages, tableau.diagonal)
                stage, operator = self._stage(c * dt, earlier, guess, dt, accuracy or 0.0)
                stages.append(stage)
                slope = (stage.u - present.u) / (c * dt)
        error = nan if accuracy is None else self._error(operator, stages)
        weights = np.array(tableau.weights) * dt
        entered = weights @ np.array([stage.entering for stage in stages])
        released = float(weights @ np.array([stage.released for stage in stages]))
        u = self._balanced(stages[-1].u, float(entered.sum()) + released)
        T = self._temperature(u)[self._solved]
        return NonlinearTrialStep(error, float(T.min()), float(T.max()), released, u, entered)

    def _set_ramp(self, accuracy: float | None) -> None:
        """Over how much temperature, K, sources that switch at a temperature do so: where they jump, a body that rests
        at the switch has no state that an implicit stage could find. So they are taken as lines between temperatures a
        share RAMP of the error apart that the run may have, by the range of temperatures so far."""
        if self._switches and accuracy:
            tolerance = self._state.problem.scenario.time.tolerance or DEFAULT_TOLERANCE
            share = SOLVER_ACCURACY * allowed_step_error(tolerance, self.tableau.embedded_order)
            self._ramp = RAMP * tolerance * accuracy / share

    def accept_step(self, trial_step: NonlinearTrialStep, time: float) -> None:
        """Make the step computed the state of `time` s."""
        state = self._state
        elapsed = time - state.time
        self._slope = (trial_step.state - self._present.u) / elapsed
        u = trial_step.state
        state.field.put_state(u if self._start is None else np.where(self._solved, u, self._start))
        state.field.sample(elapsed)
        state.entered += trial_step.entered
        state.source_energy += trial_step.released
        state.time, state.step = time, state.step + 1
        self._present = self._look(self._inputs(time), trial_step.state)

    def limit_by_growth(self, tolerance: float) -> Callable[[], StepLimit]:
        """A function that gives what growth allows now, under a tolerance."""
        tableau, problem = self.tableau, self._state.problem
        growth = GrowthLimit(problem, tolerance, tableau.embedded_order, tableau.growth_constant)
        self._growth_limit = growth if growth.grows else None

        def limit() -> StepLimit:
            if not growth.grows:
                return NO_LIMIT
            return growth.now(self._temperature(self._present.u) + problem.reference, self._state.time)

        return limit

    def state(self) -> SavedState:
        """The slope that the next step is guessed from, and what its solves are preconditioned for."""
        operator = None if self._solver is None else self._solver.preconditioned_operator()
        names = "gx", "gy", "gz", "s"
        return {
            "slope": self._slope,
            "ramp": self._ramp,
            "growth": None if self._growth_limit is None else self._growth_limit.state(),
            "operator": None if operator is None else {name: getattr(operator, name) for name in names},
        }

    def restore(self, saved: SavedState) -> None:
        """Go on from what `state` gave."""
        self._slope, operator = saved["slope"], saved["operator"]
        if self._growth_limit is not None and saved.get("growth") is not None:
            self._growth_limit.restore(saved["growth"])
        if saved.get("ramp"):
            self._ramp = saved["ramp"]
            self._present = self._look(self._present.inputs, self._present.u)
        periodic = self._coefficients.periodic
        self._solver = None if operator is None else make_solver(Operator(**operator, periodic=periodic), self._kernels)

    def _inputs(self, time: float) -> NonlinearInputs:
        if self._still is not None:
            return self._still
        problem, shape = self._state.problem, self._coefficients.shape
        forcing = nonlinear_forcing(problem, time)
        rates = window_heating_rate(window_sources_of(forcing.window_sources, 0), shape)
        if forcing.heat_table is not None:
            rates = rates + self._coefficients.spread_over_cells(forcing.heat_table[0])
        if forcing.heat_field is not None:
            rates = rates + forcing.heat_scale[0] * forcing.heat_field
        boundary = replace(forcing, heat_table=None, heat_field=None, window_sources=())
        rises = problem.ambient_rises(time)
        prescribed = None
        if rises is not None and self._start is not None:
            prescribed = self._start + self._coefficients.spread_over_cells(rises)
        inputs = NonlinearInputs(time, boundary, self._capacity * rates, prescribed)
        if not problem.varies:
            self._still = inputs
        return inputs

    def _with_ambients(self, u: np.ndarray, inputs: NonlinearInputs) -> np.ndarray:
        """The states with those of prescribed cells at the time of the inputs."""
        return u if inputs.prescribed is None else np.where(self._solved, u, inputs.prescribed)

    def _temperature(self, u: np.ndarray) -> np.ndarray:
        """Rises of temperature, K."""
        return self._coefficients.tables.temperature(u, self._material)

    def _sources(self, inputs: NonlinearInputs, T: np.ndarray) -> np.ndarray:
        """What all sources release in each cell, W."""
        following, T = self._state.problem.temperature_sources, T + self._state.problem.reference
        if following is None:
            return inputs.sources
        if not self._ramp:
            return np.asarray(inputs.sources + following.power(T, inputs.time))
        low = self._ramp * np.floor(T / self._ramp)
        power = following.power(low, inputs.time)
        rise = following.power(low + self._ramp, inputs.time) - power
        return np.asarray(inputs.sources + power + (T - low) / self._ramp * rise)

    def _growth(self, inputs: NonlinearInputs, T: np.ndarray) -> np.ndarray | float:
        """The slope over temperature of what sources release in each cell, W/K."""
        following, T = self._state.problem.temperature_sources, T + self._state.problem.reference
        if following is None:
            return 0.0
        if not self._ramp:
            return following.slope(T, inputs.time)
        low = self._ramp * np.floor(T / self._ramp)
        rise = following.power(low + self._ramp, inputs.time) - following.power(low, inputs.time)
        return np.asarray(rise / self._ramp)

    def _linearised(self, inputs: NonlinearInputs, u: np.ndarray, T: np.ndarray) -> LinearisedProblem:
        return linearise_problem(self._state.problem, u, T, inputs.boundary, inputs.time)

    def _look(self, inputs: NonlinearInputs, u: np.ndarray) -> NonlinearStage:
        u = self._with_ambients(u, inputs)
        T = self._temperature(u)
        flow, sources = self._linearised(inputs, u, T).flow, self._sources(inputs, T)
        rate = np.where(self._solved, flow + sources, 0.0)
        return NonlinearStage(inputs, u, rate, *self._heat(inputs, u, T, float(sources.sum())))

    def _heat(self, inputs: NonlinearInputs, u: np.ndarray, T: np.ndarray, released: float) -> tuple[np.ndarray, float]:
        """What enters through each face and from each ambient, W, and what else sources release of `released`."""
        entering = self._entering_heat.at(u, inputs.boundary)
        released, from_ambients = self._state.problem.split_power(released, T, inputs.time)
        entering[len(FACES) :] += from_ambients
        return entering, released

    def _stage(
        self, elapsed: float, earlier: np.ndarray | float, guess: np.ndarray, dt: float, accuracy: float
    ) -> tuple[NonlinearStage, Operator]:
        """A stage so long after the present, and the operator that its last iteration was solved with; `earlier`: what
        the stages before it add, W."""
        coefficients, solved, old = self._coefficients, self._solved, self._present.u
        inputs, ties = self._inputs(self._state.time + elapsed), self._capacity / (self.tableau.diagonal * dt)
        u, step, sizes = self._with_ambients(np.where(solved, guess, old), inputs), 1.0, [np.inf]
        T = self._temperature(u)
        for _ in range(MAX_ITERATIONS):
            operator, _, flow = self._linearised(inputs, u, T)
            slope = np.maximum(coefficients.tables.slope(u, self._material), MIN_SLOPE)
            missing = np.where(solved, earlier + self._sources(inputs, T) + flow - ties * (u - old), 0.0)
            tied = damped_coupling(operator.s + ties / slope, self._growth(inputs, T))
            operator = replace(operator, s=diagonal_coupling(tied, solved))
            change = np.where(solved, self._change(operator, missing), 0.0)
            u = u + step * change / slope
            before, T = T, self._temperature(u)
            sizes.append(max(float(np.abs(change).max()), float(np.abs(T - before).max())))
            if not np.isfinite(sizes[-1]):
                break
            if _has_converged(sizes, self._attainable(accuracy, T)):
                rate, released = np.where(solved, ties * (u - old) - earlier, 0.0), self._sources(inputs, T).sum()
                return NonlinearStage(inputs, u, rate, *self._heat(inputs, u, T, float(released))), operator
            step = max(0.5 * step, MIN_DAMPING) if sizes[-1] > sizes[-2] else min(1.0, 2.0 * step)
        self._state.solver_statistics.residuals = sizes[1:]
        when = f"the implicit step from t = {self._state.time:g} s, in {len(sizes) - 1} iterations,"
        raise NotConvergedError(when, sizes[1:])

    def _attainable(self, accuracy: float, T: np.ndarray) -> float:
        """The accuracy, K, that iterations are to reach: where a field grows, so do the errors that they leave. The
        greatest temperature and the greatest offset, K, say by how much rounding is off."""
        reference = self._coefficients.tables.reference
        size = max(float(np.abs(T).max()), float(np.abs(T + reference).max()))
        if self._growth_limit is None:
            return max(accuracy, MIN_ACCURACY * size)
        return max(accuracy * self._growth_limit.share_of_iterations, MIN_ACCURACY_OF_GROWTH * size)

    def _change(self, operator: Operator, missing: np.ndarray) -> np.ndarray:
        """The change of temperature that brings the missing heat, K."""
        if self._solver is None:
            self._solver = make_solver(operator, self._kernels)
        else:
            self._solver.approach(operator)
        found = self._solver.solve(missing, tolerance=SOLVER_RESIDUAL, max_iterations=MAX_SOLVER_ITERATIONS)
        self._state.solver_statistics.iterations += found.iterations
        if found.iterations > MAX_REUSE_ITERATIONS:
            self._solver = None
        return np.asarray(self._kernels.get(found.x))

    def _error(self, operator: Operator, stages: list[NonlinearStage]) -> float:
        difference = combine_rates(self.tableau.error_weights, stages, self.tableau.diagonal)
        return float(np.abs(self._change(operator, difference)[self._solved]).max())

    def _balanced(self, u: np.ndarray, heat: float) -> np.ndarray:
        """States that store this heat more than the present ones, J: each is moved by an equal share of its change in
        the step, so that nothing is where nothing was, or all alike if none has changed."""
        change = np.where(self._solved, np.abs(u - self._present.u), 0.0)
        if not change.any():
            change = self._solved.astype(float)
        stored = float((self._capacity * (u - self._present.u)).sum())
        return u + change * ((heat - stored) / float((self._capacity * change).sum()))


def _has_converged(sizes: list[float], accuracy: float) -> bool:
    """Whether changes yet to come, at the rate at which the last ones fell, are within the accuracy."""
    shrunk = sizes[-1] / sizes[-2] if sizes[-2] > 0 else 0.0
    yet = sizes[-1] * shrunk / (1.0 - shrunk) if 0.0 < shrunk < 1.0 else sizes[-1]
    return yet <= accuracy
