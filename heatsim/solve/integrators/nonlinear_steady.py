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
from heatsim_kernels.explicit.coefficients import FACES
from heatsim_kernels.solver.operator import Operator

from heatsim.errors import NotConvergedError, NotFiniteError
from heatsim.solve.integrators import linearised
from heatsim.solve.integrators.balance import solver_kernels
from heatsim.solve.integrators.steady_existence import DivergenceWatch, growing_mode, require_stable
from heatsim.solve.ranks.solver import make_solver

if TYPE_CHECKING:
    from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearForcing
    from heatsim_kernels.solver.operator import MultigridKernels

    from heatsim.solve.state import State

MAX_ITERATIONS = 200  # Picard's
TOLERANCE_SHARE = 0.1  # of the tolerance that the last change may be, for changes yet to come
MAX_IMBALANCE = 1e-11  # of the heat that passes boundary faces and sources: what may be missing in the ledger
ROUNDINGS = 32.0  # of the terms of a cell's balance, which may be missing whatever the iterations do
ROUNDING = 1e-12  # of the temperatures: changes below are none
STALLED = 8  # iterations in which changes no longer shrink by half: they are rounding if they are within the tolerance
STALLED_IMBALANCE = 1e-7  # that changes of this sort may leave
NO_BALANCE = 0.1  # of the heat that passes: where so much is missing at the end there is no steady state
MIN_DAMPING = 1 / 16
MAX_RETRIES, RETRY_SHARE = 8, 0.25  # of a change that leads to where a power is no finite number
# By which an iteration may move the mean, K, or its temperature if that is more: where a coefficient vanishes, nothing
# else holds it.
MAX_MEAN_CHANGE_K = 1000.0


class LinearisedBalance(NamedTuple):
    """A frozen body as an operator, the heat that is missing in each cell (W), and in all of them as a share of what
    passes boundary faces and sources; the share that rounding explains; whether ties were added, which no face has, so
    that a body that is hardly tied moves by a limited change.

    newton: the operator with the whole slope of the sources, where `operator`, which solvers take in any case, has less
    of it; else None. tied, growth: the operator without what of that slope is positive, and this, W/K; None where no
    source grows with temperature."""

    operator: Operator
    missing: np.ndarray
    imbalance: float
    rounding: float
    limited: bool
    newton: Operator | None = None
    tied: Operator | None = None
    growth: np.ndarray | None = None


def solve(state: State, tolerance: float) -> Iterator[None]:
    """Bring the state to its limit, to `tolerance` times the range of its temperatures; yields as it goes.

    The linear problems are solved on the device of the scenario's kernel, all else on the host. The time is then
    infinite, and heat entered and sources are in W. `solver_statistics.residuals` gets the largest change of each
    iteration over the range. Raises `NotConvergedError`, the state then holds the last iterate; and
    `NoSteadyStateError`.
    """
    problem, kernels = state.problem, solver_kernels(state.solver_device)
    coefficients, forcing = linearised.nonlinear_coefficients(problem), linearised.nonlinear_forcing(problem, 0.0)
    u, material = np.array(state.field.state()), coefficients.spread_over_cells(coefficients.material)
    solved = np.broadcast_to(coefficients.spread_over_cells(coefficients.capacity) > 0, coefficients.shape)
    history, step, before, done = state.solver_statistics.residuals, 1.0, np.inf, False
    T, watch = coefficients.tables.temperature(u, material), DivergenceWatch(problem, solved)
    smallest, stalled = np.inf, 0
    with watch.naming_runaways():
        balance = _balance(state, u, forcing, solved)
    watch.look(T, balance.imbalance, float(balance.missing.sum()))
    while not done and len(history) < MAX_ITERATIONS:
        found, iterations = _change(balance, kernels)
        change = np.where(solved, found, 0.0)
        largest = float(np.abs(change).max())
        if not np.isfinite(largest):
            if balance.growth is not None:
                raise watch.error()
            raise NotFiniteError("the steady state is not finite: a source or boundary value is too large")
        shrinks = balance.limited or largest <= before
        step = min(1.0, 2.0 * step) if shrinks else max(0.5 * step, MIN_DAMPING)
        start, before = coefficients.tables.temperature(u, material), largest
        for retry in range(MAX_RETRIES + 1):  # where a power is no finite number the state lies short of that
            T = start + step * change
            u = coefficients.tables.state_of(T, material)
            with watch.naming_runaways(expected=retry < MAX_RETRIES):
                balance = _balance(state, u, forcing, solved)
                break
            step *= RETRY_SHARE
        extent = float(np.ptp(T)) or 1.0
        watch.look(T, balance.imbalance, float(balance.missing.sum()))
        history.append(largest / extent)
        state.solver_statistics.iterations += iterations
        smallest, stalled = (largest, 0) if largest < 0.5 * smallest else (smallest, stalled + 1)
        least = ROUNDING * (float(np.abs(T).max()) + abs(problem.reference - problem.scenario.zero))
        accuracy = max(TOLERANCE_SHARE * tolerance * extent, least)
        done = largest <= accuracy and balance.imbalance <= max(MAX_IMBALANCE, balance.rounding)
        if stalled >= STALLED and largest <= accuracy / TOLERANCE_SHARE:
            done = balance.imbalance <= max(STALLED_IMBALANCE, balance.rounding)
        yield
    if not done and (balance.imbalance > NO_BALANCE or _runs_away(balance, kernels)):
        raise watch.error()
    if done and balance.growth is not None:
        assert balance.tied is not None

        def missing(change: np.ndarray) -> np.ndarray:
            return _balance(state, coefficients.tables.state_of(T + change, material), forcing, solved).missing

        require_stable(balance.tied, balance.growth, kernels, missing)
    _finish(state, u, forcing)
    if not done:
        raise NotConvergedError(f"the steady solver, in {len(history)} iterations,", history)


