"""Gradients of steady states by one more solve with the same matrix (the adjoint).

A steady state is r(T, p) = 0, with r = sources + boundary faces - exchange, W in each cell, and -dr/dT = A, symmetric.
For a number J = w . T, such as the mean temperature of a part,

    dJ/dp = lambda . dr/dp,    A lambda = w,

whatever p is. lambda is dJ/dq, what a watt released in each cell adds to J. dr/dp is a central difference of r at the
same T, which takes no solve. Source: M. B. Giles and N. A. Pierce, An introduction to the adjoint approach to design,
Flow, Turbulence and Combustion 65 (2000) 393.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heatsim.errors import NotConvergedError, RequestError, ScenarioError
from heatsim.integrators import make_field
from heatsim.integrators.balance import Balance
from heatsim.problem import Problem, build_problem
from heatsim.recorders.probes import is_on_a_face, problem_probe_weights
from heatsim.scenario import Scenario, find_temperature_dependence, load
from heatsim.scenario.sweep_axes import override_of
from heatsim.simulation.state import State
from heatsim.simulation.time_loop import Timings, simulate

CHANGE = 1e-4  # of a parameter, to either side, for dr/dp: its square is the error
TOLERANCE, RESIDUAL = 1e-10, 1e-12  # of the steady state, and of the adjoint solve
ITERATIONS = 300


@dataclass(frozen=True)
class Gradient:
    """The value of a result, in the scenario's unit; its derivatives by parameter, in this unit over that of the
    parameter; and (nz, ny, nx) K/W what a watt released in each cell would add to it."""

    value: float
    derivatives: dict[str, float]
    by_source: np.ndarray


def find_gradient(
    scenario: Path | str | Scenario, of: str, with_respect_to: Sequence[str], values: Mapping[str, float | str]
) -> Gradient:
    """The gradient of a result of a steady state: see `heatsim.gradient`."""
    path = scenario.path if isinstance(scenario, Scenario) else Path(scenario)
    if path is None:
        raise RequestError("a scenario from a text has no parameters left: name its file")
    overrides = [override_of(name, value) for name, value in values.items()]
    base = _steady(path, overrides)
    problem = build_problem(base)
    weights = _weights_of(problem, of)
    state = State(problem, make_field(problem, "multigrid"))
    simulate(state, [], Timings())
    balance = Balance(problem, state.field)
    inputs, T = balance.inputs(0.0), np.array(balance.values)
    balance.prepare(inputs, np.inf)
    found = balance.solve(weights, None, tolerance=RESIDUAL, accuracy=0.0, iterations=ITERATIONS)
    if not found.converged:
        raise NotConvergedError(f"the adjoint solver, in {found.iterations} iterations,", list(found.residuals))
    solved = problem.coefficients.spread_over_cells(problem.coefficients.capacity > 0)
    by_source = np.where(solved, found.x, 0.0)
    derivatives = {}
    for name in with_respect_to:
        value = _number_of(base, name)
        change = CHANGE * (abs(value) or 1.0)
        ends = [
            _flow(path, [*overrides, override_of(name, end)], problem, T) for end in (value - change, value + change)
        ]
        derivatives[name] = float(np.sum(by_source * (ends[1] - ends[0])) / (2.0 * change))
    return Gradient(problem.reference + float(np.sum(weights * T)), derivatives, by_source)


def _steady(path: Path, overrides: Sequence[str]) -> Scenario:
    """The scenario as it is solved here; raises `ScenarioError` if it is not linear."""
    exact = ["time.integrator=steady", f"time.tolerance={TOLERANCE}", "compute.precision=float64", "compute.device=cpu"]
    scenario = load(path, [*overrides, *exact])
    key = find_temperature_dependence(scenario)
    if key is not None:
        message, hint = "expected nothing that depends on temperature", "gradients are those of linear problems"
        raise ScenarioError([scenario.issue_at(key, message, hint)])
    return scenario


def _weights_of(problem: Problem, of: str) -> np.ndarray:
    """(nz, ny, nx) w of the result of a name; raises `RequestError` if it is no mean and no probe inside."""
    results = {each.name: each.subject for each in problem.scenario.output.results}
    if of not in results:
        known = ", ".join(results) or "none"
        raise RequestError(f"{of}: is no name of [[output.results]] (known here: {known})")
    subject, weights = results[of], np.zeros(problem.grid.shape)
    if subject.kind == "mean":
        cells = problem.named_parts[subject.name]
        weights.reshape(-1)[cells.indices] = cells.volumes / cells.volumes.sum()
    elif subject.kind == "probe":
        probe = next(each for each in problem.scenario.output.probes if each.name == subject.name)
        if is_on_a_face(problem, probe.at):
            raise RequestError(f"{of}: its probe lies on a face of the box; put it half a cell inside")
        np.add.at(weights.reshape(-1), *problem_probe_weights(problem, probe.at))
    else:
        raise RequestError(
            f"{of}: expected mean(T, ...) or probe(...), found {subject.kind}, which has no gradient here"
        )
    return weights


def _flow(path: Path, overrides: Sequence[str], base: Problem, T: np.ndarray) -> np.ndarray:
    """r of another scenario, W, at a field of the first."""
    problem = build_problem(_steady(path, overrides), base.reference)
    if problem.grid.shape != base.grid.shape:
        raise RequestError(f"{overrides[-1]}: changes the cells of the grid, which has no gradient")
    field = make_field(problem, "multigrid").field
    field.put_state(T)
    balance = Balance(problem, field)
    return np.asarray(balance.flow(balance.inputs(0.0), T, balance.exchange(T)))


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
