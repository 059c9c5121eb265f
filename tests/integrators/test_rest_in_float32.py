"""Steps under error control while nothing happens but rounding, and over many waves of what does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.in_memory import case, problem_of
from helpers.scenario_texts import convection, fixed

from heatsim.problem.problem import Problem
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

STEPPED = {"density": 8840.0, "conductivity": "90 + 0.036*(T - 300)", "heat_capacity": "where(T < 774.5, 545.3, 3272)"}
COLD = {"density": 7179.0, "conductivity": "14.34*T", "heat_capacity": "0.001263*T + 1.259e-05*T**3"}


def stepped() -> Problem:
    """Uniform 300 K beside faces of 300 K, until one is heated at 2 ms: half a place of 300 K was an error."""
    ends = {"x_min": fixed("858 if t > 2e-3 else 300"), "x_max": {**convection(193800.0, 300.0), "emissivity": 0.97}}
    return rod(STEPPED, 300.0, 2.2e-3, 5.3e-4, ends)


def cold() -> Problem:
    """A metal at 2 K whose ambient warms in the end."""
    ambient = "2 + 14*exp(-((t - 3.3e-9)/3e-11)**2)"
    return rod(COLD, 2.0, 3.3e-9, 1e-4, {"x_min": convection(1157000.0, ambient)})


def rod(properties: dict[str, Any], start: float, end: float, length: float, ends: dict[str, Any]) -> Problem:
    materials, size = {"rod": properties}, (length, length, length)
    text = case(
        [9, 1, 1],
        end,
        size=size,
        materials=materials,
        initial=start,
        boundary=ends,
        precision="float32",
        integrator="rkl2",
        tolerance=1e-4,
    )
    return problem_of(text.replace('"degC"', '"K"'))


@pytest.mark.parametrize(("problem", "steps", "rejected"), [(stepped, 400, 60), (cold, 400, 60)])
def test_rounding_is_no_reason_for_short_steps(problem: Any, steps: int, rejected: int) -> None:
    """They went down to a millionth of the stability limit, and most were rejected."""
    state = State(problem(), make_field(problem(), "cpu"))
    simulate(state, [], Timings())
    assert state.step < steps
    assert state.solver_statistics.rejected < rejected


METAL = {"density": 8000.0, "conductivity": 4000.0, "heat_capacity": "100 + (T/100)**3"}
WAVES = {
    "a source": {"sources": [{"power": "3e3*sin(2*pi*t)"}]},
    "a flux": {"boundary": {"x_min": {"kind": "flux", "flux": "3e7*sin(2*pi*t)"}}},
}


@pytest.mark.parametrize("inputs", WAVES.values(), ids=WAVES.keys())
def test_a_body_that_forgets_nothing_is_as_it_was_after_many_waves(inputs: dict[str, Any]) -> None:
    """Errors of steps in the mean of the inputs added up: beyond the tolerance, in silence."""
    text = case(
        [3, 1, 1], 30.0, size=(0.06, 0.01, 0.01), materials={"rod": METAL}, initial=300.0, integrator="rkl2", **inputs
    )
    problem = problem_of(text.replace('"degC"', '"K"'))
    state = State(problem, make_field(problem, "cpu"))
    simulate(state, [], Timings())
    heat = [float(np.mean(100.0 * T + T**4 / 4e6)) for T in (state.temperature(), np.array(300.0))]  # J/kg
    assert abs(heat[0] - heat[1]) / 127.0 < 0.03  # K, of 130 K and more; it was 0.47 K
