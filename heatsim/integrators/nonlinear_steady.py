"""The steady state of a body that depends on temperature, by Picard's iterations.

Materials and faces are frozen at the temperatures there are (`linearised`: between cells the conductance that gives the
heat which flows, at boundary faces the tangent), the linear problem is solved by multigrid, and so on until nothing
changes. A step that does not shrink the change is halved. Patankar, Numerical Heat Transfer and Fluid Flow, 1980,
sections 4.2-3 and 4.2-5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from heatsim_kernels.multigrid.operator import Operator
from heatsim_kernels.stencil.coefficients import FACES

from heatsim.errors import NotConvergedError, NotFiniteError
from heatsim.integrators import linearised
from heatsim.integrators.balance import solver_kernels
from heatsim.ranks.solver import make_solver

if TYPE_CHECKING:
    from heatsim_kernels.enthalpy.coefficients import NonlinearForcing

    from heatsim.simulation.state import State

MAX_ITERATIONS = 200  # Picard's
TOLERANCE_SHARE = 0.1  # of the tolerance that the last change may be, for changes yet to come
MAX_IMBALANCE = 1e-11  # of the heat that passes boundary faces and sources: what may be missing in the ledger
ROUNDING = 1e-14  # of the temperatures: changes below are none
MIN_DAMPING = 1 / 16
MAX_MEAN_CHANGE_K = (
    1000.0  # K by which an iteration may move the mean: where a coefficient vanishes, nothing else holds it
)


class LinearisedBalance(NamedTuple):
    """A frozen body as an operator, the heat that is missing in each cell (W), and in all of them as a share of what
    passes boundary faces and sources."""

    operator: Operator
    missing: np.ndarray
    imbalance: float


def solve(state: State, tolerance: float) -> Iterator[None]:
    """Bring the state to its limit, to `tolerance` times the range of its temperatures; yields as it goes.

    The linear problems are solved on the device of the scenario's kernel, all else on the host. The time is then
    infinite, and heat entered and sources are in W. `Effort.residuals` gets the largest change of each iteration over
    the range. Raises `NotConvergedError`; the state then holds the last iterate.
    """
    problem, kernels = state.problem, solver_kernels(state.solver_device)
    coefficients, forcing = linearised.nonlinear_coefficients(problem), linearised.nonlinear_forcing(problem, 0.0)
    u, material = np.array(state.field.state()), coefficients.spread_over_cells(coefficients.material)
    solved = np.broadcast_to(coefficients.spread_over_cells(coefficients.capacity) > 0, coefficients.shape)
    history, step, before, done = state.solver_statistics.residuals, 1.0, np.inf, False
    balance = _balance(state, u, forcing, solved)
    while not done and len(history) < MAX_ITERATIONS:
        found = make_solver(balance.operator, kernels).solve(
            balance.missing, tolerance=linearised.SOLVER_RESIDUAL, max_iterations=linearised.MAX_SOLVER_ITERATIONS
        )
        change = np.where(solved, np.asarray(kernels.get(found.x)), 0.0)
        largest = float(np.abs(change).max())
        if not np.isfinite(largest):
            raise NotFiniteError("the steady state is not finite: a source or boundary value is too large")
        step = max(0.5 * step, MIN_DAMPING) if largest > before else min(1.0, 2.0 * step)
        T = coefficients.tables.temperature(u, material) + step * change
        u, before = coefficients.tables.state_of(T, material), largest
        extent = float(np.ptp(T)) or 1.0
        balance = _balance(state, u, forcing, solved)
        history.append(largest / extent)
        state.solver_statistics.iterations += found.iterations
        settled = largest <= ROUNDING * float(np.abs(T).max())
        done = settled or (largest <= TOLERANCE_SHARE * tolerance * extent and balance.imbalance <= MAX_IMBALANCE)
        yield
    _finish(state, u, forcing)
    if not done:
        raise NotConvergedError(f"the steady solver, in {len(history)} iterations,", history)


def _balance(state: State, u: np.ndarray, forcing: NonlinearForcing, solved: np.ndarray) -> LinearisedBalance:
    problem, coefficients = state.problem, linearised.nonlinear_coefficients(state.problem)
    T = coefficients.tables.temperature(u, coefficients.spread_over_cells(coefficients.material))
    operator, passing, flow = linearised.linearise_problem(problem, u, T, forcing, 0.0)
    if problem.temperature_sources is not None:
        power = problem.temperature_sources.power(T + problem.reference, 0.0)
        slope = problem.temperature_sources.slope(T + problem.reference, 0.0)
        passing, flow = passing + power, flow + power
        operator = replace(operator, s=linearised.damped_coupling(operator.s, slope))
    ties = operator.s + _extra_coupling(float(operator.s[solved].sum()), float(flow[solved].sum())) / solved.sum()
    scale = float(np.abs(passing[solved]).sum()) or 1.0
    imbalance = abs(float(passing[solved].sum())) / scale
    return LinearisedBalance(
        replace(operator, s=linearised.diagonal_coupling(ties, solved)), np.where(solved, flow, 0.0), imbalance
    )


def _extra_coupling(tied: float, missing: float) -> float:
    """What to add to the ties of a body to its surroundings, W/K, so that missing heat, W, moves it no further than
    FARTHEST: nothing where it is tied well, or close to its steady state. Where that is, does not depend on it."""
    needed = abs(missing) / MAX_MEAN_CHANGE_K
    return max(0.0, needed - tied) if tied + needed > 0 else 1.0


def _finish(state: State, u: np.ndarray, forcing: NonlinearForcing) -> None:
    """Leave u in the state, with a ledger in W."""
    problem = state.problem
    state.field.put_state(u)
    state.entered[:] = linearised.EnteringHeat(linearised.nonlinear_coefficients(problem)).at(u, forcing)
    state.source_energy = 0.0
    if forcing.heat_table is not None:
        state.source_energy += float(
            forcing.heat_table[0] @ (problem.coefficients.capacity * problem.cell_classes.count)
        )
    if forcing.heat_field is not None:
        state.source_energy += float(forcing.heat_scale[0]) * problem.volume_sources.field_power()
    if problem.temperature_sources is not None:
        coefficients = linearised.nonlinear_coefficients(problem)
        T = coefficients.tables.temperature(u, coefficients.spread_over_cells(coefficients.material))
        state.source_energy += float(problem.temperature_sources.power(T + problem.reference, 0.0).sum())
        state.source_energy, from_ambients = problem.share_out(state.source_energy, T, 0.0)
        state.entered[len(FACES) :] += from_ambients
    state.time, state.step = np.inf, 1
