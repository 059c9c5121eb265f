"""Error control keeps the error near the tolerance, whatever the problem, and steps only as short as that takes."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from helpers.in_memory import Recording
from helpers.in_turn import in_turn
from helpers.scenario_texts import box, convection, fixed, flux, material
from integrator_cases import VARIED_PROBLEMS, case, equal_steps, field, run, state_of

from heatsim.solve.integrators.implicit import Implicit
from heatsim.solve.integrators.tableaus import TR_BDF2


@cache
def fields_at(text: str, parts: int, **time: object) -> tuple[list[np.ndarray], int]:
    """The field at equal parts of the time, and the number of steps."""
    end = state_of(text).problem.scenario.time.end
    watcher = Recording([end * (i + 1) / parts for i in range(parts)], field)
    state = run(text, [watcher], **time)
    return watcher.seen, state.step


METHODS = {"tr-bdf2": (1e-2, 1e-3), "backward-euler": (3e-2, 1e-2)}  # and the tolerances


def pair(name: str, method: str) -> Any:
    """A problem and a method; backward Euler on all problems but one takes long."""
    marks = pytest.mark.long if method == "backward-euler" and name != "a pulse" else []
    return pytest.param(VARIED_PROBLEMS[name], method, id=f"{name}-{method}", marks=marks)


@pytest.mark.parametrize(("text", "method"), [pair(name, method) for name in VARIED_PROBLEMS for method in METHODS])
def test_the_error_stays_within_three_times_the_tolerance(text: str, method: str) -> None:
    start = state_of(text)
    exact, _ = fields_at(text, 6, step=start.problem.scenario.time.end / 300)
    everything = [field(start), *exact]
    rise = max(each.max() for each in everything) - min(each.min() for each in everything)
    steps = []
    for tolerance in METHODS[method]:
        fields, count = fields_at(text, 6, tolerance=tolerance, method=method)
        error = max(np.abs(mine - theirs).max() for mine, theirs in zip(fields, exact, strict=True))
        assert error <= 3 * tolerance * rise
        steps.append(count)
    assert steps[0] <= steps[1] < {"tr-bdf2": 300, "backward-euler": 1500}[method]


@in_turn(
    ("time", "tolerance"),
    [({}, 1e-5), ({}, 1e-7), ({"integrator": "rkl2"}, 1e-6), ({"method": "backward-euler"}, 1e-3)],
    ids=["TR-BDF2, 1e-5", "TR-BDF2, 1e-7", "RKL2, 1e-6", "backward Euler, 1e-3"],
)
def test_many_small_errors_do_not_add_up_to_more(time: dict[str, str], tolerance: float) -> None:
    """Of a mode, which starts from its means over cells and decays at the rate of its eigenvalue on the grid."""
    text, rate = VARIED_PROBLEMS["a mode"], 2 * 32**2 * (1 - np.cos(np.pi / 32))
    start = 100 * np.sinc(1 / 64)
    fields, steps = fields_at(text, 5, tolerance=tolerance, **time)
    exact = [start * np.cos(np.pi * (np.arange(32) + 0.5) / 32) * np.exp(-rate * 0.02 * (i + 1)) for i in range(5)]
    error = max(np.abs(mine[0, 0] - theirs).max() for mine, theirs in zip(fields, exact, strict=True))
    assert 0.1 * tolerance < error / 200 < 1.5 * tolerance  # not far less either, at the price of steps
    assert steps < 400


def test_errors_after_the_bends_of_an_input_do_not_add_up_to_more(tmp_path: Path) -> None:
    """An ambient goes up and down sixteen times on a body that forgets little (random problem 162): steps end where it
    bends, and are the shorter the more often it does."""
    rows = [(75.84375 * n, 1226.85 if n % 2 else 6.25) for n in range(33)]
    (tmp_path / "rows.csv").write_text("time,air\n" + "\n".join(f"{t!r},{value!r}" for t, value in rows))
    solid = {
        "density": 7011.0,
        "conductivity": "1.555*(300/(T + 273.15))**0.98",
        "heat_capacity": "1074*(1 - 0.3427*exp(-(T + 273.15)/300))",
    }
    text = case(
        [12, 1, 1], 2427.0, size=[0.07, 0.07, 0.07], materials={"solid": solid}, initial=6.25,
        boundary={"x_min": convection(200.8, {"file": str(tmp_path / "rows.csv"), "column": "air"})},
    )  # fmt: skip
    fields = [run(text, kernel=kernel, integrator=name, tolerance=tolerance) for kernel, name, tolerance in (
        ("cpu", "rkl2", 1e-3), ("multigrid", "implicit", 1e-3), ("multigrid", "implicit", 3e-5),
    )]  # fmt: skip
    *loose, fine = (state.temperature() for state in fields)
    assert all(state.problem.marks.times == {t for t, _ in rows[1:-1]} for state in fields)
    assert all(np.abs(field - fine).max() < 1e-3 * np.ptp([6.25, fine.max()]) for field in loose)


def test_without_a_limit_steps_grow_by_orders_of_magnitude() -> None:
    """Explicit Euler would take 1.3 million steps here."""
    state = run(VARIED_PROBLEMS["a thin insulating layer"])
    assert state.step + state.solver_statistics.rejected < 150
    assert state.problem.scenario.time.end / state.problem.stability_limit > 1e6


def test_an_ambient_does_not_count_in_the_range_of_temperatures() -> None:
    """One that hardly exchanges heat and is far hotter than the solids leaves the steps as they are."""
    bar = tomllib.loads(case([20, 1, 1], 0.2, initial="cos(pi*x)"))
    held: dict[str, Any] = {"ambients": {"furnace": {"temperature": 5000.0, "coefficient": 1e-12}}}
    held |= {"regions": [*bar["regions"], {"material": "furnace", **box([1, 0, 0], [2, 1, 1])}]}
    held |= {"grid": {"cells": [40, 1, 1], "size": [2.0, 1.0, 1.0]}}
    alone, beside = (run(tomli_w.dumps(document)) for document in (bar, bar | held))
    assert beside.step == alone.step
    np.testing.assert_allclose(field(beside)[..., :20], field(alone), atol=1e-4)


def test_the_estimate_is_near_the_error_of_a_step() -> None:
    text = case([24, 1, 1], 0.05, initial="cos(pi*x) + cos(2*pi*x)")
    for count in (5, 20):
        state = state_of(text, end=0.05 / count)
        estimate = Implicit(state).trial_step(0.05 / count, 0.0).error
        one, many = (
            field(equal_steps(text.replace("end = 0.05", f"end = {0.05 / count}"), n, TR_BDF2)) for n in (1, 50)
        )
        assert estimate == pytest.approx(np.abs(one - many).max(), rel=0.5)


def test_events_are_hit_exactly_and_in_order() -> None:
    times = [0.0, 0.1, 0.3, 1 / 3, 0.7, 1.0]
    watcher = Recording(times, lambda state: state.time)
    run(case([16, 1, 1], 1.0, initial="x", boundary={"x_min": fixed(3.0)}), [watcher])
    assert watcher.seen == times


def test_a_step_given_is_the_largest_and_without_tolerance_the_only_one() -> None:
    text = case([16, 1, 1], 1.0, initial="x", boundary={"x_min": fixed(3.0)})
    assert run(text, step=0.03).step == 34
    assert run(text, step=0.03).solver_statistics.rejected == 0
    assert run(text, step=0.03, tolerance=1e-2).step >= 34
    assert run(text, tolerance=1e-2).step < 34


def test_a_source_that_begins_late_is_not_missed() -> None:
    """Nothing happens before, so the step would grow without end; and no step is short enough for a jump."""
    source = {"power": "100 if t > 0.31 and t < 0.36 else 0", "region": box([0, 0, 0], [0.3, 1, 1])}
    state = run(case([16, 1, 1], 1.0, sources=[source]))
    assert state.energy.stored == pytest.approx(100 * 0.05, rel=1e-2)


def test_the_same_run_gives_the_same_bits() -> None:
    text = VARIED_PROBLEMS["contrast in three dimensions"]
    first, second = run(text), run(text)
    assert field(first).tobytes() == field(second).tobytes()
    assert (first.step, first.solver_statistics) == (second.step, second.solver_statistics)


@in_turn(("precision", "tolerance"), [("float32", 1e-1), ("float64", 1e-3)])
def test_the_energy_ledger_closes_however_loose_the_tolerance(precision: str, tolerance: float) -> None:
    """Also where a capacity is tiny: heat/(C/dt) of the solver's residual would be large there."""
    text = case(
        [12, 10, 6],
        50.0,
        materials={"a": material(50.0, 1000.0, 1.0), "foil": material(0.05, 1e-3, 1e-3)},
        regions=[{"material": "foil", "where": "z > 0.4 and z < 0.6"}],
        initial="300 + 10*x",
        boundary={"z_min": flux(900.0), "z_max": convection("10 + 5*sin(t)", "5*cos(t)"), "x_min": fixed(290.0)},
        sources=[{"power_density": "40*sin(t)**2*x"}, {"power": 3.0, "region": box([0, 0, 0], [1, 1, 0.3])}],
        precision=precision,
    )
    watcher = Recording([10.0, 20.0, 50.0], lambda state: state.energy)
    run(text, [watcher], tolerance=tolerance)
    for energy in watcher.seen:
        assert abs(energy.relative_residual) < 1e-9
        assert energy.sources > 0
        assert abs(energy.faces["z_min"]) > 0
