"""`[[output.results]]`: numbers for which a run is made."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.in_turn import in_turn

import heatsim
from heatsim.cli.main import main
from heatsim.cli.summary import format_run
from heatsim.errors import ScenarioError
from heatsim.scenario import loads
from heatsim.store.tables import read_table

# A thin rod whose two halves do not touch heat: the left one is heated, the right one stays.
TEXT = """
grid = { cells = [8, 2, 2], size = [0.8, 0.1, 0.1] }
time = { end = 10.0, integrator = "euler" }
initial = { temperature = 300.0 }
materials.steel = { conductivity = 20.0, density = 1000.0, heat_capacity = 500.0 }
materials.foam = { conductivity = 1e-9, density = 250.0, heat_capacity = 500.0 }
regions = [{ material = "foam" }, { material = "steel", where = "x < 0.4" }]
sources = [{ power = 200.0, region = { where = "x < 0.4" } }]
boundary = { x_min = { kind = "flux", flux = 1e4 } }
[output]
snapshots = { count = 1 }
probes = [{ name = "left", at = [0.2, 0.05, 0.05], count = 1 }]
results = [
    { name = "mean", of = "mean(T, 'steel')" },
    { name = "half way", of = "mean(T, 'steel')", at = 5.0 },
    { name = "average", of = "mean(T, 'steel')", over = "time" },
    { name = "coldest", of = "min(T)", over = "time", every = 1.0 },
    { name = "hottest", of = "max(T)", over = "time", every = 1.0 },
    { name = "probe", of = "probe('left')", over = "time", every = 2.5 },
    { name = "size", of = "volume('foam')" },
    { name = "mass", of = "mass()" },
    { name = "heat", of = 'heat("x_min")' },
]
"""
CAPACITY = 0.4 * 0.01 * 5e5  # J/K of the steel


def steel(t: float) -> float:
    """Its mean, K: 200 W inside, and 100 W through the face."""
    return 300.0 + 300.0 * t / CAPACITY


def test_results_are_those_of_the_balance(tmp_path: Path) -> None:
    run = heatsim.run(loads(TEXT), tmp_path / "run")
    found = json.loads((run.path / "run.json").read_text())["results"]
    assert found["mean"] == pytest.approx(steel(10.0), abs=1e-4)
    assert found["half way"] == pytest.approx(steel(5.0), abs=1e-4)
    assert found["average"] == pytest.approx(steel(5.0), abs=1e-4)
    assert found["coldest"] == pytest.approx(300.0, abs=1e-6)
    assert found["hottest"] > found["mean"]
    assert found["heat"] == pytest.approx(1000.0, rel=1e-6)
    header, rows = read_table(run.path / "results.csv")
    assert (found["size"], found["mass"]) == (pytest.approx(0.004), pytest.approx(4.0 + 1.0))
    assert header[1] == "mean [K]"
    assert header[-3:] == ["size [m3]", "mass [kg]", "heat [J]"]
    lines = format_run(run.path, run.info).splitlines()
    summary = {line.partition("  ")[0]: line.partition("  ")[2].strip() for line in lines}
    assert (summary["mass"], summary["size"], summary["heat"]) == ("5 kg", "0.004 m3", "1000 J")
    assert summary["hottest"].endswith("K at t = 10 s")
    with (run.path / "run.log").open("a") as log:  # run.json has only what is warned of after the run
        log.write("2026-11-29 19:26:09,874 WARNING whole cells hold more than the shape\n")
    drawing = CliRunner().invoke(main, ["plot", str(run.path), "--overview", "--output", str(tmp_path / "a.svg")])
    assert drawing.exit_code == 0
    warned = f">{len(run.warnings) + 1}<"
    assert {">mass<", ">5 kg<", ">0.004 m³<", ">warnings<", warned} <= set(
        re.findall(r">[^<>]+<", (tmp_path / "a.svg").read_text())
    )
    assert found["probe"] == pytest.approx(rows[:, 6].max(), abs=1e-4)
    assert found["hottest"] == pytest.approx(rows[:, 5].max(), abs=1e-4)
    assert run.info["result_times"]["hottest"] == 10.0
    probes = read_table(run.path / "probes.csv")[1]
    assert rows[-1, 6] == probes[-1, 1]


def test_a_run_that_is_stopped_before_has_no_value(tmp_path: Path) -> None:
    run = heatsim.run(loads(TEXT), tmp_path / "run", on_progress=lambda progress: progress.time < 6.0)
    assert not run.finished
    assert format_run(Path("a b"), run.info).splitlines()[-1].split("  ")[-1].strip() == "heatsim resume 'a b'"
    found = run.info["results"]
    assert found["mean"] is found["hottest"] is found["average"] is None
    assert found["half way"] == pytest.approx(steel(5.0), abs=1e-4)


def test_a_stop_is_the_end(tmp_path: Path) -> None:
    text = TEXT + "[stop]\nwhen = \"mean(T, 'steel') > 300.9\"\nevery = 1.0\n"
    found = heatsim.run(loads(text), tmp_path / "run").info["results"]
    assert found["mean"] == pytest.approx(300.9, abs=1e-4)  # at t = 6 s
    assert found["average"] == pytest.approx(300.45, abs=1e-4)


def test_results_of_a_steady_state(tmp_path: Path) -> None:
    text = TEXT.replace('end = 10.0, integrator = "euler"', 'integrator = "steady"').replace(
        'power = "t"', "power = 2.0"
    )
    text = text.replace("x_min = {", "y_min = { kind = 'fixed', temperature = 300.0 }, x_min = {")
    text = (
        text[: text.index("results")]
        + "results = [{ name = 'out', of = \"heat('y_min')\" }, { name = 'T', of = 'max(T)' }]"
    )
    found = heatsim.run(loads(text), tmp_path / "run").info["results"]
    assert found["out"] == pytest.approx(-300.0, rel=1e-6)
    assert found["T"] > 300.0


@in_turn(
    ("old", "new", "key"),
    [
        ("mean(T, 'steel')", "mean(T, 'stel')", "output.results.0.of"),
        ("min(T)", "least(T)", "output.results.3.of"),
        ("probe('left')", "probe('right')", "output.results.5.of"),
        ('x_min")', 'x_mn")', "output.results.8.of"),
        ("at = 5.0", "at = 50.0", "output.results.1.at"),
        ("at = 5.0", 'at = 5.0, over = "time"', "output.results.1"),
        ("at = 5.0", "every = 5.0", "output.results.1"),
        ("volume('foam')", "volume('fom')", "output.results.6.of"),
        ("volume('foam')\"", 'volume(\'foam\')", over = "time"', "output.results.6"),
        ("every = 1.0", "every = 1e-9", "output.results.3.every"),
        ('name = "half way"', 'name = "MEAN"', "output.results.1.name"),
    ],
)
def test_a_result_of_nothing_is_refused_at_its_key(old: str, new: str, key: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        loads(TEXT.replace(old, new, 1))
    assert [flaw.key for flaw in caught.value.issues] == [key]
