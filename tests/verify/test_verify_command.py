"""`heatsim verify`: the quick problems are the convergence regression tests of the suite."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from helpers.in_turn import in_turn

from heatsim.cli.main import main
from heatsim.scenario import load
from heatsim.studies.verification import problem_runs
from heatsim.studies.verification.judgement import VerificationProblem
from heatsim.studies.verification.problems import PROBLEMS

pytestmark = pytest.mark.xdist_group("verify")  # one process compiles the kernels once

ROOT = Path(__file__).parents[2]
QUICK = [problem for problem in PROBLEMS if problem.quick]

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run a command in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False)


# Take longest to compile. Other problems have convection, fixed faces and two dimensions one by one; other tests have
# the wall whose conductivity depends on temperature, by all integrators, and the second order of its error.
LONG = "nafems-t2", "nonlinear-conductivity", "manufactured-nonlinear"


@pytest.mark.parametrize(
    "problem",
    [pytest.param(each, marks=[pytest.mark.long] * (each.name in LONG), id=each.name) for each in QUICK],
)
def test_a_quick_problem_is_solved_within_its_tolerance_and_order(problem: VerificationProblem, tmp_path: Path) -> None:
    outcome = problem_runs.verify_problem(problem, tmp_path, "cpu", "float64")
    assert outcome.state == "passed", [outcome.reason, *(c for c in outcome.judgement.checks if not c.passed)]


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", ["mode-3d", "semi-infinite-convection", "manufactured-composite"])
def test_a_problem_is_solved_on_a_gpu(name: str, precision: str, tmp_path: Path) -> None:
    (problem,) = (each for each in PROBLEMS if each.name == name)
    outcome = problem_runs.verify_problem(problem, tmp_path, "cuda", precision)
    assert outcome.state == "passed", [outcome.reason, *outcome.judgement.checks]


def test_every_problem_has_a_scenario_and_every_scenario_a_problem() -> None:
    files = {path.stem for path in (ROOT / "scenarios" / "verify").glob("*.toml")}
    assert files == {problem.name for problem in PROBLEMS}
    assert len(files) == len(PROBLEMS)


@in_turn("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_a_scenario_names_its_schema_and_its_source_and_is_computed_in_float64(problem: VerificationProblem) -> None:
    path = problem_runs.scenario_file(problem.name)
    schema, *lines = path.read_text(encoding="utf-8").splitlines()
    assert schema == "#:schema ../heatsim.schema.json"
    assert lines[0].startswith("# ")
    assert tomllib.loads(path.read_text(encoding="utf-8"))["compute"] == {"precision": "float64"}


@in_turn("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_nothing_is_wrong_with_a_scenario(problem: VerificationProblem) -> None:
    assert load(problem_runs.scenario_file(problem.name)).title


def test_problems_are_listed_and_unknown_ones_refused(invoke: Invoke) -> None:
    listed = invoke("verify", "--list")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [problem.name for problem in PROBLEMS]
    refused = invoke("verify", "iso-1021")
    assert refused.exit_code == 2
    assert "iso-1021: not a problem" in refused.stderr


def test_the_table_json_figures_and_runs_tell_the_same(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("verify", "mode-1d", "heated-slab", "--device", "cpu", "--output", "kept")
    assert done.exit_code == 0
    assert re.search(r"mode-1d +RMS error of the field +0 .* K .* pass", done.stdout)
    assert "2 passed, 0 failed (CPU, float64)" in done.stdout
    assert (tmp_path / "kept" / "mode-1d.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "kept" / "mode-1d" / "grid_8_step_1" / "run.json").is_file()
    told = json.loads(invoke("verify", "mode-1d", "--device", "cpu", "--json").stdout)
    assert told["precision"] == "float64"
    (problem,) = told["problems"]
    assert (problem["name"], problem["state"]) == ("mode-1d", "passed")
    field, ledger = problem["checks"]
    assert field["passed"]
    assert field["order"] == pytest.approx(2.0, abs=0.1)
    assert abs(ledger["result"]) < 1e-9


def with_scenario(monkeypatch: pytest.MonkeyPatch, folder: Path, change: Callable[[str], str]) -> None:
    """Have `verify` read changed scenarios."""

    def changed(name: str) -> Path:
        path = folder / f"{name}.toml"
        path.write_text(change((ROOT / "scenarios" / "verify" / f"{name}.toml").read_text()))
        return path

    monkeypatch.setattr(problem_runs, "scenario_file", changed)


def test_wrong_physics_fails_with_exit_code_5(invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with_scenario(monkeypatch, tmp_path, lambda text: text.replace("conductivity = 1.0", "conductivity = 1.001"))
    done = invoke("verify", "mode-1d", "--device", "cpu")
    assert done.exit_code == 5
    assert "FAILED" in done.stdout
    assert "0 passed, 1 failed" in done.stdout


def test_a_run_that_fails_is_a_failure_with_its_reason(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with_scenario(monkeypatch, tmp_path, lambda text: text.replace("end = 3000.0", "end = -1.0"))
    done = invoke("verify", "mode-1d", "--device", "cpu")
    assert done.exit_code == 5
    assert "mode-1d.toml:8:10: time.end: expected" in done.stderr


def test_a_document_holds_table_and_figures_between_markers(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heatsim.studies.verification import command

    monkeypatch.setattr(command, "PROBLEMS", [each for each in PROBLEMS if each.name in ("mode-1d", "time-euler")])
    path = tmp_path / "verification.md"
    path.write_text("# Verification\n\nKept.\n")
    for _ in range(2):
        assert invoke("verify", "--device", "cpu", "--write", path).exit_code == 0
    text = path.read_text()
    assert text.startswith("# Verification\n\nKept.\n")
    assert text.count("<!-- heatsim verify: CPU, float64 -->") == 1
    assert text.count("| `mode-1d` | RMS error of the field |") == 1
    assert text.count("](images/verify/time-euler.png)") == 1
    assert (tmp_path / "images" / "verify" / "mode-1d.png").is_file()
    assert invoke("verify", "mode-1d", "--write", path).exit_code == 2


def test_figures_with_wide_digits_ask_for_float64(invoke: Invoke) -> None:
    told = json.loads(invoke("verify", "composite-wall", "--precision", "float32", "--device", "cpu", "--json").stdout)
    assert told["problems"][0]["state"] == "needs"
