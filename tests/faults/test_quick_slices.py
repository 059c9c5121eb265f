"""A few of each fault that `make faults` plants by the thousand."""

from __future__ import annotations

from pathlib import Path

import pytest

import heatsim
from faults.cases import CASES, write_case
from faults.corruption import corruptions, kernel_corruptions
from faults.generated import generated
from faults.hostile import expressions, inputs, scenarios
from faults.mutants import counted
from faults.nonfinite import faults
from faults.test_resumed_runs import stop_after
from faults.too_large import too_large
from heatsim.simulation.run import run_scenario


def test_damaged_checkpoints_are_found(tmp_path: Path) -> None:
    run_scenario(heatsim.load(write_case(tmp_path, CASES["euler"])), tmp_path / "run", on_progress=stop_after(3))
    counts = corruptions(tmp_path / "run" / "checkpoint.h5", 700, 50)
    assert counts == {"bytes changed": 700, "truncations": 50, "overlooked": 0}


def test_damaged_kernels_are_not_used(tmp_path: Path) -> None:
    assert kernel_corruptions(tmp_path, 700, 50)["used"] == 0


@pytest.mark.filterwarnings("ignore")
def test_what_is_not_finite_ends_a_run_in_time() -> None:
    counts = faults(6, 1, names=("euler of what melts", "rkl2", "implicit in equal steps"))
    assert counts == {**counts, "stopped": 7, "not found": 0, "files that hold what is not finite": 0}
    assert counts["place or time not told"] == counts["later than 100 steps"] == 0


def test_scenarios_that_are_too_large_are_refused_before_anything_is_written() -> None:
    counts = too_large(8)
    assert (counts["refused"], counts["files written"]) == (8, 0)


def test_valid_scenarios_of_all_keys_run_and_close_their_ledgers() -> None:
    told: list[str] = []
    counts, _ = generated(4, 7, told.append)
    assert not told, told
    assert counts["run"] == 4


@pytest.mark.filterwarnings("ignore")
def test_files_that_are_made_to_do_harm_are_refused() -> None:
    found = {"scenarios": scenarios(300), "inputs": inputs(150, 5), "expressions": expressions(3000)}
    assert found["expressions"]["escapes"] == 0
    for counts in (found["scenarios"], found["inputs"]):
        assert counts["tracebacks"] == counts["over 5 s"] == counts["over 1 GB"] == 0
        assert counts["refused"] > 10
        assert counts["accepted"] > 2
    assert found["scenarios"]["files outside or left behind"] == 0


@pytest.mark.parametrize(("kind", "numbers"), [("scenarios", range(400)), ("chips", range(100))])
def test_mutants_of_scenarios_and_chip_files_are_taken_or_refused(kind: str, numbers: range) -> None:
    faults: list[str] = []
    counts = counted(kind, numbers, faults.append)
    assert not faults, faults
    assert counts["tracebacks"] == 0
    assert min(counts["valid"], counts["refused"]) > 20
