"""Gradients of steady states by one more solve with the same matrix (the adjoint).

A steady state is r(T, p) = 0, with r = sources + boundary faces - exchange, W in each cell, and -dr/dT = A, symmetric.
For a number J(T, p) that is affine in T, such as the mean temperature of a part,

    dJ/dp = dL/dp at the same T,    L = J + lambda . r,    A lambda = dJ/dT,

whatever p is. lambda is dJ/dq, what a watt released in each cell adds to J. dL/dp is a central difference, which takes
no solve. Source: M. B. Giles and N. A. Pierce, An introduction to the adjoint approach to design,
Flow, Turbulence and Combustion 65 (2000) 393.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heatsim.errors import NotConvergedError, RequestError, ScenarioError
from heatsim.integrators import make_field
from heatsim.integrators.balance import Balance, BalanceInputs
from heatsim.problem import Problem, build_problem
from heatsim.recorders.probes import is_on_a_face, problem_probe_weights
from heatsim.scenario import Scenario, find_temperature_dependence, load
from heatsim.scenario.boundary import FACES
from heatsim.scenario.sweep_axes import override_of
from heatsim.simulation.state import State
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.sweeps.runs import file_with_parameters

CHANGE = 1e-4  # of a parameter, to either side, for dL/dp: its square is the error
TOLERANCE, RESIDUAL = 1e-10, 1e-12  # of the steady state, and of the adjoint solve
ITERATIONS = 300

SharesOf = Callable[[Balance, BalanceInputs, np.ndarray], np.ndarray]  # what each cell has of a result, affine in T


@dataclass(frozen=True)
class Gradient:
    """The value of a result, in the scenario's unit or W; its derivatives by parameter, in this unit over that of the
    parameter; and (nz, ny, nx), K/W or 1, what a watt released in each cell would add to it."""

    value: float
    derivatives: dict[str, float]
    by_source: np.ndarray


def find_gradient(
    scenario: Path | str | Scenario, of: str, with_respect_to: Sequence[str], values: Mapping[str, float | str]
) -> Gradient:
    """The gradient of a result of a steady state: see `heatsim.gradient`."""
    path, overrides = file_with_parameters(scenario, values)
    base = _steady(path, overrides)
    problem = build_problem(base)
    state, share_of = State(problem, make_field(problem, "multigrid")), _shares_of(problem, of)
    simulate(state, [], Timings())
    balance = Balance(problem, state.field)
    inputs, T = balance.inputs(0.0), np.array(balance.values)
    balance.prepare(inputs, np.inf)
    weights = share_of(balance, inputs, np.ones_like(T)) - share_of(balance, inputs, np.zeros_like(T))
    found = balance.solve(weights, None, tolerance=RESIDUAL, accuracy=0.0, iterations=ITERATIONS)
    if not found.converged:
        raise NotConvergedError(f"the adjoint solver, in {found.iterations} iterations,", list(found.residuals))
    solved = problem.coefficients.spread_over_cells(problem.coefficients.capacity > 0)
    by_source = np.where(solved, found.x, 0.0)

    def lagrangian(name: str, value: float) -> float:
        other, given = _balance_of(path, [*overrides, override_of(name, value)], problem, T)
        flow = other.flow(given, T, other.exchange(T))
        return float(np.sum(share_of(other, given, T) + by_source * flow))

    derivatives = {}
    for name in with_respect_to:
        value = _number_of(base, name)
        change = CHANGE * (abs(value) or 1.0)
        derivatives[name] = (lagrangian(name, value + change) - lagrangian(name, value - change)) / (2.0 * change)
    value = float(np.sum(share_of(balance, inputs, T)))
    is_heat = any(each.name == of and each.subject.kind == "heat" for each in base.output.results)
    return Gradient(value if is_heat else problem.reference + value, derivatives, by_source)


def _steady(path: Path, overrides: Sequence[str]) -> Scenario:
    """The scenario as it is solved here; raises `ScenarioError` if it is not linear."""
    exact = ["time.integrator=steady", f"time.tolerance={TOLERANCE}", "compute.precision=float64", "compute.device=cpu"]
    scenario = load(path, [*overrides, *exact])
    key = find_temperature_dependence(scenario)
    if key is not None:
        message, hint = "expected nothing that depends on temperature", "gradients are those of linear problems"
        raise ScenarioError([scenario.issue_at(key, message, hint)])
    return scenario


def _shares_of(problem: Problem, of: str) -> SharesOf:
    """The result of a name; raises `RequestError` if it is not smooth or not known."""
    results = {each.name: each.subject for each in problem.scenario.output.results}
    if of not in results:
        raise RequestError(f"{of}: is no name of [[output.results]] (known here: {', '.join(results) or 'none'})")
    subject = results[of]
    if subject.kind in ("min", "max"):
        raise RequestError(
            f"{of}: expected mean(T, ...), probe(...) or heat(...), found {subject.kind}, which has kinks"
        )
    if subject.kind == "heat":
        ways = _ways_of(problem, str(subject.name))
        return lambda balance, inputs, T: np.asarray(balance.entering_cells(inputs, T, ways))
    weights = np.zeros(problem.grid.shape)
    if subject.kind == "mean":
        cells = problem.named_parts[subject.name]
        weights.reshape(-1)[cells.indices] = cells.volumes / cells.volumes.sum()
    else:
        probe = next(each for each in problem.scenario.output.probes if each.name == subject.name)
        if is_on_a_face(problem, probe.at):
            raise RequestError(f"{of}: its probe lies on a face of the box; put it half a cell inside")
        np.add.at(weights.reshape(-1), *problem_probe_weights(problem, probe.at))
    return lambda balance, inputs, T: weights * T


def _ways_of(problem: Problem, name: str) -> slice:
    """Where the boundary values of a face of the box stand, or that of an ambient."""
    coefficients, ambients = problem.coefficients, list(problem.scenario.ambients)
    ends = [*coefficients.boundary_offsets.tolist(), coefficients.boundary_size]
    if name in ambients:
        return slice(ends[-1] + ambients.index(name), ends[-1] + ambients.index(name) + 1)
    number = FACES.index(name)
    return slice(ends[number], ends[number + 1])


def _balance_of(path: Path, overrides: Sequence[str], base: Problem, T: np.ndarray) -> tuple[Balance, BalanceInputs]:
    """The heat balance of another scenario, and its inputs, at a field of the first."""
    problem = build_problem(_steady(path, overrides), base.reference)
    if problem.grid.shape != base.grid.shape:
        raise RequestError(f"{overrides[-1]}: changes the cells of the grid, which has no gradient")
    field = make_field(problem, "multigrid").field
    field.put_state(T)
    balance = Balance(problem, field)
    return balance, balance.inputs(0.0)


def _number_of(scenario: Scenario, name: str) -> float:
    """The value of a parameter, or of a key with dots; raises `RequestError` if it is no number."""
    found: Any = scenario
    for part in name.split(".") if "." in name else ("parameters", name):
        try:
            found = found[int(part)] if isinstance(found, (list, tuple)) else _entry(found, part)
        except (KeyError, AttributeError, IndexError, ValueError):
            raise RequestError(f"{name}: is no parameter and no key of the scenario") from None
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        raise RequestError(f"{name}: expected a number, found {found!r}")
    return float(found)


def _entry(table: Any, name: str) -> Any:
    return table[name] if isinstance(table, Mapping) else getattr(table, name)
