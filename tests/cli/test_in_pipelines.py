"""Commands in pipelines: stdin, errors as JSON, and nothing left to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from heatsim.cli import run, untrusted
from heatsim.cli.main import main
from heatsim.errors import HeatsimError, InputFileError

SLAB = """\
grid = { cells = [8, 1, 1], size = [0.02, 0.001, 0.001] }
time = { end = 4.0, integrator = "euler" }
compute = { device = "cpu" }
materials.steel = { conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }
regions = [{ material = "steel" }]
initial = { temperature = 300.0 }
boundary.x_max = { kind = "convection", coefficient = 10.0, ambient = { file = "air.csv", column = "T" } }
"""


def test_errors_are_json_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.toml").write_text("grid = { cells = [1, 1, 1] }\n")
    for command in (
        ["run", str(tmp_path / "a.toml")],
        ["info", str(tmp_path)],
        ["run"],
        ["zth", "a.toml", "--per-decade", "x"],
        ["sweep", "--nope"],
        ["nope"],
    ):
        done = CliRunner().invoke(main, [*command, "--json"])
        told = json.loads(done.stdout)["error"]
        assert (done.exit_code, told["exit_code"]) == (2, 2)
        assert told["message"].partition("\n")[0] in done.stderr
        assert told["issues"][0].keys() == {"message", "key", "file", "line", "column", "hint"}
    assert run._told(InputFileError(Path("a.csv"), "no such file"), True) == 2  # of a run over ranks, before its abort
    assert json.loads(capsys.readouterr().out)["error"]["issues"][0]["file"] == "a.csv"


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on processes")
def test_a_limit_that_ends_an_untrusted_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrusted.sys, "executable", "/bin/sh")
    monkeypatch.setattr(untrusted.sys, "argv", ["heatsim", "run"])
    monkeypatch.setattr(untrusted.signal, "signal", lambda number, handler: None)
    killed = ["/bin/sh", "-c", "kill -KILL $$"]
    popen = untrusted.subprocess.Popen
    monkeypatch.setattr(untrusted.subprocess, "Popen", lambda command, **options: popen(killed, **options))
    with pytest.raises(HeatsimError, match="was ended by SIGKILL") as ended:
        untrusted.run_in_limited_child()
    assert ended.value.exit_code == 137


def test_a_rebuild_runs_goes_on_or_leaves_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    air = Path("air.csv")
    air.write_text("time [s],T [K]\n0,280\n9,290\n")
    Path("a.toml").write_text(SLAB)

    def build(*more: str) -> tuple[str, dict[str, Any]]:
        done = CliRunner().invoke(main, ["run", "a.toml", "--output", "run", "--resume-or-run", "--json", *more])
        assert done.exit_code == 0
        return done.stderr, json.loads(done.stdout)

    first = build()[1]
    told, found = build()
    assert ("nothing is left to do" in told, found) == (True, first)
    checkpoints = ("--set", "output.checkpoint.every_minutes=10")
    build(*checkpoints, "--set", "grid.cells.0=10")
    told, found = build(*checkpoints, "--set", "grid.cells.0=10", "--set", "time.end=6")
    assert "goes on from t = 4 s" in Path("run/run.log").read_text()
    assert found["time"] == 6.0
    air.write_text("time [s],T [K]\n0,280\n9,295.5\n")
    other = build("--set", "grid.cells.0=10")[1]
    assert (other["time"], other["request"] == found["request"]) == (4.0, False)
    refused = CliRunner().invoke(main, ["run", "a.toml", "--resume-or-run", "--force"])
    assert refused.exit_code == 2


def test_validate_says_all_in_one_document(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("grid = { cells = [1, 1, 1] }\n")
    done = CliRunner().invoke(
        main, ["validate", str(finished.parent / "block.toml"), str(tmp_path / "a.toml"), "--json"]
    )
    good, bad = json.loads(done.stdout)["files"]
    assert (done.exit_code, good["valid"], bad["valid"]) == (2, True, False)
    assert good["cells"] > 0
    assert bad["error"]["issues"][0]["file"].endswith("a.toml")


def test_a_scenario_comes_from_stdin_and_a_finished_run_has_nothing_left(finished: Path, tmp_path: Path) -> None:
    text = (finished.parent / "block.toml").read_bytes()
    assert CliRunner().invoke(main, ["validate", "-"], input=text).exit_code == 0
    broken = CliRunner().invoke(main, ["validate", "-"], input=b"\xff")
    assert (broken.exit_code, "stdin: expected UTF-8 text" in broken.stderr) == (2, True)
    folder = str(tmp_path / "run")
    assert CliRunner().invoke(main, ["run", "-", "--output", folder, "--quiet"], input=text).exit_code == 0
    again = CliRunner().invoke(main, ["resume", folder, "--json"])
    assert (again.exit_code, json.loads(again.stdout)["state"]) == (0, "finished")
    assert "nothing is left to do" in again.stderr
    given = ["sweep", "-", "--vary", "time.end=1,2", "--output", str(tmp_path / "sweep"), "--json"]
    swept = CliRunner().invoke(main, given, input=text)
    assert [run["state"] for run in json.loads(swept.stdout)["runs"]] == ["finished"] * 2
    for other, code in ((text, 0), (text + b"\n# changed", 2)):  # a sweep of another text is another sweep
        assert CliRunner().invoke(main, [*given, "--resume"], input=other).exit_code == code
    picture = tmp_path / "a.png"
    assert CliRunner().invoke(main, ["preview", "-", "--output", str(picture)], input=text).exit_code == 0
    assert picture.is_file()
