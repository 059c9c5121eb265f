"""A few of each fault that `make faults` plants by the thousand."""

from __future__ import annotations

from pathlib import Path

import pytest

import heatsim
from faults.cases import CASES, write_case
from faults.corruption import corruptions
from faults.hostile import expressions, inputs, scenarios
from faults.test_resumed_runs import stop_after
from heatsim.simulation.run import run_scenario


def test_damaged_checkpoints_are_found(tmp_path: Path) -> None:
    run_scenario(heatsim.load(write_case(tmp_path, CASES["euler"])), tmp_path / "run", on_progress=stop_after(3))
    counts = corruptions(tmp_path / "run" / "checkpoint.h5", 700, 50)
    assert counts == {"bytes changed": 700, "truncations": 50, "overlooked": 0}


@pytest.mark.filterwarnings("ignore")
def test_files_that_are_made_to_do_harm_are_refused() -> None:
    found = {"scenarios": scenarios(300), "inputs": inputs(150, 5), "expressions": expressions(3000)}
    assert found["expressions"]["escapes"] == 0
    for counts in (found["scenarios"], found["inputs"]):
        assert counts["tracebacks"] == counts["over 5 s"] == counts["over 1 GB"] == 0
        assert counts["refused"] > 10
        assert counts["accepted"] > 2
    assert found["scenarios"]["files outside or left behind"] == 0
