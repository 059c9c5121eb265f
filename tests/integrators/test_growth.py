"""Fields that grow by their sources: steps, and what is promised of them, against exact solutions and SciPy's."""

from __future__ import annotations

from math import exp, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.in_memory import problem_of, run
from helpers.scenario_texts import case
from scipy.integrate import solve_ivp
from scipy.special import erf

import heatsim
from heatsim.scenario import loads
from heatsim.simulation.run_warnings import growth_warnings
from heatsim.solve.integrators import auto
from heatsim.solve.integrators.growth import NetGrowth, foreseen_growth

STUFF = {"m": {"conductivity": 1.0, "density": 1.0, "heat_capacity": 1.0}}
COLD = {"kind": "fixed", "temperature": 0.0}
MODE = 1.0 - (pi / 10.0) ** 2  # 1/s, of sin(pi x/10) with a source T


def growing(end: float, cells: int = 20, **keys: Any) -> str:
    """u' = u'' + u from a small mode of a bar whose ends are held at 0."""
    given: dict[str, Any] = {"initial": "1.0*sin(pi*x/10)", "sources": [{"power_density": "T"}]} | keys
    return case(
        (cells, 1, 1), end, size=(10.0, 1.0, 1.0), materials=STUFF,
        boundary={"x_min": COLD, "x_max": COLD}, **given,
    )  # fmt: skip


def front(end: float, **keys: Any) -> str:
    """Fisher's equation, u' = u'' + u (1 - u), from a bump at an insulated end."""
    return case(
        (60, 1, 1), end, size=(30.0, 1.0, 1.0), materials=STUFF, initial="exp(-x*x)",
        sources=[{"power_density": "T*(1 - T)"}], **keys,
    )  # fmt: skip


def exact_front(end: float) -> np.ndarray:
    size = 0.5

    def rate(t: float, u: np.ndarray) -> np.ndarray:
        flux = np.concatenate(([0.0], np.diff(u) / size, [0.0]))
        return np.diff(flux) / size + u * (1.0 - u)

    edges = np.arange(61) * size
    start = np.diff(erf(edges)) * 0.5 * sqrt(pi) / size  # the means of exp(-x*x)
    solution = solve_ivp(rate, (0.0, end), start, method="LSODA", rtol=1e-9, atol=1e-15, lband=1, uband=1)
    return np.asarray(solution.y[:, -1])


MEAN = np.sinc(1 / 40)  # of a mode over a cell, over its value at the centre


def test_the_growth_found_is_that_of_the_fastest_mode() -> None:
    problem = problem_of(growing(10.0, integrator="implicit"))
    finder = NetGrowth(problem)
    T = np.full(problem.grid.shape, 0.3)
    discrete = 1.0 - (2.0 * np.sin(pi / 40) / 0.5) ** 2
    assert finder.rate(finder.of_sources(T, 0.0)) == pytest.approx(discrete, rel=5e-3)
    assert foreseen_growth(problem).rate == pytest.approx(MODE, rel=1e-2)
    damped = problem_of(growing(10.0, integrator="implicit", sources=[{"power_density": "0.05*T"}]))
    assert foreseen_growth(damped).foldings == 0.0


def test_the_tolerance_holds_for_what_grows_ten_thousandfold() -> None:
    """Exact on the grid: each mode grows by itself."""
    found = run(growing(10.0, integrator="implicit", tolerance=1e-3))
    x, _, _ = found.points()
    rate = 1.0 - (2.0 * np.sin(pi / 40) / 0.5) ** 2
    exact = MEAN * np.sin(pi * x / 10) * exp(rate * 10.0)
    assert np.abs(found.temperature - exact).max() < 1e-3 * exact.max()


def test_explicit_euler_is_taken_for_what_grows_in_steps_that_are_short_enough() -> None:
    """On so coarse a grid the stable step is 0.1 s, whose error would be 15 times the tolerance."""
    problem = problem_of(growing(4.0, integrator="auto"))
    found = auto.recommend(problem, "cpu", {"rkl2": "no"}, full=True)
    assert found.step is not None
    assert found.step < 5e-4
    result = run(growing(4.0, integrator="euler", step=found.step, precision="float64"))
    x, _, _ = result.points()
    exact = MEAN * np.sin(pi * x / 10) * exp((1.0 - (2.0 * np.sin(pi / 40) / 0.5) ** 2) * 4.0)
    assert np.abs(result.temperature - exact).max() < 1e-3 * exact.max()


def test_a_front_is_where_it_should_be() -> None:
    """It runs into a state from which all grows: errors there are errors of its place."""
    found = run(front(8.0, integrator="implicit", tolerance=1e-3))
    assert np.abs(found.temperature.reshape(-1) - exact_front(8.0)).max() < 1e-3


def test_float32_holds_a_thin_front_as_it_counts_from_where_all_grows() -> None:
    problem = problem_of(front(20.0, integrator="euler", precision="float32"))
    assert problem.reference == 0.0
    assert not list(growth_warnings(problem))


def test_a_thin_front_that_a_precision_loses_is_told() -> None:
    """Between 0, at an end, and 21 the source rests at 20, beside which what is ahead of the front is rounded away."""
    text = front(20.0, integrator="euler", precision="float32", boundary={"x_max": COLD})
    text = text.replace("exp(-x*x)", "20 + exp(-x*x)").replace("T*(1 - T)", "(T - 20)*(21 - T)*T/20")
    [warning] = growth_warnings(problem_of(text))
    assert "float32" in str(warning)
    assert not list(growth_warnings(problem_of(front(2.0, integrator="euler", precision="float32"))))


def test_what_solvers_leave_ahead_of_a_front_is_told() -> None:
    [warning] = growth_warnings(problem_of(front(40.0, integrator="implicit")))
    assert "exp(39.9)" in str(warning)
    assert not list(growth_warnings(problem_of(front(20.0, integrator="implicit"))))


def test_the_time_of_a_runaway_is_that_of_its_equation(tmp_path: Path) -> None:
    """Slowly heated from outside, then by itself: what steps err before comes out a hundredfold."""

    def heat(t: float, T: np.ndarray) -> np.ndarray:
        return (20.0 * (430.0 - T) / 0.02 + 4e12 * np.exp(-8000.0 / T)) / 2.5e6

    def ignited(t: float, T: np.ndarray) -> float:
        return float(T[0] - 550.0)

    ignited.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(heat, (0.0, 72000.0), [300.0], method="BDF", rtol=1e-10, atol=1e-8, events=ignited)
    cell = {"conductivity": 1e3, "density": 2500.0, "heat_capacity": 1000.0}
    film = {"kind": "convection", "coefficient": 10.0, "ambient": 430.0}
    text = case(
        (2, 1, 1), 72000.0, size=(0.02, 0.1, 0.1), materials={"cell": cell}, initial=300.0, integrator="implicit",
        boundary={"x_min": film, "x_max": film}, sources=[{"power_density": "4e12*exp(-8000/T)"}],
    )  # fmt: skip
    text = (
        "temperature_unit = 'K'\n" + text.replace('temperature_unit = "degC"', "") + '[stop]\nwhen = "max(T) > 550"\n'
    )
    done = heatsim.run(loads(text), tmp_path / "run")
    assert done.info["stop"]["time"] == pytest.approx(solution.t_events[0][0], abs=done.info["stop"]["shift"])
