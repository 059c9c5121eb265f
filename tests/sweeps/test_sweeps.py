"""Families of runs: their table, what goes on after a stop, failures, and one run as a function."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from helpers.in_turn import in_turn
from scipy.optimize import brentq

import heatsim
from heatsim.cli.main import main
from heatsim.errors import RequestError, ScenarioError
from heatsim.scenario import loads
from heatsim.scenario.sweep import axis_of_text
from heatsim.studies.sweeps import runs
from heatsim.studies.sweeps.table import open_sweep, read_sweep, write_table

# A block heated uniformly, whose heat leaves through one face.
TEXT = """
temperature_unit = "degC"
parameters = { h = 10.0, power = 1.0, L = "100 mm" }
grid = { cells = [10, 1, 1], size = ["L", 0.1, 0.1] }
time = { integrator = "steady" }
initial = { temperature = 20.0 }
materials.steel = { conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }
regions = [{ material = "steel" }]
sources = [{ power = "power" }]
boundary = { x_max = { kind = "convection", coefficient = "h", ambient = 20.0 } }
[output]
snapshots = { count = 1 }
results = [{ name = "hottest", of = "max(T)" }, { name = "out", of = "heat('x_max')" }]
[sweep]
vary = { h = [5.0, 10.0, 20.0], power = { from = 1.0, to = 3.0, count = 3 } }
"""


def hottest(h: float, power: float, length: float = 0.1) -> float:
    """Of the exact profile at the centre of the first cell: a parabola."""
    area, k, x = 0.01, 15.0, length / 20
    return 20.0 + power / (h * area) + power * (length**2 - x**2) / (2 * k * area * length)


Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run a command in `tmp_path`, where the scenario is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "block.toml").write_text(TEXT)
    return lambda *words: CliRunner().invoke(main, list(words), catch_exceptions=False)


def test_a_sweep_has_a_row_a_run_and_a_picture_a_value(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("sweep", "block.toml")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("hottest") == 9
    folder = tmp_path / "outputs" / "block-sweep"
    parameters, values, rows = read_sweep(folder / "sweep.csv")
    assert (parameters, values) == (["h", "power"], ["hottest [degC]", "out [W]"])
    assert [row["run"] for row in rows] == [f"000{n}" for n in range(9)]
    for row in rows:
        h, power = float(row["h"]), float(row["power"])
        assert float(row["hottest [degC]"]) == pytest.approx(hottest(h, power), abs=4e-3)
        assert float(row["out [W]"]) == pytest.approx(-power, rel=1e-6)
        assert json.loads((folder / row["run"] / "run.json").read_text())["state"] == "finished"
    assert {path.name for path in (folder / "pictures").iterdir()} == {
        f"{name}{kind}.png" for name in ("hottest", "out") for kind in ("", "_map")
    }
    if find_spec("xarray"):
        data = open_sweep(str(folder))
        assert (data.hottest.dims, data.hottest.attrs["units"], data.sizes["h"]) == (("h", "power"), "degC", 3)
        assert data.hottest.sel(h=10, power=2).item() == float(rows[4]["hottest [degC]"])
        assert data.run.sel(h=10, power=2).item() == "0004"
    lines = invoke("info", str(folder)).stdout.splitlines()
    told = {line.partition("  ")[0]: line.partition("  ")[2].strip() for line in lines}
    assert (told["runs"], told["h"], told["power"]) == ("9: 9 finished", "5.0, 10.0, 20.0", "1.0, 2.0, 3.0")
    found = re.fullmatch(r"(\S+) \(run 0006\) to (\S+) \(run 0002\) degC", told["hottest"])
    assert found is not None, told
    assert [float(found[n]) for n in (1, 2)] == pytest.approx([hottest(20.0, 1.0), hottest(5.0, 3.0)], abs=4e-3)
    assert json.loads(invoke("info", str(folder), "--json").stdout)["runs"][4]["state"] == "finished"
    (folder / "pictures" / "hottest.png").unlink()
    assert invoke("plot", str(folder)).stdout.split()[0] == str(folder / "pictures" / "hottest.png")
    for words in (("plot", str(folder), "--axis", "z"), ("view", str(folder)), ("resume", str(folder))):
        refused = invoke(*words)
        assert (refused.exit_code, "holds a sweep; name one of its runs" in refused.stderr) == (2, True), words


def test_of_runs_that_are_no_grid_the_table_opens_by_run(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    points = [{"L": "5 mm", "metal": "cu"}, {"L": "6 mm", "metal": "al"}]
    rows = {0: {"state": "finished", "T [K]": 1.0, "L [m]": 0.0}, 1: {"state": "failed", "error": "x"}}
    write_table(tmp_path / "sweep.csv", points, rows)
    data = open_sweep(tmp_path)
    assert (data["T"].dims, data["T"].sel(run="0000").item()) == (("run",), 1.0)
    assert np.isnan(data["T"].sel(run="0001"))
    assert (data["L [mm]"].attrs["units"], data["L [m]"].dims) == ("mm", ("run",))
    assert data.metal.values.tolist() == ["cu", "al"]


def test_a_sweep_that_is_interrupted_says_how_to_go_on(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(*given: Any) -> Any:
        yield 0, {"state": "finished", "hottest [degC]": 1.0}
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "_taken", taken)
    monkeypatch.setattr("sys.argv", ["heatsim", "sweep", "block.toml", "--set", "a b=1", "--force"])
    done = invoke("sweep", "block.toml")
    assert done.exit_code == 130
    last = done.stderr.splitlines()[-1]
    assert last == "stopped after 1 of 9 runs; to go on: heatsim sweep block.toml --set 'a b=1' --resume"
    info = invoke("info", "outputs/block-sweep").stdout
    assert "9: 1 finished; 8 to do by heatsim sweep --resume" in info


def test_evaluate_takes_lists_of_names(invoke: Invoke, tmp_path: Path) -> None:
    """As a value, and of the results that are wanted."""
    path = tmp_path / "block.toml"
    given = {"h": 10.0, "output.fields": ["heat_flux", "gradient"]}
    found = heatsim.evaluate(path, given, results=["out", "hottest"])
    assert list(found) == ["out", "hottest"]
    assert found["hottest"] == pytest.approx(hottest(10.0, 1.0), abs=4e-3)
    assert list(heatsim.evaluate(path, given, results="out")) == ["out"]
    with pytest.raises(RequestError, match='did you mean "hottest"'):
        heatsim.evaluate(path, given, results=["hotest"])
    with pytest.raises(ScenarioError, match=r"output\.fields"):
        heatsim.evaluate(path, {"output.fields": ["heat_flux", "grad"]})


def test_a_sweep_that_was_stopped_does_what_is_missing(invoke: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    words = "sweep", "block.toml", "--output", "runs", "--vary", "L=50mm:100mm:2"
    assert invoke(*words).exit_code == 0
    kept = (folder / "0000" / "run.json").stat().st_mtime_ns
    info = json.loads((folder / "0001" / "run.json").read_text()) | {"state": "running"}
    (folder / "0001" / "run.json").write_text(json.dumps(info))
    refused = invoke(*words)
    assert refused.exit_code == 2
    assert "--resume does what is missing" in refused.stderr
    assert invoke(*words, "--resume").exit_code == 0
    assert (folder / "0000" / "run.json").stat().st_mtime_ns == kept
    assert json.loads((folder / "0001" / "run.json").read_text())["state"] == "finished"
    rows = read_sweep(folder / "sweep.csv")[2]
    for row, length in zip(rows, (0.05, 0.1), strict=True):
        assert float(row["L [mm]"]) == 1e3 * length
        assert float(row["hottest [degC]"]) == pytest.approx(hottest(10.0, 1.0, length), abs=4e-3)
    other = invoke(*words[:-1], "L=50mm:100mm:3", "--resume")
    assert other.exit_code == 2
    assert "sweep of other parameters" in other.stderr


def test_a_run_that_fails_is_told_and_passed_over(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "block.toml"
    path.write_text(TEXT.replace('coefficient = "h"', 'coefficient = "1 / (h - 9)"'))
    done = invoke("sweep", "block.toml", "--vary", "h=10,9,12", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)["runs"]
    assert [run["state"] for run in found] == ["finished", "failed", "finished"]
    assert "coefficient" in found[1]["error"]


@in_turn(
    ("words", "message"),
    [
        (("--vary", "hh=1,2"), 'hh: is no parameter of block.toml (did you mean "h"?)'),
        (("--vary", "h=5,ten"), "expected a number"),
        (("--vary", "grid.cels=1,2"), "grid.cels"),
        (("--scheduler", "tcp://127.0.0.1:1"), "--scheduler"),
    ],
)
def test_what_makes_no_sense_is_refused(invoke: Invoke, words: tuple[str, ...], message: str) -> None:
    done = invoke("sweep", "block.toml", *words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_the_table_of_a_sweep_is_checked_with_the_scenario(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "block.toml"
    for old, new, place in (
        ("h = [5.0, 10.0, 20.0]", "h = 5.0", "15:10: sweep.vary.h: expected a list"),
        ("[sweep]\nvary", "[sweep]\nfile = 'none.csv'\nvary", "14:"),
    ):
        path.write_text(TEXT.replace(old, new))
        done = invoke("validate", "block.toml")
        assert done.exit_code == 2
        assert place in done.stderr


def dying(sweep: runs.SweepPlan, folder: Path, number: int, threads: int = 0) -> dict[str, Any]:
    """As `take_run`, but run 1 kills its worker each time, and run 2 the first time."""
    mark = folder / "died"
    if number == 1 or (number == 2 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return runs.take_run(sweep, folder, number, threads)


def test_the_run_of_a_worker_that_is_killed_is_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "block.toml"
    path.write_text(TEXT)
    sweep = runs.make_sweep(path, [axis_of_text("h=5,10,20")])
    submitted = runs._submitted
    # Workers import this module by its name, and so the function that dies.
    monkeypatch.setattr(runs, "_submitted", lambda pool, *rest: submitted(Dying(pool, dying), *rest))
    rows = runs.run_sweep(sweep, tmp_path / "runs", workers=2)
    assert [rows[n]["state"] for n in range(3)] == ["finished", "failed", "finished"], rows
    assert rows[1]["error"] == "its worker process died"


class Dying:
    """An executor that takes another function for the one that it is given."""

    def __init__(self, pool: Any, instead: Any) -> None:
        self._pool, self._instead = pool, instead

    def submit(self, function: Any, *args: Any) -> Any:
        return self._pool.submit(self._instead, *args)


@pytest.mark.lowest
@pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_takes_the_runs(invoke: Invoke, tmp_path: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        done = invoke("sweep", "block.toml", "--scheduler", cluster.scheduler_address)
    assert done.exit_code == 0, done.output
    assert len(read_sweep(tmp_path / "outputs" / "block-sweep" / "sweep.csv")[2]) == 9


def test_one_run_is_a_function_for_an_optimiser(tmp_path: Path) -> None:
    path = tmp_path / "block.toml"
    path.write_text(TEXT)
    assert heatsim.evaluate(path, {"h": 5.0})["hottest"] == pytest.approx(hottest(5.0, 1.0), abs=4e-3)
    # The coefficient for which the hottest cell is at 25 degC, by SciPy.
    found = brentq(
        lambda h: float(heatsim.evaluate(path, {"h": h})["hottest"] or np.nan) - 25.0, 10.0, 100.0, xtol=1e-3
    )
    assert hottest(found, 1.0) == pytest.approx(25.0, abs=5e-3)
    kept = heatsim.evaluate(heatsim.load(path), {"L": "50 mm"}, tmp_path / "kept")
    assert kept["hottest"] == pytest.approx(hottest(10.0, 1.0, 0.05), abs=4e-3)
    assert (tmp_path / "kept" / "run.json").is_file()


def test_what_load_made_of_a_scenario_is_what_is_evaluated(tmp_path: Path) -> None:
    """Overrides of `load` stay, a file that changes afterwards does not matter, nor that there is none."""
    path = tmp_path / "block.toml"
    path.write_text(TEXT)
    loaded = heatsim.load(path, ["materials.steel.conductivity=1", "parameters.h=20"])
    path.write_text(TEXT.replace("power = 1.0", "power = 7.0"))
    here = heatsim.evaluate(loaded, {})["hottest"]
    done = heatsim.run(loaded, tmp_path / "run")
    assert here == done.info["results"]["hottest"]
    assert here == pytest.approx(20.0 + 1.0 / (20.0 * 0.01) + (0.01 - 2.5e-5) / (2 * 0.001), abs=2e-2)
    assert heatsim.evaluate(loaded, {"h": 20.0})["hottest"] == here
    assert heatsim.evaluate(loaded, {"power": 2.0, "grid.cells.0": 10})["hottest"] == pytest.approx(
        2 * here - 20, abs=1e-3
    )
    of_text = loads(TEXT)
    assert heatsim.evaluate(of_text, {"h": 5.0})["hottest"] == pytest.approx(hottest(5.0, 1.0), abs=4e-3)
    changed = of_text.model_copy(update={"temperature_unit": "degC", "title": "another"})
    assert heatsim.evaluate(changed, {})["hottest"] == pytest.approx(hottest(10.0, 1.0), abs=4e-3)
    assert heatsim.evaluate(changed, {"sources.0.power": 2.0})["hottest"] == pytest.approx(hottest(10.0, 2.0), abs=8e-3)
    with pytest.raises(RequestError, match="h: a scenario that was changed after load has no parameters left"):
        heatsim.evaluate(changed, {"h": 5.0})


def test_the_gradient_is_that_of_what_load_made(tmp_path: Path) -> None:
    path = tmp_path / "block.toml"
    path.write_text(TEXT)
    loaded = heatsim.load(path, ["parameters.h=20", "parameters.power=3"])
    found = heatsim.gradient(loaded, "mean(T)", ["h", "sources.0.power"])
    direct = heatsim.gradient(path, "mean(T)", ["h", "sources.0.power"], {"h": 20.0, "power": 3.0})
    assert found.value == pytest.approx(direct.value, rel=1e-12)
    assert found.derivatives == pytest.approx(direct.derivatives, rel=1e-9)
    assert found.derivatives["h"] == pytest.approx(-3.0 / (0.01 * 20.0**2), rel=1e-3)


def test_a_sweep_of_names_and_whole_numbers_has_its_table_and_pictures(invoke: Invoke, tmp_path: Path) -> None:
    words = ("--vary", "regions.0.material=steel,copper", "--vary", "grid.cells.0=5,10", "--output", "out")
    done = invoke("sweep", "block.toml", *words)
    assert done.exit_code == 0, done.output
    parameters, _, rows = read_sweep(tmp_path / "out" / "sweep.csv")
    assert parameters == ["regions.0.material", "grid.cells.0"]
    assert [(row["regions.0.material"], row["grid.cells.0"]) for row in rows] == [
        ("steel", "5"), ("steel", "10"), ("copper", "5"), ("copper", "10")
    ]  # fmt: skip
    assert list((tmp_path / "out" / "pictures").glob("*.png"))
    alone = invoke("sweep", "block.toml", "--vary", "regions.0.material=steel,copper", "--output", "words")
    assert alone.exit_code == 0, alone.output
