"""Power traces from files: their energy is exact, whatever the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.in_memory import Run, case, problem_of
from helpers.scenario_texts import box, material

from heatsim.errors import ScenarioError
from heatsim.simulation.time_loop import Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State

KNOTS = [(0.1, 0.0), (0.2, 5.0), (0.3333, 2.0), (0.77, 9.0)]
ENERGY = 0.1 * 2.5 + 0.1333 * 3.5 + 0.4367 * 5.5  # J, under the straight lines
REGION = box((0.1, 0.1, 0.1), (0.6, 0.4, 0.6))
SLOW = {"slow": material(0.02)}


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "power.csv"
    path.write_text("time [s], power [W]\n" + "".join(f"{t}, {p}\n" for t, p in KNOTS))
    return str(path)


def text(sources: list[dict[str, Any]], **more: Any) -> str:
    return case([8, 8, 8], 1.0, materials=SLOW, sources=sources, **more)


@pytest.mark.parametrize("step", ["auto", 0.07, 0.0123, 0.0011])
def test_the_energy_of_a_trace_is_exact_whatever_the_steps(run: Run, trace: str, step: float | str) -> None:
    outcome = run(text([{"trace": trace, "region": REGION}], step=step))
    assert outcome.energy.sources == pytest.approx(ENERGY, rel=1e-12)
    assert outcome.temperature.mean() == pytest.approx(ENERGY, rel=1e-12)  # 1 J/K in the box
    assert abs(outcome.energy.relative_residual) < 1e-12


def test_the_power_of_a_trace_goes_into_its_region_and_nowhere_else(run: Run, trace: str) -> None:
    still = {"still": material(1e-12)}
    outcome = run(case([8, 8, 8], 1.0, materials=still, sources=[{"trace": trace, "region": REGION}], step=0.1))
    x, y, z = outcome.points()
    inside = (x > 0.1) & (x < 0.6) & (y > 0.1) & (y < 0.4) & (z > 0.1) & (z < 0.6)
    expected = np.where(inside, ENERGY / inside.mean(), 0.0)  # 1 J/K in the box
    np.testing.assert_allclose(outcome.temperature, expected, rtol=0, atol=1e-6)


def test_the_power_at_a_time_is_that_on_the_line_and_none_outside(trace: str) -> None:
    problem = problem_of(text([{"trace": trace, "region": REGION}]))
    powers = problem.source_energy(problem.forcing(np.array([0.0, 0.15, 0.2, 0.9])), 1.0, 4)
    np.testing.assert_allclose(powers, [0.0, 2.5, 5.0, 0.0], rtol=1e-12)


def test_traces_beside_other_sources_and_smoothing_keep_their_energy(trace: str, run: Run) -> None:
    others: list[dict[str, Any]] = [{"power": 2.0, "region": REGION}, {"power_density": "x*t"}, {"trace": trace}]
    sources = [{"trace": trace, "region": REGION}, *others]
    smoothing = '\n[[smoothing]]\ntarget = "sources"\nfilter = "gaussian"\nsigma = 0.2\nedges = "reflect"\n'
    expected = 2 * ENERGY + 2.0 + 0.25 * (1 - 0.01)  # x t has its value at the start of each step
    for more in ("", smoothing):
        outcome = run(text(sources, step=0.01) + more)
        assert outcome.energy.sources == pytest.approx(expected, rel=1e-9)


def test_columns_that_are_named_stand_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "power.csv"
    path.write_text('"power (W)",t [s]\n3,0\n5,1\n')
    problem = problem_of(text([{"trace": str(path)}]))
    powers = problem.source_energy(problem.forcing(np.array([0.0, 0.5])), 1.0, 2)
    np.testing.assert_allclose(powers, [3.0, 4.0], rtol=1e-12)


def test_a_trace_that_is_missing_is_told_with_its_key(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"scenario:\d+:\d+: sources\.0\.trace: .*none\.csv: no such file"):
        problem_of(text([{"trace": str(tmp_path / "none.csv")}]))


def test_implicit_steps_end_where_a_trace_bends(tmp_path: Path) -> None:
    """Steps that grow while nothing happens would jump over a pulse of a millisecond."""
    pulse = tmp_path / "pulse.csv"
    pulse.write_text("0, 0\n0.5, 0\n0.5005, 2000\n0.501, 0\n")
    implicit = text([{"trace": str(pulse)}]).replace('integrator = "euler"', 'integrator = "implicit"')
    problem = problem_of(implicit)
    assert set(problem.event_times) == {0.5, 0.5005, 0.501}
    state = State(problem, make_field(problem, "cpu"))
    simulate(state, [], Timings())
    assert state.energy.sources == pytest.approx(1.0, rel=1e-9)  # the method is exact for straight lines
    assert abs(state.energy.relative_residual) < 1e-9
    assert problem_of(text([{"trace": str(pulse)}])).event_times == ()


@pytest.mark.parametrize("integrator", ["implicit", "rkl2"])
def test_the_energy_of_a_trace_that_jumps_is_exact_under_error_control(tmp_path: Path, integrator: str) -> None:
    """It begins and ends with power, at times at which nothing else makes a step end."""
    trace = tmp_path / "power.csv"
    trace.write_text("time (s), power (W)\n0.3, 1\n0.7, 3\n0.811, 2\n")
    problem = problem_of(text([{"trace": str(trace)}]).replace('"euler"', f'"{integrator}"'))
    state = State(problem, make_field(problem, "cpu"))
    simulate(state, [], Timings())
    assert state.energy.sources == pytest.approx(0.4 * 2 + 0.111 * 2.5, rel=1e-8)
