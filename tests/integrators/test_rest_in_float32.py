"""Steps under error control while nothing happens but rounding, before an input begins."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.in_memory import case, problem_of
from helpers.scenario_texts import convection, fixed

from heatsim.integrators import make_field
from heatsim.problem.problem import Problem
from heatsim.simulation.state import State
from heatsim.simulation.time_loop import Timings, simulate

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


@pytest.mark.parametrize(("problem", "steps", "rejected"), [(stepped, 400, 60), (cold, 700, 500)])
def test_rounding_is_no_reason_for_short_steps(problem: Any, steps: int, rejected: int) -> None:
    """They went down to a millionth of the stability limit, and most were rejected; in the cold many still are."""
    state = State(problem(), make_field(problem(), "cpu"))
    simulate(state, [], Timings())
    assert state.step < steps
    assert state.solver_statistics.rejected < rejected
