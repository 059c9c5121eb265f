"""Inputs that switch at a time, by a comparison in their expression: long steps end there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.in_memory import case, problem_of
from helpers.plain_stages import plain_field
from helpers.scenario_texts import flux, material

from heatsim.integrators import make_field
from heatsim.physics.event_times import discontinuity_times
from heatsim.problem.problem import Problem
from heatsim.scenario import Expression
from heatsim.simulation.state import State
from heatsim.simulation.time_loop import Timings, simulate

VOLUME, AREA = 1e-5, 1e-4


def bar(integrator: str, **heated: Any) -> Problem:
    """A bar of steel, insulated but for what heats it."""
    steel = {"steel": material(50.0, 7800.0, 500.0)}
    return problem_of(case([40, 1, 1], 100.0, size=(0.1, 0.01, 0.01), materials=steel, integrator=integrator, **heated))


def source(power: str, key: str = "power") -> dict[str, Any]:
    return {"sources": [{key: power}]}


@pytest.mark.parametrize("integrator", ["rkl2", "implicit"])
@pytest.mark.parametrize(
    ("heated", "expected"),
    [
        (source("10 if t < 33.3 else 0"), 333.0),
        (source("10*step(sin(2*pi*t/40) - 0.5)"), 10 * 40 * (100 // 40 + 1) / 3),
        (source("1e6*(x/0.05)*(2 if t > 71.7 else 1)", "power_density"), 1e6 * VOLUME * 128.3),
        ({"boundary": {"x_min": flux("1e5 if t >= 12.5 and t < 13.1 else 0")}}, 1e5 * AREA * 0.6),
    ],
)
def test_the_energy_of_what_switches_is_exact(integrator: str, heated: dict[str, Any], expected: float) -> None:
    problem = bar(integrator, tolerance=1e-3, **heated)
    # When steps end does not depend on who computes them; stages in NumPy spare a compiled kernel a sort of heat.
    state = State(problem, plain_field(problem) if integrator == "rkl2" else make_field(problem, "cpu"))
    simulate(state, [], Timings())
    assert state.energy.stored == pytest.approx(expected, rel=2e-7)
    assert abs(state.energy.relative_residual) < 1e-9
    assert state.solver_statistics.rejected < state.step


def test_times_of_switching_are_found_to_the_last_digit() -> None:
    switched = Expression.parse("3*t if t < 33.3 else (1 if 50 < t <= 60.25 else x)", frozenset("xt"))
    assert sorted(discontinuity_times([switched, 2.0, None], 100.0)) == pytest.approx([33.3, 50.0, 60.25], abs=1e-12)


def test_what_moves_and_what_switches_all_the_time_is_left_to_the_error_control() -> None:
    moving = Expression.parse("1 if x < t else 0", frozenset("xt"))
    buzzing = Expression.parse("step(sin(1e3*t))", frozenset("t"))
    assert discontinuity_times([moving], 100.0) == frozenset()
    assert discontinuity_times([buzzing], 100.0) == frozenset()
    assert len(discontinuity_times([buzzing], 1.0)) == int(np.floor(1e3 / np.pi))


def test_explicit_steps_need_not_end_where_an_input_switches() -> None:
    assert bar("euler", **source("10 if t < 33.3 else 0")).event_times == ()
