"""A run that is stopped and goes on has the bits of one that was not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import heatsim
from faults.cases import CASES, CURVED, FIXED, GPU_CASES, TRACE, digest, scenario, write_case
from heatsim.errors import RequestError, RunFolderError
from heatsim.simulation import checkpointing
from heatsim.simulation.run import resume_run, run_scenario
from heatsim.simulation.time_loop import Progress

STOPS = 3  # at most, of a run: what was resumed looks at its progress more often than what was not
NEVER = 2**60


def stop_after(calls: int) -> Callable[[Progress], bool]:
    """A callback that stops a run at its progress of this number."""
    left = [calls]

    def on_progress(progress: Progress) -> bool:
        left[0] -= 1
        return left[0] > 0

    return on_progress


def stops_of_resumed(path: Path, folder: Path) -> int:
    """Run the first half of a scenario unbroken, and again with a stop after each quarter of its progress, up to STOPS
    of them; returns how many stops there were. Both have the same bits."""
    calls: list[Progress] = []
    half = heatsim.load(path, [f"time.end={0.5 * heatsim.load(path).time.end}"])  # each step writes a checkpoint

    def count(progress: Progress) -> bool:
        calls.append(progress)
        return True

    unbroken = run_scenario(half, folder / "unbroken", on_progress=count)
    every, stops, run = max(6, len(calls) // 4), 0, folder / "resumed"
    result = run_scenario(half, run, on_progress=stop_after(every))
    while not result.finished:
        stops += 1
        result = resume_run(run, on_progress=stop_after(every if stops < STOPS else NEVER))
    assert digest(run) == digest(unbroken.path)
    return stops


# `rkl2`, equal steps and what melts are tested one by one; these are pairs of them.
LONG = "rkl2 in equal steps", "rkl2 of what melts"


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in CASES])
def test_resumed_runs_have_the_bits_of_unbroken_ones(name: str, tmp_path: Path) -> None:
    assert stops_of_resumed(write_case(tmp_path, CASES[name]), tmp_path) >= 2


@pytest.mark.gpu
@pytest.mark.parametrize("name", GPU_CASES)
def test_resumed_runs_on_a_gpu_have_the_bits_of_unbroken_ones(name: str, tmp_path: Path) -> None:
    assert stops_of_resumed(write_case(tmp_path, GPU_CASES[name]), tmp_path) >= 2


def test_a_run_is_extended_by_another_end(tmp_path: Path) -> None:
    text = CASES["euler"]
    longer = write_case(tmp_path / "longer", text)
    end = float(text.partition("end = ")[2].split()[0])
    unbroken = run_scenario(heatsim.load(longer), tmp_path / "unbroken")
    shorter = write_case(tmp_path / "shorter", text.replace(f"end = {end}", f"end = {end / 2}"))
    run_scenario(heatsim.load(shorter), tmp_path / "extended")
    with pytest.raises(RequestError, match="extends it"):
        resume_run(tmp_path / "extended")
    with pytest.raises(RequestError, match=r"may change time\.end"):
        resume_run(tmp_path / "extended", ["initial.temperature=3"])
    resume_run(tmp_path / "extended", [f"time.end={end}"])
    assert digest(tmp_path / "extended") == digest(unbroken.path)


@pytest.mark.parametrize("asked", [False, True])
def test_a_short_run_whose_checkpoint_would_be_dear_has_none_unless_asked_and_is_extended_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    text = CASES["euler"] if asked else CASES["euler"].replace("checkpoint = { every_minutes = 1e-9 }", "")
    end, told, run = float(text.partition("end = ")[2].split()[0]), list[str](), tmp_path / "run"
    path = write_case(tmp_path / "case", text)
    unbroken = run_scenario(heatsim.load(path), tmp_path / "unbroken")
    assert (unbroken.path / "checkpoint.h5").exists()
    monkeypatch.setattr(checkpointing, "BYTES_PER_SECOND", 1.0)
    run_scenario(heatsim.load(path, [f"time.end={end / 2}"]), run)
    assert (run / "checkpoint.h5").exists() is asked
    with pytest.raises(RequestError, match="extends it"):
        resume_run(run)
    resume_run(run, [f"time.end={end}"], on_warnings=lambda each: told.extend(map(str, each)))
    assert any("starts anew" in each for each in told) is not asked
    assert digest(run) == digest(unbroken.path)
    assert resume_run(run, [f"time.end={1.1 * end}", "output.compression=none"]).finished


def test_a_run_whose_materials_follow_temperature_is_extended_by_another_end(tmp_path: Path) -> None:
    text = scenario(
        "euler", FIXED, TRACE, conductivity=CURVED, precision="float64"
    )  # the trace warms beyond the tables
    unbroken = run_scenario(heatsim.load(write_case(tmp_path / "longer", text)), tmp_path / "unbroken")
    shorter = write_case(tmp_path / "shorter", text.replace("end = 0.6", "end = 0.15"))
    run_scenario(heatsim.load(shorter), tmp_path / "extended")
    extended = resume_run(tmp_path / "extended", ["time.end=0.6"])
    expected, found = (heatsim.open(run.path).temperature[-1].values for run in (unbroken, extended))
    assert np.abs(found - expected).max() < 1e-5 * np.ptp(expected)  # tables of another range, about another reference
    assert abs(extended.info["energy"]["relative_residual"]) < 1e-12
    assert resume_run(tmp_path / "extended", ["time.end=0.7"]).finished


@pytest.mark.parametrize("stop", ["when = \"mean(T, 'steel') > 316\"", "steady_rate = 30.0"])
def test_a_resumed_run_stops_where_an_unbroken_one_does(stop: str, tmp_path: Path) -> None:
    text = scenario("euler", 'z_min = { kind = "fixed", temperature = 330.0 }'.join(("[boundary]\n", "\n")))
    path = write_case(tmp_path, f"{text}[stop]\n{stop}\nevery = 0.05\n")
    unbroken = run_scenario(heatsim.load(path), tmp_path / "unbroken")
    result, stops = run_scenario(heatsim.load(path), tmp_path / "run", on_progress=stop_after(3)), 0
    while not result.finished:
        stops += 1
        result = resume_run(tmp_path / "run", on_progress=stop_after(3 if stops < STOPS else NEVER))
    assert stops >= STOPS
    assert 0.1 < unbroken.info["stop"]["time"] < 0.6
    assert result.info["stop"] == unbroken.info["stop"]
    assert digest(result.path) == digest(unbroken.path)


def test_a_checkpoint_of_another_scenario_is_refused(tmp_path: Path) -> None:
    path = write_case(tmp_path, CASES["rkl2 in equal steps"])
    run_scenario(heatsim.load(path), tmp_path / "run", on_progress=stop_after(3))
    scenario = tmp_path / "run" / "scenario.toml"
    scenario.write_text(scenario.read_text().replace("heat_capacity = 500.0", "heat_capacity = 501.0"))
    with pytest.raises(RunFolderError, match="does not fit its scenario"):
        resume_run(tmp_path / "run")
