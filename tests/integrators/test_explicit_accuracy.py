"""How short steps of explicit Euler have to be for `auto`, where inputs jump late or wave fast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.in_memory import Recording, case
from helpers.in_turn import in_turn
from helpers.scenario_texts import convection, fixed, flux, material
from integrator_cases import field, run, state_of

from heatsim.problem.problem import Problem
from heatsim.problem.terms.event_times import discontinuity_times
from heatsim.problem.terms.input_rates import steepest_slope
from heatsim.scenario import Expression
from heatsim.solve.integrators.auto import recommend
from heatsim.solve.integrators.euler import accurate_step

END, TOLERANCE = 60.0, 1e-3


def bar(**inputs: Any) -> str:
    """A bar of 12 cells; Euler is stable with 0.33 s."""
    slab = {"slab": material(1.0, 1e4, 1.0)}
    text = case([12, 1, 1], END, size=(0.12, 0.01, 0.01), materials=slab, precision="float64", **inputs)
    return text + "\n[output.snapshots]\ntimes = [36.0, 60.0]\n"


def opened(text: str) -> Problem:
    return state_of(text, integrator="euler", kernel="cpu").problem.with_integrator("auto", None)


def refusal(text: str) -> str:
    return recommend(opened(text), "cpu", full=True).estimates[0].refused


def parsed(text: str) -> Expression:
    return Expression.parse(text, frozenset("t"))


@in_turn(
    "late",
    [
        {"boundary": {"x_min": fixed("1 if t > 30 and t < 50 else 0")}},
        {"boundary": {"x_min": flux("200*step(t - 30)")}},
        {"boundary": {"x_min": convection(100.0, "floor(t/30)")}},
        {"sources": [{"power": "0.1*floor(t/30)"}]},
    ],
)
def test_a_late_jump_asks_for_short_steps_as_one_at_the_start_does(late: dict[str, Any]) -> None:
    assert "from the jump of an input at t = 30 s on to t = 36 s" in refusal(bar(**late))


@in_turn("temperature", ["1 if t > 30 and t < 50 else 0", "sin(2*pi*t/6)", "1e-3*t + step(t - 30)"])
def test_the_step_that_is_found_keeps_the_tolerance_and_the_stable_one_does_not(temperature: str) -> None:
    text = bar(boundary={"x_min": fixed(temperature)})
    step, span = accurate_step(opened(text), TOLERANCE), 2.0 if "sin" in temperature else 1.0
    found, halved, stable = (at_36(text, each) for each in (step, 0.5 * step, 0.3))
    exact = 2.0 * halved - found  # the error falls like the step
    assert np.abs(found - exact).max() < TOLERANCE * span < np.abs(stable - exact).max()


def at_36(text: str, step: float) -> np.ndarray:
    seen = Recording([36.0], field)  # type: ignore[arg-type]
    run(text, [seen], kernel="cpu", integrator="euler", step=step)
    return np.asarray(seen.seen[0])


@pytest.mark.parametrize(
    "still",
    [
        {"boundary": {"x_min": fixed("1e-7*t + 1")}},
        {"sources": [{"power": "1 + 1e-6*sin(6*t)"}]},
    ],
)
def test_what_hardly_changes_asks_for_no_more_than_what_does_not(still: dict[str, Any]) -> None:
    problem = opened(bar(**still))
    assert problem.accurate_explicit_steps(TOLERANCE).for_inputs > problem.largest_step


@in_turn(
    ("text", "end", "expected"),
    [
        ("300 + 100*sin(2*pi*t/10)", 640.0, 20 * np.pi),
        ("exp(-((t - 43000)/0.5)**2)", 86400.0, np.sqrt(2 / np.e) / 0.5),
        ("3*t if t < 33.3 else 0", 100.0, 3.0),
        ("850*step(sin(2*pi*t/46.625))", 1492.0, 0.0),
    ],
)
def test_the_steepest_slope_is_found_between_jumps_and_however_short_it_is(
    text: str, end: float, expected: float
) -> None:
    assert expected <= steepest_slope(parsed(text), end, 1e-9).steepest <= 1.3 * expected + 1e-12


def test_jumps_at_round_shares_of_the_run_are_found() -> None:
    """At the edges of intervals a bound and a value of the sine round to different sides of 0."""
    found = sorted(discontinuity_times([parsed("step(sin(2*pi*t/46.625))")], 1492.0))
    inside = [time for time in found if 1.0 < time < 1491.0]
    assert inside == pytest.approx(23.3125 * np.arange(1, 64), rel=1e-12)
