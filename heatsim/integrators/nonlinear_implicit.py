"""Implicit Runge-Kutta steps of a body that follows temperature, each stage by Newton's iterations on the enthalpy.

With d = a_ii and the rates F_j = G(t_j, T_j) of the earlier stages, stage i is solved for its state u_i:

    C (u_i - u)/(d dt) = sum over j < i of a_ij/d F_j + G(t_i, T(u_i))

An iteration freezes conductances and walls at T(u_i) (`frozen`), takes T(u) for a straight line there, solves for the
change of T, and adds the enthalpy that belongs to it: change/(dT/du). A cell that melts at one temperature has all but
no slope, so it takes up heat and stays as warm as it is. Where a line ends, the next iteration goes on along the next.
An iteration that does not come closer is halved. Swaminathan and Voller, Metallurgical Transactions B 23 (1992)
651-664; when to end: Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8.

Rates, errors and methods are those of `implicit`. What iterations leave is put right by a shift of all states at
the end of a step, so that cells store what has entered, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from heatsim_kernels.multigrid.solver import Solver
from heatsim_kernels.stencil.nonlinear import NONLINEAR_SWEEPS
from heatsim_kernels.stencil.pieces import deposits_of, heated

from heatsim.errors import NotConvergedError
from heatsim.integrators.frozen import frozen, outside, solver_kernels
from heatsim.integrators.implicit import combined
from heatsim.integrators.tableaus import TR_BDF2, Tableau

if TYPE_CHECKING:
    from heatsim_kernels.multigrid.operator import Operator
    from heatsim_kernels.stencil.nonlinear.terms import NonlinearDrive, NonlinearTerms

    from heatsim.integrators.enthalpy_field import EnthalpyField
    from heatsim.state import State

MOST_ITERATIONS = 40  # Newton's, of a stage
MOST_OF_A_SOLVE = 100  # the linear solver's, in each
SOLVED_TO = 1e-3  # residual of a linear solve: the next iteration mends what it leaves
WORN = 6  # iterations of a solve after which it is worth a preconditioner of its own
LEAST_SLOPE = 1e-6  # dT/du, in place of none
LEAST_ACCURACY = 1e-10  # of the temperatures
LEAST_STEP = 1 / 16


@dataclass(frozen=True)
class Attempt:
    """A step that was computed and not taken yet. error: the largest estimated error of a cell, K, or nan if it
    was not estimated; low, high: the least and greatest temperature; entered, released: J."""

    state: np.ndarray
    error: float
    low: float
    high: float
    entered: np.ndarray
    released: float


class Inputs(NamedTuple):
    """Walls at a time, and what sources release in each cell, W."""

    walls: NonlinearDrive
    sources: np.ndarray


class Stage(NamedTuple):
    """inputs at its time; u, K; rate: heat that flows into each cell, W; entering: through each face and from each
    ambient, W."""

    inputs: Inputs
    u: np.ndarray
    rate: np.ndarray
    entering: np.ndarray


class NonlinearImplicit:
    """Steps of one method on a state whose sweep is an `EnthalpyField`; linear problems are solved where its kernels
    are, all else on the host."""

    def __init__(self, state: State, tableau: Tableau = TR_BDF2) -> None:
        self._state, self.tableau = state, tableau
        self._held = cast("EnthalpyField", state.sweep)
        self._terms = terms = cast("NonlinearTerms", state.problem.terms)
        self._kernels = solver_kernels(self._held.name)
        self._material = terms.of_kinds(terms.material)
        self._capacity = np.broadcast_to(terms.of_kinds(terms.capacity), terms.shape)
        self._solved = self._capacity > 0
        self._walls = NONLINEAR_SWEEPS["cpu"](terms, np.dtype(np.float64))  # tells what enters at walls and ambients
        self._held.entered = np.zeros(terms.ledger_size)
        self._solver: Solver | None = None
        self._still: Inputs | None = None
        self._slope: np.ndarray | None = None  # of u over time, in the last step: what the next is guessed from
        self._present = self._look(self._inputs(state.time), np.array(self._held.sweep.field()))

    def attempt(self, dt: float, accuracy: float | None) -> Attempt:
        """Compute a step of `dt` s and estimate its error, its stages to about `accuracy` K; without an estimate, and
        as accurate as it gets, if that is None. The state stays.

        Raises `NotConvergedError` where the iterations do not get there.
        """
        tableau, present, slope = self.tableau, self._present, self._slope
        stages: list[Stage] = []
        for c, row in zip(tableau.c, tableau.a, strict=True):
            if row[-1] == 0.0:
                stages.append(present)
            else:
                guess = present.u if slope is None else present.u + c * dt * slope
                earlier = combined(row[:-1], stages, tableau.diagonal)
                stage, operator = self._stage(c * dt, earlier, guess, dt, accuracy or 0.0)
                stages.append(stage)
                slope = (stage.u - present.u) / (c * dt)
        error = nan if accuracy is None else self._error(operator, stages)
        weights = np.array(tableau.weights) * dt
        entered = weights @ np.array([stage.entering for stage in stages])
        released = float(weights @ np.array([stage.inputs.sources.sum() for stage in stages]))
        u = self._balanced(stages[-1].u, float(entered.sum()) + released)
        T = self._temperature(u)[self._solved]
        return Attempt(u, error, float(T.min()), float(T.max()), entered, released)

    def take(self, attempt: Attempt, time: float) -> None:
        """Make the attempted step the state of `time` s."""
        state, held = self._state, self._held
        elapsed = time - state.time
        self._slope = (attempt.state - self._present.u) / elapsed
        held.sweep.put(attempt.state)
        held.look(elapsed)
        held.entered = held.entered + attempt.entered
        state.source_energy += attempt.released
        state.time, state.step = time, state.step + 1
        self._present = self._look(self._inputs(time), attempt.state)

    def _inputs(self, time: float) -> Inputs:
        if self._still is not None:
            return self._still
        problem, shape = self._state.problem, self._terms.shape
        drive = cast("NonlinearDrive", problem.drive(np.array([time])))
        rates = heated(deposits_of(drive.deposits, 0), shape)
        if drive.heat_table is not None:
            rates = rates + self._terms.of_kinds(drive.heat_table[0])
        if drive.heat_field is not None:
            rates = rates + drive.heat_scale[0] * drive.heat_field
        walls = replace(drive, heat_table=None, heat_field=None, deposits=())
        inputs = Inputs(walls, self._capacity * rates)
        if not (problem.walls.varies or problem.heating.varies):
            self._still = inputs
        return inputs

    def _temperature(self, u: np.ndarray) -> np.ndarray:
        """Rises of temperature, K."""
        return self._terms.tables.temperature(u, self._material)

    def _look(self, inputs: Inputs, u: np.ndarray) -> Stage:
        flow = frozen(self._terms, u, self._temperature(u), inputs.walls).flow
        rate = np.where(self._solved, flow + inputs.sources, 0.0)
        return Stage(inputs, u, rate, self._entering(inputs, u))

    def _entering(self, inputs: Inputs, u: np.ndarray) -> np.ndarray:
        """Heat that enters through each face and from each ambient, W: that of an explicit step of a second."""
        before = self._walls.heat_entered()
        self._walls.put(u)
        self._walls.advance(1.0, 1, inputs.walls)  # type: ignore[arg-type]
        return np.asarray(self._walls.heat_entered() - before)

    def _stage(
        self, elapsed: float, earlier: np.ndarray | float, guess: np.ndarray, dt: float, accuracy: float
    ) -> tuple[Stage, Operator]:
        """A stage so long after the present, and the operator that its last iteration was solved with; `earlier`: what
        the stages before it add, W."""
        terms, solved, old = self._terms, self._solved, self._present.u
        inputs, ties = self._inputs(self._state.time + elapsed), self._capacity / (self.tableau.diagonal * dt)
        u, step, sizes = np.where(solved, guess, old), 1.0, [np.inf]
        T = self._temperature(u)
        for _ in range(MOST_ITERATIONS):
            operator, _, flow = frozen(terms, u, T, inputs.walls)
            slope = np.maximum(terms.tables.slope(u, self._material), LEAST_SLOPE)
            missing = np.where(solved, earlier + inputs.sources + flow - ties * (u - old), 0.0)
            operator = replace(operator, s=outside(operator.s + ties / slope, solved))
            change = np.where(solved, self._change(operator, missing), 0.0)
            u = u + step * change / slope
            before, T = T, self._temperature(u)
            sizes.append(max(float(np.abs(change).max()), float(np.abs(T - before).max())))
            if not np.isfinite(sizes[-1]):
                break
            if _settled(sizes, max(accuracy, LEAST_ACCURACY * float(np.abs(T).max()))):
                rate = np.where(solved, ties * (u - old) - earlier, 0.0)
                return Stage(inputs, u, rate, self._entering(inputs, u)), operator
            step = max(0.5 * step, LEAST_STEP) if sizes[-1] > sizes[-2] else min(1.0, 2.0 * step)
        self._state.effort.residuals = sizes[1:]
        when = f"the implicit step from t = {self._state.time:g} s, in {len(sizes) - 1} iterations,"
        raise NotConvergedError(when, sizes[1:])

    def _change(self, operator: Operator, missing: np.ndarray) -> np.ndarray:
        """The change of temperature that brings the missing heat, K."""
        if self._solver is None:
            self._solver = Solver(operator, self._kernels)
        self._solver.approach(operator)
        found = self._solver.solve(missing, tolerance=SOLVED_TO, max_iterations=MOST_OF_A_SOLVE)
        self._state.effort.iterations += found.iterations
        if found.iterations > WORN:
            self._solver = None
        return np.asarray(self._kernels.get(found.x))

    def _error(self, operator: Operator, stages: list[Stage]) -> float:
        difference = combined(self.tableau.error_weights, stages, self.tableau.diagonal)
        return float(np.abs(self._change(operator, difference)[self._solved]).max())

    def _balanced(self, u: np.ndarray, heat: float) -> np.ndarray:
        """States shifted alike, so that they store this heat more than the present ones, J."""
        stored = float((self._capacity * (u - self._present.u)).sum())
        return u + np.where(self._solved, (heat - stored) / float(self._capacity.sum()), 0.0)


def _settled(sizes: list[float], accuracy: float) -> bool:
    """Whether changes yet to come, at the rate at which the last ones fell, are within the accuracy."""
    shrunk = sizes[-1] / sizes[-2] if sizes[-2] > 0 else 0.0
    yet = sizes[-1] * shrunk / (1.0 - shrunk) if 0.0 < shrunk < 1.0 else sizes[-1]
    return yet <= accuracy
