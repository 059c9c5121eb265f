"""The steady state: the limit in which no cell gains heat, solved for directly by multigrid.

A T = sources + walls is solved for a correction of the state there is, and again for a correction of that (iterative
refinement), until another cycle would change no cell by more than the tolerance. The ledger is one of rates, in W.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from heatsim.errors import NotConvergedError, NotFiniteError
from heatsim.integrators.balance import Balance

if TYPE_CHECKING:
    from heatsim.simulation.state import State

MAX_ITERATIONS = 300
ITERATIONS_A_CYCLE = 20  # iterations between looks at the range of temperatures, and at the clock
FIRST_RESIDUAL = 1e-3  # enough to know the range
TOLERANCE_SHARE = 0.1  # of the tolerance that the last correction of a cycle may be
ROUNDING = 1e-14  # of the temperatures: corrections below are none


def solve(state: State, tolerance: float) -> Iterator[None]:
    """Bring the state to its limit, to `tolerance` times the range of its temperatures; yields as it goes.

    The time is then infinite, and `State.entered` and `State.source_energy` are in W. Raises
    `NotConvergedError`; the state then holds the last iterate.
    """
    balance = Balance(state.problem, state.field)
    inputs, T = balance.inputs(0.0), balance.values
    balance.prepare(inputs, np.inf)
    driving = balance.norm(balance.flow(inputs, 0.0 * T, 0.0 * T))
    history = state.solver_statistics.residuals
    accuracy, done, stuck = 0.0, False, False
    while not (done or stuck) and state.solver_statistics.iterations < MAX_ITERATIONS:
        flow = balance.flow(inputs, T, balance.exchange(T))
        residual = 0.0 if accuracy else FIRST_RESIDUAL
        found = balance.solve(flow, None, tolerance=residual, accuracy=accuracy, iterations=ITERATIONS_A_CYCLE)
        if not np.isfinite(sum(balance.extent(found.x))):
            raise NotFiniteError("the steady state is not finite: a source or boundary value is too large")
        balance.assign(T + found.x)
        norm = balance.norm(flow)
        driving = driving or norm or 1.0
        history += [each * norm / driving for each in found.residuals]
        state.solver_statistics.iterations += found.iterations
        done = found.converged and accuracy > 0.0
        stuck = not found.converged and found.iterations == 0  # a matrix so close to singular that rounding hides it
        accuracy = _accuracy(*balance.extent(T), tolerance)
        yield
    state.entered[:] = balance.entering(inputs, T)
    state.source_energy = inputs.power
    state.time, state.step = np.inf, 1
    if not done:
        raise NotConvergedError(f"the steady solver, in {state.solver_statistics.iterations} iterations,", history)


def _accuracy(low: float, high: float, tolerance: float) -> float:
    return max(TOLERANCE_SHARE * tolerance * (high - low), ROUNDING * max(abs(low), abs(high)), np.finfo(float).tiny)
