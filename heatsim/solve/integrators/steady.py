"""The steady state: the limit in which no cell gains heat, solved for directly by multigrid.

A T = sources + boundary faces is solved for a correction of the state there is, and again for a correction of that
(iterative refinement), until another cycle would change no cell by more than the tolerance. The ledger is one of rates,
in W.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from heatsim.base import methods
from heatsim.errors import NotConvergedError, NotFiniteError
from heatsim.solve.integrators.integrator import Integrator, StepControl, StepsBetweenEvents, solver_rows

if TYPE_CHECKING:
    from heatsim.solve.integrators.balance import Balance, BalanceInputs, Values
    from heatsim.solve.state import State

MAX_ITERATIONS = 300
ITERATIONS_A_CYCLE = 20  # iterations between looks at the range of temperatures, and at the clock
FIRST_RESIDUAL = 1e-3  # enough to know the range
TOLERANCE_SHARE = 0.1  # of the tolerance that the last correction of a cycle may be
ROUNDING = 1e-14  # of the temperatures: corrections below are none

TYPICAL_ITERATIONS = 15  # of the whole solve; strong contrasts, and flat cells, take up to ten times as many
TIMED_ITERATIONS = 8
LAST_RESIDUAL = 1e-6  # relative, where solves end about
TIMED_TOLERANCE = 1e-10  # of a solve that is timed: it does not end before


def solve(state: State, tolerance: float) -> Iterator[None]:
    """Bring the state to its limit, to `tolerance` times the range of its temperatures; yields as it goes.

    The time is then infinite, and `State.entered` and `State.source_energy` are in W. Raises
    `NotConvergedError`; the state then holds the last iterate.
    """
    from heatsim.solve.integrators.balance import Balance, by_parts

    balance = Balance(state.problem, state.field)
    inputs, T = balance.inputs(0.0), balance.values
    balance.prepare(inputs, np.inf)
    nothing = by_parts(lambda T: 0.0 * T, T)
    driving = balance.norm(balance.flow(inputs, nothing, nothing))
    history = state.solver_statistics.residuals
    accuracy, done, stuck = 0.0, False, False
    while not (done or stuck) and state.solver_statistics.iterations < MAX_ITERATIONS:
        flow = balance.flow(inputs, T, balance.exchange(T))
        residual = 0.0 if accuracy else FIRST_RESIDUAL
        found = balance.solve(flow, None, tolerance=residual, accuracy=accuracy, iterations=ITERATIONS_A_CYCLE)
        if not np.isfinite(sum(balance.extent(found.x))):
            raise NotFiniteError("the steady state is not finite: a source or boundary value is too large")
        balance.assign(by_parts(lambda T, x: T + x, T, found.x))
        norm = balance.norm(flow)
        driving = driving or norm or 1.0
        history += [each * norm / driving for each in found.residuals]
        state.solver_statistics.iterations += found.iterations
        done = found.converged and accuracy > 0.0
        if done or not found.converged:
            done = _balances_islands(balance, inputs, T, accuracy) and done
        stuck = not found.converged and found.iterations == 0  # a matrix so close to singular that rounding hides it
        accuracy = _accuracy(*balance.extent(T), tolerance)
        yield
    state.entered[:] = balance.entering(inputs, T)
    state.source_energy = inputs.power
    state.time, state.step = np.inf, 1
    if not done:
        raise NotConvergedError(f"the steady solver, in {state.solver_statistics.iterations} iterations,", history)


def _balances_islands(balance: Balance, inputs: BalanceInputs, T: Values, accuracy: float) -> bool:
    """Give islands that are off by more than `accuracy` K their own balance; returns whether none was."""
    change = balance.island_corrections(balance.flow(inputs, T, balance.exchange(T)))
    if change is None:
        return True
    low, high = balance.extent(change)
    if max(-low, high) <= accuracy:
        return True
    balance.assign(T + change)
    return False


def _accuracy(low: float, high: float, tolerance: float) -> float:
    return max(TOLERANCE_SHARE * tolerance * (high - low), ROUNDING * max(abs(low), abs(high)), np.finfo(float).tiny)


def seconds_of_solves(state: State, time_step: float, iterations: int) -> float:
    """Seconds that so many iterations of the linear solver will take, for steps of `time_step` s, from one short solve
    on a state that is thrown away."""
    if state.problem.temperature_dependent:
        return _seconds_of_linearisations(state)
    from heatsim.solve.integrators.balance import Balance

    balance = Balance(state.problem, state.field)
    balance.prepare(balance.inputs(0.0), time_step)
    seconds, _ = _time_solve(balance, 0.0 * balance.values + 1.0, 3)
    return seconds * iterations


def _time_solve(balance: Balance, rhs: np.ndarray, iterations: int) -> tuple[float, Sequence[float]]:
    """Seconds of an iteration of a short solve, and its relative residuals."""
    balance.solve(rhs, None, tolerance=0.0, accuracy=0.0, iterations=1)  # compiles
    begun = time.perf_counter()
    found = balance.solve(rhs, None, tolerance=0.0, accuracy=0.0, iterations=iterations)
    return (time.perf_counter() - begun) / max(found.iterations, 1), found.residuals


def _seconds_of_linearisations(state: State) -> float:
    """Those of a steady state in which something depends on temperature, from its second iteration."""
    from heatsim.solve.integrators import nonlinear_steady

    found = nonlinear_steady.solve(state, TIMED_TOLERANCE)
    next(found)  # compiles
    begun = time.perf_counter()
    next(found, None)
    return (time.perf_counter() - begun) * TYPICAL_ITERATIONS


def _start(state: State) -> StepControl:
    tolerance = state.problem.scenario.time.tolerance or methods.STEADY_TOLERANCE
    if state.problem.temperature_dependent:
        from heatsim.solve.integrators import nonlinear_steady

        return StepsBetweenEvents(lambda target: nonlinear_steady.solve(state, tolerance))
    return StepsBetweenEvents(lambda target: solve(state, tolerance))


def _measure(state: State, dt: float) -> float:
    """Seconds of the whole solve, whatever the step, from how fast its first iterations converge, on a state that is
    thrown away."""
    if state.problem.temperature_dependent:
        return _seconds_of_linearisations(state)
    from heatsim.solve.integrators.balance import Balance

    balance = Balance(state.problem, state.field)
    inputs, T = balance.inputs(0.0), balance.values
    balance.prepare(inputs, np.inf)
    seconds, residuals = _time_solve(balance, balance.flow(inputs, T, balance.exchange(T)), TIMED_ITERATIONS)
    return seconds * foreseen_iterations(residuals)


def foreseen_iterations(residuals: Sequence[float]) -> float:
    """How many iterations a solve will take whose first relative residuals these are: they go on to fall as they fell
    but for the first two. `TYPICAL_ITERATIONS` where they tell nothing."""
    fell = residuals[2:]
    if len(fell) < 2 or not 0.0 < fell[-1] < fell[0]:
        return TYPICAL_ITERATIONS
    rate = np.log(fell[-1] / fell[0]) / (len(fell) - 1)
    more = np.log(min(LAST_RESIDUAL / fell[-1], 1.0)) / rate
    return float(min(len(residuals) - 1 + more, MAX_ITERATIONS))


STEADY = Integrator(
    methods.STEADY,
    start=_start,
    measure=_measure,
    report=solver_rows,
)
