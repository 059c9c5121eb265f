"""`heatsim hotspots`, runs with [hotspots] and [[smoothing]], and the warnings of a scenario."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import SMALL, Invoke, contents
from helpers.in_turn import in_turn

Write = Callable[..., Path]

# Two spots of 8 mm on a plate, which do not spread in a microsecond.
SPOTS = (
    SMALL.replace("[8, 8, 8]", "[60, 40, 1]")
    .replace("[0.1, 0.1, 0.1]", "[0.12, 0.08, 0.002]")
    .replace("end = 1.0", "end = 1e-6")
    .replace(
        '"300 + 100*x"',
        '"300 + 60*exp(-((x-0.03)**2 + (y-0.05)**2)/1.28e-4) + 20*exp(-((x-0.091)**2 + (y-0.031)**2)/1.28e-4)"',
    )
    + "[output]\nslices = [{ axis = 'z', at = 0.001, name = 'top', count = 1 }]\n"
)
SEARCHED = SPOTS + "[hotspots]\nscales = [5e-3, 8e-3, 12e-3]\nthreshold = 5\n"


def smoothing(**keys: str) -> str:
    given = {"target": "'initial'", "filter": "'gaussian'", "sigma": "0.02", **keys}
    return "[[smoothing]]\n" + "".join(f"{key} = {value}\n" for key, value in given.items())


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run without [hotspots]. To be copied, not changed."""
    from click.testing import CliRunner

    from heatsim.cli.main import main

    folder = tmp_path_factory.mktemp("spots")
    (folder / "case.toml").write_text(SPOTS)
    done = CliRunner().invoke(
        main, ["run", str(folder / "case.toml"), "--output", str(folder / "run"), "--device", "cpu"]
    )
    assert done.exit_code == 0, done.output
    return folder / "run"


@pytest.fixture
def plain(run_once: Path, tmp_path: Path) -> Path:
    """A run without [hotspots]."""
    return Path(shutil.copytree(run_once, tmp_path / "plain"))


def test_a_run_with_hot_spots_tells_them_in_its_table_its_summary_and_its_record(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    write(SEARCHED)
    done = invoke("run", "case.toml", "--output", "run", "--device", "cpu")
    assert done.exit_code == 0, done.output
    assert "hot spots        2, the hottest 3" in done.stdout
    spots = json.loads((tmp_path / "run" / "run.json").read_text())["hotspots"]
    assert [spot["x"] for spot in spots] == pytest.approx([0.03, 0.091], abs=1e-4)
    assert [spot["y"] for spot in spots] == pytest.approx([0.05, 0.031], abs=1e-4)
    assert [spot["rise"] for spot in spots] == pytest.approx([60.0, 20.0], rel=0.05)
    assert len((tmp_path / "run" / "hotspots.csv").read_text().splitlines()) == 3
    assert (tmp_path / "run" / "slices" / "top_hotspots.png").is_file()
    assert "hotspots.csv" in invoke("info", "run").stdout


def test_the_command_searches_a_run_again_with_what_the_scenario_says_or_the_options(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    write(SEARCHED)
    invoke("run", "case.toml", "--output", "run", "--device", "cpu", "--quiet")
    before = contents(tmp_path / "run")
    done = invoke("hotspots", "run")
    assert done.exit_code == 0, done.output
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["slice", "top", "top"]
    assert contents(tmp_path / "run")["hotspots.csv"] == before["hotspots.csv"]
    done = invoke("hotspots", "run", "--threshold", "30", "--json")
    assert [round(spot["x"], 3) for spot in json.loads(done.stdout)] == [0.03]
    assert len(json.loads((tmp_path / "run" / "run.json").read_text())["hotspots"]) == 1
    assert invoke("hotspots", "run", "--threshold", "300").stdout == "no hot spots\n"
    invoke("run", "case.toml", "--output", "run", "--device", "cpu", "--quiet", "--force")
    assert contents(tmp_path / "run").keys() == before.keys()


def test_a_run_whose_scenario_asks_for_none_is_searched_by_options(invoke: Invoke, plain: Path) -> None:
    assert not (plain / "hotspots.csv").exists()
    done = invoke(
        "hotspots", plain, "--scale", "5e-3", "--scale", "8e-3", "--threshold", "5", "--slice", "top", "--json"
    )
    assert len(json.loads(done.stdout)) == 2
    assert json.loads((plain / "run.json").read_text())["state"] == "finished"


@in_turn(
    ("options", "said"),
    [
        ((), "no [hotspots]; give --scale and --threshold"),
        (("--scale", "8e-3"), "hotspots.threshold: missing"),
        (("--scale", "8e-3", "--threshold", "-1"), "hotspots.threshold: expected a number > 0 (K), found -1"),
        (("--scale", "abc", "--threshold", "1"), "hotspots.scales"),
        (("--scale", "1e-5", "--threshold", "1"), "expected a scale from half a cell, 0.001 m"),
        (("--scale", "8e-3", "--threshold", "1", "--frames", "0"), "hotspots.frames: expected a whole number from 1"),
        (("--scale", "8e-3", "--threshold", "1", "--slice", "no"), "has no slice 'no'; there are top"),
        (("--scale", "8e-3", "--threshold", "1", "--device", "gpu"), "'gpu' is not one of"),
    ],
)
def test_options_that_make_no_sense_are_told_and_nothing_is_written(
    invoke: Invoke, plain: Path, options: tuple[str, ...], said: str
) -> None:
    before = contents(plain)
    done = invoke("hotspots", plain, *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert contents(plain) == before


def test_a_folder_that_is_no_run_or_has_no_slices_is_refused(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    assert invoke("hotspots", tmp_path).exit_code == 2
    write(SMALL)
    invoke("run", "case.toml", "--output", "bare", "--quiet", "--device", "cpu")
    done = invoke("hotspots", "bare", "--scale", "0.02", "--threshold", "5")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "[[output.slices]]" in done.stderr


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_filter_that_does_next_to_nothing_is_warned_of_on_stderr(
    invoke: Invoke, write: Write, tmp_path: Path, command: str
) -> None:
    write(SMALL + smoothing(sigma="1e-3"))
    done = invoke(command, "case.toml", *(("--output", "out", "--device", "cpu") if command == "run" else ()))
    assert done.exit_code == 0
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert line.startswith("warning: case.toml:17:1: smoothing.0.sigma: 0.001 m is 0.08 of a cell along x")
    if command == "run":
        assert "WARNING case.toml:17:1: smoothing.0.sigma" in (tmp_path / "out" / "run.log").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (smoothing(filter="'gaus'"), "16:1: smoothing.0.filter: expected"),
        (smoothing(kernel="'turbo'"), "18:1: smoothing.0.kernel: expected"),
        (smoothing(sigma="-1"), "17:1: smoothing.0.sigma: expected a number > 0 (m), found -1"),
        ("[compute]\ndevice = 'cpu'\n" + smoothing(kernel="'cached'"), '20:1: smoothing.0.kernel: "cached" runs on'),
    ],
)
def test_smoothing_that_cannot_be_is_refused_with_its_place(
    invoke: Invoke, write: Write, tmp_path: Path, text: str, message: str
) -> None:
    write(SMALL + text)
    for command in ("run", "validate"):
        done = invoke(command, "case.toml")
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: case.toml:{message}")
    assert contents(tmp_path).keys() == {"case.toml"}