def _runs_away(balance: LinearisedBalance, kernels: MultigridKernels) -> bool:
    """Whether a body gets hotter still, though its sources grow faster with temperature than what leaves it."""
    if balance.growth is None or balance.tied is None or float(balance.missing.sum()) <= 0:
        return False
    return growing_mode(balance.tied, balance.growth, kernels) is not None


def _change(balance: LinearisedBalance, kernels: MultigridKernels) -> tuple[np.ndarray, int]:
    """The change of temperature that brings the missing heat, K, and how many iterations of the linear solver it took.

    With the whole slope of the sources where that has a solution that the conjugate gradients find: beside a stable
    state it has one. Elsewhere with as much of the slope as leaves the cells tied.
    """
    solver, iterations = make_solver(balance.operator, kernels), 0
    for operator in (balance.newton, balance.operator):
        if operator is None or not operator.grounded:
            continue
        if balance.newton is not None:
            solver.approach(operator)
        found = solver.solve(
            balance.missing, tolerance=linearised.SOLVER_RESIDUAL, max_iterations=linearised.MAX_SOLVER_ITERATIONS
        )
        iterations += found.iterations
        if found.converged:
            break
    return np.asarray(kernels.get(found.x)), iterations


def _balance(state: State, u: np.ndarray, forcing: NonlinearForcing, solved: np.ndarray) -> LinearisedBalance:
    problem, coefficients = state.problem, linearised.nonlinear_coefficients(state.problem)
    T = coefficients.tables.temperature(u, coefficients.spread_over_cells(coefficients.material))
    operator, passing, flow = linearised.linearise_problem(problem, u, T, forcing, 0.0)
    ties, slope = operator.s, np.zeros(())
    following, released = problem.temperature_sources, _released(state, forcing)
    scale = float(np.abs(passing - released)[solved].sum() + np.abs(released)[solved].sum())
    if following is not None:
        power = following.power(T + problem.reference, 0.0)
        slope = following.slope(T + problem.reference, 0.0)
        passing, flow = passing + power, flow + power
        operator = replace(operator, s=linearised.damped_coupling(ties, slope))
        from_ambients = following.of_ambients(T + problem.reference, 0.0)
        scale += float(np.abs(power).sum()) + (0.0 if from_ambients is None else float(np.abs(from_ambients).sum()))
    scale = scale or 1.0
    held = np.abs(T) + np.abs(u) + abs(problem.reference - problem.scenario.zero)
    lost = float(((ties + np.abs(slope)) * held + np.abs(passing))[solved].sum())
    largest = max(MAX_MEAN_CHANGE_K, abs(float(T[solved].mean()) + problem.reference - problem.scenario.zero))
    extra = _extra_coupling(float(operator.s[solved].sum()), float(flow[solved].sum()), largest) / solved.sum()
    balance = LinearisedBalance(
        replace(operator, s=linearised.diagonal_coupling(operator.s + extra, solved)),
        np.where(solved, flow, 0.0),
        abs(float(passing[solved].sum())) / scale,
        ROUNDINGS * float(np.finfo(float).eps) * lost / scale,
        extra > 0,
    )
    if not (slope > 0).any():
        return balance
    weak, outside = linearised.WEAK_COUPLING * float(operator.s[solved].mean()), ties - slope + extra
    return balance._replace(
        newton=replace(operator, s=np.where(solved, outside, weak)),
        tied=replace(operator, s=np.where(solved, ties - np.minimum(slope, 0.0), weak)),
        growth=np.where(solved, np.maximum(slope, 0.0), 0.0),
    )


def _released(state: State, forcing: NonlinearForcing) -> np.ndarray:
    """(nz, ny, nx) what sources release that do not depend on temperature, W."""
    coefficients, rates = linearised.nonlinear_coefficients(state.problem), np.zeros(())
    if forcing.heat_table is not None:
        rates = rates + coefficients.spread_over_cells(forcing.heat_table[0])
    if forcing.heat_field is not None:
        rates = rates + forcing.heat_scale[0] * forcing.heat_field
    return np.broadcast_to(coefficients.spread_over_cells(coefficients.capacity) * rates, coefficients.shape)


def _extra_coupling(tied: float, missing: float, largest: float) -> float:
    """What to add to the ties of a body to its surroundings, W/K, so that missing heat, W, moves it no further than
    `largest`, K: nothing where it is tied well, or close to its steady state. Where that is, does not depend on it."""
    needed = abs(missing) / largest
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
        state.source_energy, from_ambients = problem.split_power(state.source_energy, T, 0.0)
        state.entered[len(FACES) :] += from_ambients
    state.time, state.step = np.inf, 1
