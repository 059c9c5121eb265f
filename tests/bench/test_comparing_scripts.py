"""The scripts in benchmarks/ that time checkouts: what they count, and the scenarios that they bring along."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from helpers.in_turn import in_turn

from heatsim.scenario import loads

SCRIPTS = Path(__file__).parents[2] / "benchmarks"

# A program that leaves a child behind, which outlives it and computes for half a second.
LEAVES_A_CHILD = (
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
    "'import time\\nwhile time.process_time() < 0.5: pass'])"
)
MAKEFILE = r"""
PYTHON ?= python3
.venv/done: pyproject.toml
	mkdir -p .venv/bin
	printf '#!/bin/sh\necho "== 5 passed, 3 skipped in 2.00s =="' > .venv/bin/python
	chmod +x .venv/bin/python
	cp .venv/bin/python .venv/bin/ruff
	touch $@
test: .venv/done
	.venv/bin/ruff check .
	.venv/bin/python -m pytest \
		-n auto
	EXIT
"""


@pytest.fixture(autouse=True)
def _scripts_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))


def test_cpu_time_of_a_process_that_is_left_behind_counts(tmp_path: Path) -> None:
    code = (
        "import json, os, pathlib, sys; from process_tree import measure_tree\n"
        f"cost = measure_tree([sys.executable, '-c', {LEAVES_A_CHILD!r}], dict(os.environ), pathlib.Path('.'))\n"
        "print(json.dumps([cost.cpu, cost.exit_code]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=SCRIPTS, capture_output=True, text=True, check=True)
    cpu, code_of_exit = json.loads(done.stdout)
    assert cpu > 0.5
    assert code_of_exit == 0


@pytest.mark.parametrize(("end", "code", "failed"), [("true", 0, ""), ("exit 3", 1, "exit 3 (exit code 3)")])
def test_the_parts_of_make_test_are_timed_and_its_items_counted(
    tmp_path: Path, end: str, code: int, failed: str
) -> None:
    project, found = tmp_path / "project", tmp_path / "found.json"
    (project / "heatsim").mkdir(parents=True)
    (project / "heatsim" / "__init__.py").touch()
    (project / "pyproject.toml").touch()
    (project / "Makefile").write_text(MAKEFILE.replace("EXIT", end))
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *command], cwd=project, check=True)
    command = [sys.executable, str(SCRIPTS / "time_tests.py"), "--checkout", str(project), "--json", str(found)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert "| checkout | minutes | environment | lint | mypy | pytest |" in done.stdout
    (times,) = json.loads(found.read_text())["checkouts"]
    assert times["items"] == {"collected": 8, "passed": 5, "skipped": 3}
    assert set(times["wall"]) == set(times["cpu"]) == {"environment", "lint", "pytest"}
    assert times["failed"] == failed


def test_the_scenarios_of_the_scripts_are_valid() -> None:
    first_run, compare = import_module("time_first_run"), import_module("compare_checkouts")
    assert loads(first_run.PIPE).time.integrator == "steady"
    laser = (SCRIPTS.parent / "scenarios" / "laser_scan.toml").read_text(encoding="utf-8")
    shorter = loads(laser, overrides=first_run.LASER_OVERRIDES)
    assert shorter.grid.cells == (60, 30, 10)
    for regions, count in ((compare.ONE_MATERIAL, 1), (compare.THREE_MATERIALS, 3)):
        assert len(loads(compare.SCENARIO + regions).regions) == count


def test_ratios_are_medians_of_the_rounds_ratios() -> None:
    compare = import_module("compare_checkouts")
    key = ("cpu (single)", "float32", 1)
    rounds = [({key: 1e9, ("old", "float32", 1): 1e9}, {key: after}) for after in (1.2e9, 0.9e9, 1.1e9)]
    (row,) = compare._rows(rounds, 1.2)
    assert row["ratio"] == pytest.approx(1.1)
    assert row["cells_per_second"] == [1e9, 1.1e9]
    assert "| cpu (single) | float32 | 1 | 1.00 | 1.10 | 1.100 | 0.90 to 1.20 |" in compare._table([row], "a", "b")
    assert "no ratio: a round took 0.2 s" in compare._table(compare._rows(rounds, 0.2), "a", "b")


@in_turn(
    ("seconds", "told"),
    [
        ([1.9, 2.0, 2.4], "2.00 (Devito), target 2.0"),
        ([0.4, 0.4, 0.4], "no ratio; Devito: a round took 0.4 s, and at least 1 s are needed"),
        ([2.0, 2.1, 2.8], "no ratio; Devito: its rounds spread by 38%"),
    ],
)
def test_no_ratio_is_made_of_rounds_that_are_short_or_spread(seconds: list[float], told: str) -> None:
    """And what is named beside it are the peers that were timed."""
    compare = import_module("compare_cpu")
    own = compare.StencilPeerRow("heatsim", "heatsim", seconds=[2.0] * 3, rates=[4.0] * 3)
    peer = compare.StencilPeerRow("devito", "Devito", seconds=seconds, rates=[2.0] * 3)
    missing = compare.StencilPeerRow("pystencils", "pystencils", skipped="not installed")
    (verdict,) = compare._verdict([own, peer, missing], own, "constant")
    assert verdict.startswith(f"heatsim over the fastest of Devito: {told}")
    assert compare._line(peer, own).endswith(" 2.00" if "target" in told else " -")
