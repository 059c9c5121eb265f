"""`heatsim converge`: orders of any scenario, in space and in time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from helpers.in_turn import in_turn

from heatsim.base.grid import CellGrid
from heatsim.cli.main import main
from heatsim.studies.verification.study import Sought, study

pytestmark = pytest.mark.xdist_group("verify")

BAR = """\
temperature_unit = "degC"
grid = { cells = [8, 1, 1], size = [1.0, 1.0, 1.0] }
time = { end = 0.1 }
materials.unit = { conductivity = 1.0, density = 1.0, heat_capacity = 1.0 }
regions = [{ material = "unit" }]
initial = { temperature = "sin(pi*x)" }
boundary.x_min = { kind = "fixed", temperature = 0.0 }
boundary.x_max = { kind = "fixed", temperature = 0.0 }
output.snapshots = { at = [0.03] }
output.probes = [{ name = "mid point", at = [0.5, 0.5, 0.5], every = 0.05 }]
"""
EXACT = "sin(pi*x)*exp(-pi**2*t)"
LIMIT = 0.37270783487  # exp(-pi^2/10)

Converge = Callable[..., Result]


@pytest.fixture
def converge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Converge:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bar.toml").write_text(BAR)

    def call(*words: str) -> Result:
        command = ["converge", "bar.toml", "--set", "compute.device=cpu", *words]
        return CliRunner().invoke(main, command, catch_exceptions=False)

    return call


def studies(done: Result) -> dict[str, dict[str, Any]]:
    assert done.exit_code == 0, done.stderr
    return {found["kind"]: found for found in json.loads(done.stdout)["studies"]}


def test_order_two_in_space_against_an_exact_solution(converge: Converge) -> None:
    found = studies(converge("--exact", EXACT, "--refine", "grid", "--levels", "3", "--json"))["grid"]
    assert found["order"] == pytest.approx(2.0, abs=0.1)
    assert [row["cells"] for row in found["rows"]] == [[8, 1, 1], [16, 1, 1], [32, 1, 1]]
    assert [row["spacing"] for row in found["rows"]] == [1.0, 0.5, 0.25]
    assert all(row["error"] is not None for row in found["rows"])


def test_orders_from_successive_runs_where_nothing_exact_is_known(converge: Converge) -> None:
    found = studies(converge("--json"))
    assert found["grid"]["order"] == pytest.approx(2.0, abs=0.05)
    counts = [row["steps"] for row in found["grid"]["rows"]]
    assert counts == [counts[0] * factor for factor in (1, 4, 16, 64)]
    assert found["step"]["order"] == pytest.approx(1.0, abs=0.1)
    assert len(found["grid"]["rows"]) == 4
    assert found["grid"]["rows"][-1]["error"] is None  # there is no finer one
    assert {tuple(row["cells"]) for row in found["step"]["rows"]} == {(8, 1, 1)}


def test_order_two_in_time_of_implicit_steps(converge: Converge) -> None:
    implicit = ("--set", "time.integrator=implicit", "--set", "time.step=0.02", "--refine", "step")
    found = studies(converge(*implicit, "--json"))["step"]
    assert found["order"] == pytest.approx(2.0, abs=0.1)
    assert [row["steps"] for row in found["rows"]] == [5, 10, 20, 40]  # though probe and snapshot are due on the way


def test_a_probe_is_followed_to_its_limit(converge: Converge) -> None:
    found = studies(converge("--quantity", "probe mid point", "--refine", "grid", "--json"))["grid"]
    assert found["limit"] == pytest.approx(LIMIT, rel=1e-3)
    assert abs(found["limit"] - LIMIT) < 0.5 * abs(found["rows"][-1]["value"] - LIMIT)


def test_the_table_a_figure_and_the_runs(converge: Converge, tmp_path: Path) -> None:
    done = converge("--levels", "3", "--figure", "orders.png", "--output", "kept")
    assert "observed order in space: " in done.stdout
    assert "observed order in time: " in done.stdout
    assert "16 x 1 x 1" in done.stdout
    assert (tmp_path / "orders.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "kept" / "grid_4" / "run.json").is_file()


def test_of_a_body_in_an_ambient_what_is_solid_on_both_grids_counts(converge: Converge) -> None:
    """The bar ends at 0.625, 0.625 and 0.59375 of the air at -50 degC; its mean is a result."""
    words = [
        'regions=[{ material = "unit" }, { material = "air", where = "x > 0.6" }]',
        "ambients.air={ temperature = -50.0, coefficient = 0.01 }",
        "output.results=[{ name = 'mean', of = 'mean(T)' }, { name = 'out', of = \"heat('air')\", at = 0.02 }]",
        "output.probes=[]",
    ]
    given = [word for each in words for word in ("--set", each)]
    found = studies(converge(*given, "--refine", "grid", "--levels", "3", "--json"))["grid"]
    assert [row["compared"] for row in found["rows"]] == [1.0, pytest.approx(0.9), None]
    assert [row["largest"] < 0.1 for row in found["rows"][:-1]] == [True, True]
    of_mean = studies(converge(*given, "--refine", "grid", "--levels", "3", "--quantity", "mean", "--json"))["grid"]
    assert all(0.0 < row["value"] < 0.4 for row in of_mean["rows"])
    assert of_mean["rows"][0]["error"] == pytest.approx(abs(of_mean["rows"][0]["value"] - of_mean["rows"][1]["value"]))
    told = converge(*given, "--refine", "grid", "--levels", "3").stdout
    assert "of the body's volume what is solid on both grids: 100 %, 90 %" in told
    refused = converge(*given, "--quantity", "least")
    assert (refused.exit_code, 'expected "field" or "mean" or "out"' in refused.stderr) == (2, True)


def test_orders_that_differ_from_run_to_run_are_none() -> None:
    runs = [_run(n, value) for n, value in enumerate((2.0, 1.0, 0.99, 0.985))]
    found = study("grid", runs, Sought("result", "q"), None)  # type: ignore[arg-type]
    assert (found.order, found.limit) == (None, None)
    assert found.reason == "from run to run it is 6.64, 1.00; begin with a finer one"


def _run(level: int, value: float) -> SimpleNamespace:
    grid = CellGrid((1, 1, 2**level), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    one = np.ones(grid.shape)
    info = {"results": {"q": value}, "cells": grid.shape[::-1], "steps": 1}
    return SimpleNamespace(info=info, refined=2**level, grid=grid, solid=one > 0, temperature=one)


@in_turn(
    ("words", "message"),
    [
        (("--quantity", "probe end"), 'expected "field" or "probe mid point"'),
        (("--exact", "sin(x"), "--exact: not an expression"),
        (("--exact", "1/t - q"), "--exact: "),
        (("--refine", "step", "--set", "time.integrator=steady"), "a steady state has no steps"),
        (("--set", "grid.cells=[1,1,1]"), "nothing to refine"),
        (("--set", 'initial.temperature={ file = "start.npy" }'), "cannot be refined"),
        (("--levels", "2"), "--levels"),
        (("--figure", "nowhere/orders.png"), "there is no folder nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    converge: Converge, words: tuple[str, ...], message: str
) -> None:
    done = converge(*words, "--output", "kept")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not Path("kept").exists()


def test_what_was_exact_already_has_no_order(converge: Converge) -> None:
    done = converge("--set", "initial.temperature=0.0", "--refine", "grid", "--levels", "3")
    assert done.exit_code == 0
    assert "no order can be read in space: an error is rounding only" in done.stdout


def test_values_that_swing_or_run_away_have_no_order_and_no_limit(converge: Converge) -> None:
    """Hot up to x = 0.54, in the cells with centres there: to 0.5, 0.5625 and 0.53125 on the three grids."""
    hot = 'regions=[{ material = "unit" }, { where = "x < 0.54", initial = 1.0, material = "unit" }]'
    swings = ("--set", "initial.temperature=0.0", "--set", hot, "--set", "time.end=0.01")
    words = (*swings, "--set", "output.snapshots={count=1}", "--quantity", "probe mid point", "--refine", "grid")
    done = converge(*words, "--levels", "3")
    assert "no order can be read in space: the differences change sign" in done.stdout
    assert "goes to" not in done.stdout
    found = studies(converge(*words, "--levels", "3", "--json"))["grid"]
    assert (found["order"], found["limit"]) == (None, None)
    assert all(row["order"] is None for row in found["rows"])
    assert all(row["error"] > 0 for row in found["rows"][:-1])
    wrong = converge("--exact", "-1e3", "--refine", "grid", "--levels", "3", "--quantity", "probe mid point")
    assert "no order can be read in space: the errors do not fall" in wrong.stdout


def test_an_end_before_times_of_output_is_refused_with_key_and_remedy(converge: Converge) -> None:
    done = converge("--set", "time.end=0.01", "--refine", "grid", "--levels", "3")
    assert done.exit_code == 2
    assert "output.snapshots.at: expected times up to time.end = 0.01 (s), found 0.03" in done.stderr
    assert "--set 'output.snapshots={count=1}'" in done.stderr
    again = ("--set", "output.snapshots={count=1}", "--refine", "grid", "--levels", "3")
    assert converge("--set", "time.end=0.01", *again).exit_code == 0
