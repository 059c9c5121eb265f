"""Inputs that switch at a time, by a comparison in their expression: long steps end there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.in_memory import case, problem_of
from helpers.in_turn import in_turn
from helpers.plain_stages import plain_field
from helpers.scenario_texts import flux, material

from heatsim.problem.problem import Problem
from heatsim.problem.terms.event_times import discontinuity_times, mark_times
from heatsim.scenario import Expression
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

VOLUME, AREA = 1e-5, 1e-4


def bar(integrator: str, **heated: Any) -> Problem:
    """A bar of steel, insulated but for what heats it."""
    steel = {"steel": material(50.0, 7800.0, 500.0)}
    return problem_of(case([40, 1, 1], 100.0, size=(0.1, 0.01, 0.01), materials=steel, integrator=integrator, **heated))


def source(power: str, key: str = "power") -> dict[str, Any]:
    return {"sources": [{key: power}]}


@in_turn("integrator", ["euler", "rkl2", "implicit"])
@in_turn(
    ("heated", "expected"),
    [
        (source("1e4 if t > 20 and t < 20.001 else 0"), 10.0),
        (source("1e6 if abs(t - 70.3) < 1e-5 else 0"), 20.0),
        (source("10 if t < 33.3 else 0"), 333.0),
        (source("10*step(sin(2*pi*t/40) - 0.5)"), 10 * 40 * (100 // 40 + 1) / 3),
        (source("1e6*(x/0.05)*(2 if t > 71.7 else 1)", "power_density"), 1e6 * VOLUME * 128.3),
        ({"boundary": {"x_min": flux("1e5 if t >= 12.5 and t < 13.1 else 0")}}, 1e5 * AREA * 0.6),
    ],
)
def test_the_energy_of_what_switches_is_exact(integrator: str, heated: dict[str, Any], expected: float) -> None:
    tolerance = {} if integrator == "euler" else {"tolerance": 1e-3}
    problem = bar(integrator, **tolerance, **heated)
    # When steps end does not depend on who computes them; stages in NumPy spare a compiled kernel a sort of heat.
    state = State(problem, plain_field(problem) if integrator == "rkl2" else make_field(problem, "cpu"))
    simulate(state, [], Timings())
    assert state.energy.stored == pytest.approx(expected, rel=2e-7 if expected > 20.0 or expected == 6.0 else 2e-5)
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


def test_explicit_steps_end_where_an_input_switches() -> None:
    assert bar("euler", **source("10 if t < 33.3 else 0")).event_times == (33.3,)


@in_turn(
    ("text", "expected"),
    [
        ("1 if t > 100 and t < 100.001 else 0", [100.0, 100.001]),
        ("1 if abs(t - 43000) < 1e-4 else 0", [42999.9999, 43000.0001]),
        ("step(1e-5 - (t/3600 - 7)**2)", [3600 * (7 - 10**-2.5), 3600 * (7 + 10**-2.5)]),
        ("1 if t*t < 3*t - 2.25 + 1e-8 else 0", [1.4999, 1.5001]),
        ("floor(t/40000)", [40000.0, 80000.0]),
        ("1 if exp(-t/1000) > 0.5 else 0", [1000 * np.log(2.0)]),
    ],
)
def test_what_is_shorter_than_any_sample_of_a_day_is_found(text: str, expected: list[float]) -> None:
    found = sorted(discontinuity_times([Expression.parse(text, frozenset("t"))], 86400.0))
    assert found == pytest.approx(expected, rel=1e-10)


def test_a_rhythm_is_found_beat_by_beat() -> None:
    beats = Expression.parse("1 if t - 60*floor(t/60) < 0.01 else 0", frozenset("t"))
    starts = np.arange(60.0, 86400.0, 60.0)
    expected = sorted([0.01, *starts, *(starts + 0.01), 86400.0])
    assert sorted(discontinuity_times([beats], 86400.0)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "centre", "width"),
    [("exp(-((t - 43000)/0.5)**2)", 43000.0, 0.5), ("max(0, 1 - abs(t - 777)/1e-3)", 777.0, 1e-3)],
)
def test_a_bump_that_is_shorter_than_a_step_has_steps_of_its_own(text: str, centre: float, width: float) -> None:
    times, too_many = mark_times([Expression.parse(text, frozenset("t"))], 86400.0, 864.0)
    near = [time for time in times if abs(time - centre) < width]
    assert len(near) >= 4
    assert len(times) < 60
    assert not too_many


def test_what_steps_follow_has_no_steps_of_its_own() -> None:
    daily = Expression.parse("293 + 5*sin(2*pi*t/86400) + 1e-5*sin(t)", frozenset("t"))
    assert mark_times([daily], 864000.0, 8640.0) == (frozenset(), ())
    hum = Expression.parse("sin(2*pi*50*t)", frozenset("t"))
    assert mark_times([hum], 3600.0, 36.0).too_many == (hum,)
    assert mark_times([hum], 3600.0, 1e-4) == (frozenset(), ())
