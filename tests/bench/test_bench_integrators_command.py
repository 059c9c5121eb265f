"""`heatsim bench integrators` on a coarse grid: what it tells, what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench_cases import call
from click.testing import Result
from helpers.in_turn import in_turn
from PIL import Image

from heatsim.studies.bench.integrators import benchmark
from heatsim.studies.bench.integrators.benchmark import time_to_accuracy

COARSE = ("--device", "cpu", "--size", "32", "--limit", "20")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict[str, Any]]:
    """The smooth problem by explicit and super steps."""
    folder = tmp_path_factory.mktemp("integrators")
    file, figure = folder / "found.json", folder / "accuracy.png"
    chosen = ("--problem", "smooth", "--integrator", "euler", "--integrator", "rkl2")
    result = call(*COARSE, *chosen, "--json", file, "--figure", figure, command="integrators")
    return result, json.loads(file.read_text())


def test_each_tolerance_has_a_row_with_the_error_that_came_of_it(measured: tuple[Result, dict[str, Any]]) -> None:
    result, document = measured
    assert result.exit_code == 0, result.output
    euler, *controlled = document["rows"]
    assert (euler["name"], euler["tolerance"], euler["sweeps"]) == ("euler", None, euler["steps"])
    errors = [row["error"] for row in controlled]
    assert errors == sorted(errors, reverse=True)
    assert all(row["error"] <= row["tolerance"] for row in controlled[:3])
    assert all(row["sweeps"] > 3 * row["steps"] > 0 and row["seconds"] > 0 for row in controlled)


def test_a_figure_is_drawn(measured: tuple[Result, dict[str, Any]]) -> None:
    _, document = measured
    assert document["asked"]["integrator"] == ["euler", "rkl2"]
    with Image.open(document["asked"]["figure"]) as image:
        assert image.size[0] > 400


def test_a_run_that_is_too_long_is_cut_short_and_one_that_is_wrong_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    short = call("--device", "cpu", "--size", "32", "--limit", "1e-9", "--integrator", "euler", command="integrators")
    assert short.exit_code == 0, short.output
    assert "% of the run)" in short.stdout
    monkeypatch.setattr(benchmark, "ALLOWED", 1e-9)
    monkeypatch.setattr(benchmark, "TOLERANCES", (1e-2,))
    wrong = call(*COARSE, "--problem", "smooth", "--integrator", "rkl2", command="integrators")
    assert wrong.exit_code == 1
    assert "rkl2, smooth in float32 FAILED: an error of" in wrong.stderr


@in_turn(
    ("options", "said"),
    [
        (("--size", "50"), "expected a multiple of 32 cells"),
        (("--limit", "0"), "a time above 0 is needed"),
        (("--json", "nowhere/found.json"), "there is no folder"),
    ],
)
def test_what_makes_no_sense_is_refused(
    options: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = call("--device", "cpu", *options, command="integrators")
    assert refused.exit_code == 2
    assert said in refused.stderr


def test_time_to_an_accuracy_lies_between_the_rows_about_it() -> None:
    rows = [{"error": 1e-2, "seconds": 1.0}, {"error": 1e-3, "seconds": 2.0}, {"error": 1e-5, "seconds": 8.0}]
    assert time_to_accuracy(rows, 1e-4) == pytest.approx(4.0)
    assert time_to_accuracy(rows, 0.1) == 1.0
    assert time_to_accuracy(rows, 1e-6) is None
    assert time_to_accuracy([*rows, {"seconds": 30.0}], 1e-6) == 30.0
