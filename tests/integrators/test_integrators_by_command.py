"""`heatsim run` with the integrators that solve: what it writes and says, and what it refuses."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from helpers.in_turn import in_turn
from helpers.scenario_texts import SMALL

from heatsim.cli.main import main
from heatsim.solve.integrators import implicit, steady
from heatsim.store.snapshots import read_snapshot

Heatsim = Callable[..., Result]

BLOCK = (
    SMALL.replace("end = 1.0", "end = 500.0")
    .replace('"300 + 100*x"', "300.0")
    .replace("cells = [8, 8, 8]\nsize = [0.1, 0.1, 0.1]", "cells = [8, 6, 5]\nsize = [0.08, 0.06, 0.05]")
)
BLOCK += """\
[boundary]
z_max = { kind = "convection", coefficient = 500.0, ambient = 290.0 }
[[sources]]
region = { box = { lower = [0, 0, 0], upper = [0.04, 0.04, 0.02] } }
power = 20.0
[output]
snapshots = { count = 5 }
energy = { every = 50.0 }
slices = [{ axis = "z", at = 0.01, every = 100.0 }]
probes = [{ name = "middle", at = [0.04, 0.03, 0.02], every = 100.0 }]
"""
TOLERANT = BLOCK.replace("end = 500.0", 'end = 500.0\nintegrator = "euler"\ntolerance = 1e-3')
STEADY, IMPLICIT = ["--set", "time.integrator=steady"], ["--set", "time.integrator=implicit"]


@pytest.fixture
def heatsim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Heatsim:
    """Run a command on case.toml in `tmp_path`."""
    monkeypatch.chdir(tmp_path)

    def call(command: str, *options: str, text: str = BLOCK) -> Result:
        (tmp_path / "case.toml").write_text(text)
        result = CliRunner().invoke(main, [command, "case.toml", *options])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        return result

    return call


def info_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "outputs" / "case" / "run.json").read_text())
    return found


def rows(folder: Path, name: str) -> list[list[str]]:
    with (folder / "outputs" / "case" / name).open(newline="") as file:
        return list(csv.reader(file))


def test_a_steady_run_keeps_one_state_of_everything(heatsim: Heatsim, tmp_path: Path) -> None:
    done = heatsim("run", *STEADY)
    assert done.exit_code == 0, done.output
    assert "at the steady state" in done.stdout
    assert "iterations, relative residual" in done.stdout
    info = info_of(tmp_path)
    assert (info["state"], info["integrator"], info["kernel"], info["time"]) == (
        "finished",
        "steady",
        "multigrid",
        None,
    )
    assert "small" in info["kernel_reason"]
    assert info["iterations"] > 0
    assert info["residuals"][-1] < 1e-6
    (snapshot,) = (tmp_path / "outputs" / "case" / "snapshots").iterdir()
    mean_of_top = read_snapshot(snapshot).temperature[-1].mean()
    assert mean_of_top == pytest.approx(290 + 20 / (500 * 0.08 * 0.06) + 20 / 0.0048 * 0.005 / 398, abs=0.01)
    header, row = rows(tmp_path, "energy.csv")
    assert header[:4] == ["time [s]", "stored [W]", "sources [W]", "x_min [W]"]
    assert float(row[header.index("z_max [W]")]) == pytest.approx(-20.0, rel=1e-6)
    assert len(rows(tmp_path, "probes.csv")) == 2
    assert len(list((tmp_path / "outputs" / "case" / "slices").glob("*.png"))) == 1


def test_a_steady_run_needs_no_end(heatsim: Heatsim, tmp_path: Path) -> None:
    done = heatsim("run", text=BLOCK.replace("end = 500.0", 'integrator = "steady"'))
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(main, ["info", "outputs/case"]).exit_code == 0
    assert heatsim("validate", text=(tmp_path / "outputs" / "case" / "scenario.toml").read_text()).exit_code == 0


def test_an_implicit_run_has_its_outputs_at_their_times(heatsim: Heatsim, tmp_path: Path) -> None:
    done = heatsim("run", *IMPLICIT)
    assert done.exit_code == 0, done.output
    info = info_of(tmp_path)
    assert (info["state"], info["integrator"], info["time"]) == ("finished", "implicit", 500.0)
    assert 0 < info["steps"] < 500.0 / info["stability_limit_seconds"] / 10
    assert info["iterations"] > info["steps"]
    assert abs(info["energy"]["relative_residual"]) < 1e-9
    header, *records = rows(tmp_path, "energy.csv")
    assert header[1] == "stored [J]"
    np.testing.assert_array_equal([float(record[0]) for record in records], np.arange(11) * 50.0)
    assert f"{info['steps']}" in done.stdout
    assert "stability limit of explicit Euler" in done.stdout


def test_a_run_of_super_steps_says_what_it_took(heatsim: Heatsim, tmp_path: Path) -> None:
    done = heatsim("run", "--set", "time.integrator=rkl2")
    assert done.exit_code == 0, done.output
    info = info_of(tmp_path)
    assert (info["integrator"], info["integrator_reason"], info["kernel"]) == ("rkl2", "named by the scenario", "cpu")
    assert info["stages"] > 3 * info["steps"] > 0
    assert abs(info["energy"]["relative_residual"]) < 1e-4
    _, *records = rows(tmp_path, "energy.csv")
    np.testing.assert_array_equal([float(record[0]) for record in records], np.arange(11) * 50.0)
    assert f"stages           {info['stages']}" in done.stdout
    assert "stability limit of explicit Euler" in done.stdout


def test_auto_takes_an_integrator_and_says_why(heatsim: Heatsim, tmp_path: Path) -> None:
    done = heatsim("run", "--set", "time.integrator=auto", "--set", "time.tolerance=1e-5")
    assert done.exit_code == 0, done.output
    info = info_of(tmp_path)
    assert info["integrator"] in ("rkl2", "implicit")
    assert "euler has too few steps" in info["integrator_reason"]
    assert info["integrator_reason"] in done.stdout
    kept = (tmp_path / "outputs" / "case" / "scenario.toml").read_text()
    assert f'integrator = "{info["integrator"]}"' in kept
    assert "tolerance = 1e-05" in kept


def test_a_dry_run_compares_all_integrators(heatsim: Heatsim) -> None:
    for chosen in ("auto", "euler", "implicit", "rkl2"):
        numbers = json.loads(heatsim("run", "--dry-run", "--json", "--set", f"time.integrator={chosen}").stdout)
        advice = numbers["advice"]
        assert [each["integrator"] for each in advice["estimates"]] == ["euler", "rkl2", "implicit"]
        assert all(each["steps"] > 0 and each["seconds"] > 0 for each in advice["estimates"])
        assert chosen == "auto" or numbers["integrator"] == chosen
        if chosen == "implicit":  # the table holds what was measured
            assert advice["estimates"][-1]["seconds"] == numbers["seconds"]
        assert chosen != "auto" or numbers["integrator"] == advice["integrator"]
    shown = heatsim("run", "--dry-run").stdout
    assert "advised for an error of 0.001 of the range of temperatures: " in shown
    assert shown.index("euler ") < shown.index("rkl2 ") < shown.index("implicit ")


def test_a_tolerance_for_explicit_euler_is_warned_of(heatsim: Heatsim) -> None:
    assert "explicit Euler has no error control" in heatsim("validate", text=TOLERANT).stderr
    assert "no error control" not in heatsim("validate", text=TOLERANT.replace("euler", "auto")).stderr


def test_steps_beyond_the_stability_limit_are_for_all_but_explicit_euler(heatsim: Heatsim) -> None:
    for integrator in ("implicit", "rkl2"):
        done = heatsim("run", "--set", "time.step=10", "--set", f"time.integrator={integrator}", "--force")
        assert done.exit_code == 0, done.output
    refused = heatsim("run", "--set", "time.step=10", "--set", "time.integrator=euler", "--force")
    assert refused.exit_code == 2
    assert 'integrator = "implicit" has no limit' in refused.stderr


@pytest.mark.parametrize(
    ("integrator", "said"), [("steady", "time    about"), ("implicit", "steps            found on the way; about")]
)
def test_a_dry_run_says_what_can_be_known(heatsim: Heatsim, tmp_path: Path, integrator: str, said: str) -> None:
    done = heatsim("run", "--dry-run", "--set", f"time.integrator={integrator}")
    assert done.exit_code == 0, done.output
    assert said in done.stdout
    numbers = json.loads(heatsim("run", "--dry-run", "--json", "--set", f"time.integrator={integrator}").stdout)
    assert numbers["steps"] == (1 if integrator == "steady" else None)
    assert numbers["seconds_a_step"] > 0
    assert not (tmp_path / "outputs").exists()


FLOATING = BLOCK.replace('"convection", coefficient = 500.0, ambient = 290.0', '"flux", flux = -4166.0')
UNDECIDED = BLOCK.replace("coefficient = 500.0", "coefficient = 0.0")
PERIODIC = BLOCK.replace(
    'z_max = { kind = "convection", coefficient = 500.0, ambient = 290.0 }', 'default = { kind = "periodic" }'
)
SWINGING = BLOCK.replace("ambient = 290.0", 'ambient = "290 + sin(t)"')


@in_turn(
    ("text", "options", "reason"),
    [
        (FLOATING, STEADY, "time.integrator: no steady state, or any number of them: no face has a temperature"),
        (UNDECIDED, STEADY, "no steady state"),
        (PERIODIC, STEADY, "no steady state"),
        (SWINGING, STEADY, "a steady state needs boundary values, ambients and sources that do not depend on t"),
        (BLOCK, [*STEADY, "--device", "cuda", "--kernel", "cpu"], 'compute.kernel: "cpu" runs on device "cpu"'),
        (BLOCK, [*IMPLICIT, "--kernel", "basic"], 'compute.kernel: "basic" takes explicit steps'),
        (BLOCK, [*IMPLICIT, "--set", "time.tolerance=0.5"], "(a share of the range of temperatures), found 0.5"),
        (BLOCK, [*IMPLICIT, "--set", "time.tolerance=0"], "(a share of the range of temperatures), found 0"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    heatsim: Heatsim, tmp_path: Path, text: str, options: list[str], reason: str
) -> None:
    done = heatsim("run", *options, text=text)
    assert done.exit_code == 2, done.output
    assert reason in done.stderr
    assert not (tmp_path / "outputs").exists()


def test_a_steady_solve_that_does_not_converge_keeps_its_last_state_and_its_history(
    heatsim: Heatsim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steady, "MAX_ITERATIONS", 1)
    monkeypatch.setattr(steady, "ITERATIONS_A_CYCLE", 1)
    done = heatsim("run", *STEADY, "--set", "time.tolerance=1e-10", text=BLOCK.replace("[8, 6, 5]", "[16, 12, 10]"))
    assert done.exit_code == 1, done.output
    assert "did not converge: the relative residual went from" in done.stderr
    info = info_of(tmp_path)
    assert info["state"] == "failed"
    assert len(info["residuals"]) == 2
    assert len(list((tmp_path / "outputs" / "case" / "snapshots").iterdir())) == 1


def test_an_implicit_step_that_does_not_converge_keeps_what_came_before(
    heatsim: Heatsim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve, calls = implicit.Implicit.trial_step, iter(range(1000))

    def fail_later(self: implicit.Implicit, dt: float, accuracy: float | None) -> implicit.ImplicitTrialStep:
        if next(calls) >= 6:
            monkeypatch.setattr(implicit, "MAX_ITERATIONS", -1)
        return solve(self, dt, accuracy)

    monkeypatch.setattr(implicit.Implicit, "trial_step", fail_later)
    done = heatsim("run", *IMPLICIT, "--set", "time.step=25")
    assert done.exit_code == 1, done.output
    assert "did not converge" in done.stderr
    info = info_of(tmp_path)
    assert (info["state"], info["steps"], info["time"]) == ("failed", 6, 150.0)
    times = [read_snapshot(path).time for path in sorted((tmp_path / "outputs" / "case" / "snapshots").iterdir())]
    assert times == [0.0, 100.0, 150.0]


def test_a_value_that_stops_being_finite_ends_the_run(heatsim: Heatsim, tmp_path: Path) -> None:
    text = BLOCK + "[[sources]]\npower_density = '1/step(abs(t - 200) - 2)'\n"
    assert heatsim("run", *IMPLICIT, text=text).exit_code == 3
    assert info_of(tmp_path)["state"] == "failed"


def test_backward_euler_in_equal_steps_is_of_first_order(heatsim: Heatsim, tmp_path: Path) -> None:
    def middle(*options: str) -> float:
        result = heatsim("run", *IMPLICIT, *options, "--force")
        assert result.exit_code == 0, result.output
        return float(rows(tmp_path, "probes.csv")[-1][1])

    exact = middle("--set", "time.tolerance=1e-5")
    equal = ["--set", "time.method=backward-euler", "--set"]
    errors = [middle(*equal, f"time.step={step}") - exact for step in (50.0, 25.0)]
    assert info_of(tmp_path)["steps"] == 20
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.15)


def test_backward_euler_takes_the_steps_that_a_tolerance_allows(heatsim: Heatsim, tmp_path: Path) -> None:
    def steps(*options: str) -> int:
        result = heatsim("run", *IMPLICIT, "--set", "time.method=backward-euler", *options, "--force")
        assert result.exit_code == 0, result.output
        return int(info_of(tmp_path)["steps"])

    loose, tight = (steps("--set", f"time.tolerance={tolerance}") for tolerance in (2e-2, 5e-3))
    assert 2.5 * loose < tight < 6 * loose


@pytest.mark.parametrize(
    ("time", "key", "message"),
    [
        ('integrator = "rkl2"', "time.method", 'expected integrator = "implicit" with "backward-euler", found "rkl2"'),
        ('integrator = "implicit"\ntolerance = 1e-6', "time.tolerance", "expected at least 1e-05"),
    ],
)
def test_backward_euler_that_cannot_be_had_is_refused(heatsim: Heatsim, time: str, key: str, message: str) -> None:
    text = BLOCK.replace("end = 500.0", f'end = 500.0\nmethod = "backward-euler"\n{time}')
    result = heatsim("validate", text=text)
    assert result.exit_code == 2
    assert key in result.output
    assert message in " ".join(result.output.split())
