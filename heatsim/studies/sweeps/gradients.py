"""Gradients of steady states by one more solve with the same matrix (the adjoint).

A steady state is r(T, p) = 0, with r = sources + boundary faces - exchange, W in each cell, and -dr/dT = A, symmetric.
For a number J(T, p), such as the mean temperature of a part,

    dJ/dp = dL/dp at the same T,    L = J + lambda . r,    A lambda = dJ/dT,

whatever p is. lambda is dJ/dq, what a watt released in each cell adds to J. dL/dp is a central difference, which takes
no solve. Source: M. B. Giles and N. A. Pierce, An introduction to the adjoint approach to design,
Flow, Turbulence and Combustion 65 (2000) 393.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from heatsim.base.methods import SOLVER_KERNELS
from heatsim.base.shown import Shown
from heatsim.errors import NotConvergedError, RequestError, ScenarioError
from heatsim.output.recorders.probes import is_on_a_face, problem_probe_weights
from heatsim.output.recorders.results import smooth_maximum
from heatsim.problem import Problem, build_problem
from heatsim.scenario import Scenario, find_temperature_dependence
from heatsim.scenario.boundary import FACES
from heatsim.scenario.results import SIZES, Result, parse_subject
from heatsim.scenario.sweep import Value
from heatsim.simulation.device_selection import choose_device
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.integrators.balance import Balance, BalanceInputs
from heatsim.solve.state import State
from heatsim.studies.sweeps.runs import with_parameters

CHANGE = 1e-4  # of a parameter, to either side, for dL/dp: its square is the error
TOLERANCE, RESIDUAL = 1e-10, 1e-12  # of the steady state, and of the adjoint solve
ITERATIONS = 300


class SmoothResult(Protocol):
    """A result as a function of the field."""

    def value(self, balance: Balance, inputs: BalanceInputs, T: np.ndarray) -> float:
        """K over the reference, or W."""

    def slopes(self, balance: Balance, inputs: BalanceInputs, T: np.ndarray) -> np.ndarray:
        """(nz, ny, nx) its derivatives by the temperature of each cell."""

    @property
    def ways(self) -> slice:
        """The boundary values of the faces, or of the ambient, whose heat it is; none of a temperature."""


@dataclass(frozen=True, repr=False, eq=False)  # arrays have no single truth: each is equal to itself
class Gradient(Shown):
    """The value of a result, in the scenario's unit or W; its derivatives by parameter, in this unit over that of the
    parameter. Of each cell, (nz, ny, nx): by_source, K/W or 1, what a watt released there would add to it; and
    by_conductivity, K or W, its derivative by the logarithm of the conductivity there: a hundredth of it is what one
    percent more would add."""

    value: float
    derivatives: dict[str, float]
    by_source: np.ndarray
    by_conductivity: np.ndarray

    def facts(self) -> tuple[str, dict[str, str]]:
        """A title and values by name: see `heatsim.base.shown`."""
        told = {f"by {name}": f"{value:.6g}" for name, value in self.derivatives.items()}
        cells = " x ".join(map(str, self.by_source.shape))
        return f"Gradient of {self.value:.6g}", {**told, "by_source, by_conductivity": f"{cells} cells"}


def find_gradient(
    scenario: Path | str | Scenario, of: str, with_respect_to: Sequence[str], values: Mapping[str, Value]
) -> Gradient:
    """The gradient of a result of a steady state: see `heatsim.gradient`."""
    base = _steady(scenario, values)
    problem = build_problem(_with_result(base, of))
    device = choose_device(problem.scenario).device
    state, result = State(problem, make_field(problem, SOLVER_KERNELS[device])), _result_of(problem, of)
    simulate(state, [], Timings())
    solver = Balance(problem, state.field)
    T = np.array(solver.on_host(solver.values))
    balance = solver if device == "cpu" else _balance_at(problem, T)
    inputs = balance.inputs(0.0)
    by_source = _adjoint(problem, solver, result.slopes(balance, inputs, T))

    def lagrangian(name: str, value: float) -> float:
        other, given = _balance_of(_steady(scenario, {**values, name: value}), name, problem, T)
        flow = other.flow(given, T, other.exchange(T))
        return result.value(other, given, T) + float(np.sum(by_source * flow))

    derivatives = {}
    for name in with_respect_to:
        value = _number_of(base, name)
        change = CHANGE * (abs(value) or 1.0)
        derivatives[name] = (lagrangian(name, value + change) - lagrangian(name, value - change)) / (2.0 * change)
    value = result.value(balance, inputs, T) + (0.0 if isinstance(result, _Heat) else problem.reference)
    by_conductivity = _by_conductivity(problem, inputs, T, by_source, result.ways)
    return Gradient(value, derivatives, by_source, by_conductivity)


def _adjoint(problem: Problem, solver: Balance, slopes: np.ndarray) -> np.ndarray:
    """The derivative of a result by the power released in each cell; slopes: its derivatives by the temperatures."""
    solver.prepare(solver.inputs(0.0), np.inf)
    heat = solver.on_device(np.asarray(slopes, np.float64))
    found = solver.solve(heat, None, tolerance=RESIDUAL, accuracy=0.0, iterations=ITERATIONS)
    if not found.converged:
        raise NotConvergedError(f"the adjoint solver, in {found.iterations} iterations,", list(found.residuals))
    solved = problem.coefficients.spread_over_cells(problem.coefficients.capacity > 0)
    return np.where(solved, solver.on_host(found.x), 0.0)


def _steady(given: Path | str | Scenario, values: Mapping[str, Value]) -> Scenario:
    """The scenario as it is solved here; raises `ScenarioError` if it is not linear."""
    exact = ["time.integrator=steady", f"time.tolerance={TOLERANCE}", "compute.precision=float64"]
    scenario = with_parameters(given, values, exact)
    key = find_temperature_dependence(scenario)
    if key is not None:
        message, hint = "expected nothing that depends on temperature", "gradients are those of linear problems"
        raise ScenarioError([scenario.issue_at(key, message, hint)])
    return scenario


def _with_result(scenario: Scenario, of: str) -> Scenario:
    """The scenario with a result more, if `of` is no name of one; raises `RequestError` for an unknown part."""
    results, subject = scenario.output.results, parse_subject(of)
    if subject is None or any(each.name == of for each in results):
        return scenario
    parts = {None, *scenario.materials, *(each.name for each in scenario.output.regions)}
    if subject.is_of_part and subject.name not in parts:
        raise RequestError(f"{of}: there is no material and no region of output.regions {subject.name!r}")
    added = Result.model_construct(name=of, of=of, at=None, over=None, every=None)
    return scenario.model_copy(update={"output": scenario.output.model_copy(update={"results": (*results, added)})})


def _result_of(problem: Problem, of: str) -> SmoothResult:
    """The result of a name, or as `of` of [[output.results]] has it; raises `RequestError` if it is not smooth or not
    known."""
    results = {each.name: each.subject for each in problem.scenario.output.results}
    subject = results.get(of) or parse_subject(of)
    if subject is None:
        raise RequestError(f"{of}: is no name of [[output.results]] (known here: {', '.join(results) or 'none'})")
    if subject.kind in ("min", "max", *SIZES):
        why = "does not depend on the state" if subject.kind in SIZES else "has kinks"
        raise RequestError(
            f"{of}: expected mean(T, ...), max_smooth(T, ...), probe(...) or heat(...), found {subject.kind}, which "
            f"{why}"
        )
    if subject.kind == "heat":
        return _Heat(_ways_of(problem, of, str(subject.name)))
    if subject.kind == "probe":
        return _Weighted(_probe_weights(problem, of, str(subject.name)))
    cells = problem.named_parts[subject.name]
    shares = np.zeros(problem.grid.shape)
    shares.reshape(-1)[cells.indices] = cells.volumes / cells.volumes.sum()
    return _Weighted(shares) if subject.kind == "mean" else _SmoothMaximum(shares, subject.width)


def _probe_weights(problem: Problem, of: str, name: str) -> np.ndarray:
    """(nz, ny, nx) what each cell has of a probe."""
    probe = next((each for each in problem.scenario.output.probes if each.name == name), None)
    if probe is None:
        raise RequestError(f"{of}: there is no probe {name!r} in output.probes")
    if is_on_a_face(problem, probe.at):
        raise RequestError(f"{of}: its probe lies on a face of the box; put it half a cell inside")
    weights = np.zeros(problem.grid.shape)
    np.add.at(weights.reshape(-1), *problem_probe_weights(problem, probe.at))
    return weights


class _Weighted:
    """A mean of temperatures."""

    ways = slice(0, 0)

    def __init__(self, weights: np.ndarray) -> None:
        self._weights = weights

    def value(self, balance: Balance, inputs: BalanceInputs, T: np.ndarray) -> float:
        return float(np.sum(self._weights * T))

    def slopes(self, balance: Balance, inputs: BalanceInputs, T: np.ndarray) -> np.ndarray:
        return self._weights


class _SmoothMaximum:
    """A smooth maximum of the temperatures of the cells that have shares."""

    ways = slice(0, 0)

    def __init__(self, shares: np.ndarray, width: float) -> None:
        self._shares, self._cells, self._width = shares, shares > 0, width

    def value(self, balance: Balance, inputs: BalanceInputs, T: np.ndarray) -> float:
        return smooth_maximum(T[self._cells], self._shares[self._cells], self._width)[0]

    def slopes(self, balance: Balance, inputs: BalanceInputs, T: np.ndarray) -> np.ndarray:
        found = np.zeros_like(T)
        found[self._cells] = smooth_maximum(T[self._cells], self._shares[self._cells], self._width)[1]
        return found


class _Heat:
    """The heat that enters by some of the boundary faces and ambients."""

    def __init__(self, ways: slice) -> None:
        self.ways = ways

    def value(self, balance: Balance, inputs: BalanceInputs, T: np.ndarray) -> float:
        return float(np.sum(balance.entering_cells(inputs, T, self.ways)))

    def slopes(self, balance: Balance, inputs: BalanceInputs, T: np.ndarray) -> np.ndarray:
        ends = (balance.entering_cells(inputs, np.full_like(T, end), self.ways) for end in (1.0, 0.0))
        return np.asarray(np.subtract(*ends))


def _by_conductivity(
    problem: Problem, inputs: BalanceInputs, T: np.ndarray, by_source: np.ndarray, ways: slice
) -> np.ndarray:
    """dJ/d log k of each cell, (nz, ny, nx).

    The conductance of a face is G = 1/(R + R_beyond), and dG/d log k = G^2 R by the half cell R of the cell. ways: of
    the heat that J is, or none; it has the heat of these faces itself, beside what the adjoint gives for it.
    """
    coefficients = problem.coefficients
    spread, conductances = coefficients.spread_over_cells, coefficients.conductances()
    adjoint, ends = by_source.copy(), coefficients.boundary_size
    if ways.start >= ends:  # of an ambient, whose cells are prescribed and count for nothing otherwise
        materials = np.array(problem.zones.materials)[problem.cell_classes.zone]
        adjoint[spread(materials == problem.materials.solids + ways.start - ends)] = -1.0
    found = np.zeros_like(T)
    for face in range(6):
        axis, step = 2 - face // 2, -1 if face % 2 else 1
        own, conductance = spread(problem.cell_classes.faces.own[:, face]), spread(conductances[face])
        change = conductance**2 * own * (np.roll(T, step, axis) - T) * (by_source - np.roll(adjoint, step, axis))
        if not coefficients.periodic[face // 2]:
            at: list[Any] = [slice(None)] * 3
            at[axis] = slice(-1, None) if face % 2 else slice(0, 1)
            place = tuple(at)
            values = coefficients.boundary_values_of(face)
            a, b = (_on_the_face(problem, given[values], face) for given in (inputs.a, inputs.b))
            of_end = np.broadcast_to(conductance, T.shape)[place], np.broadcast_to(own, T.shape)[place]
            heat = of_end[0] * (a * T[place] + b)
            counts = 1.0 if ways == values else 0.0
            change[place] = -a * of_end[0] * of_end[1] * heat * (by_source[place] + counts)
        found += change
    return np.asarray(found * (spread(coefficients.capacity) > 0.0))


def _on_the_face(problem: Problem, values: np.ndarray, face: int) -> np.ndarray:
    """Boundary values of a face of the box, in the shape of its cells as a part of the field."""
    coefficients = problem.coefficients
    axis = 2 - face // 2
    shape = list(coefficients.shape)
    shape[axis] = 1
    if coefficients.boundary_per_cell:
        return values.reshape(shape)
    return np.asarray(values[np.take(coefficients.class_ids, [-1 if face % 2 else 0], axis)])


def _ways_of(problem: Problem, of: str, name: str) -> slice:
    """Where the boundary values of a face of the box stand, or that of an ambient."""
    coefficients, ambients = problem.coefficients, list(problem.scenario.exchanging_ambients)
    if name in ambients:
        place = coefficients.boundary_size + ambients.index(name)
        return slice(place, place + 1)
    if name not in FACES:
        raise RequestError(f"{of}: there is no face of the box and no ambient {name!r}")
    return coefficients.boundary_values_of(FACES.index(name))


def _balance_of(scenario: Scenario, name: str, base: Problem, T: np.ndarray) -> tuple[Balance, BalanceInputs]:
    """The heat balance of another scenario, and its inputs, at a field of the first; name: of what was changed."""
    problem = build_problem(scenario, base.reference)
    if problem.grid.shape != base.grid.shape:
        raise RequestError(f"{name}: changes the cells of the grid, which has no gradient")
    balance = _balance_at(problem, T)
    return balance, balance.inputs(0.0)


def _balance_at(problem: Problem, T: np.ndarray) -> Balance:
    """The heat balance on the host at a field."""
    field = make_field(problem, SOLVER_KERNELS["cpu"]).field
    field.put_state(T)
    return Balance(problem, field)


def _number_of(scenario: Scenario, name: str) -> float:
    """The value of a parameter, or of a key with dots; raises `RequestError` if it is no number."""
    found: Any = scenario
    for part in name.split(".") if "." in name else ("parameters", name):
        try:
            if isinstance(found, (list, tuple)):
                found = found[int(part)]
            else:
                found = found[part] if isinstance(found, Mapping) else getattr(found, part)
        except (KeyError, AttributeError, IndexError, ValueError):
            raise RequestError(f"{name}: is no parameter and no key of the scenario") from None
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        raise RequestError(f"{name}: expected a number, found {found!r}")
    return float(found)
