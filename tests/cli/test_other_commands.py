"""validate, schema, init, info and doctor."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

from helpers.commands import SMALL, Invoke, contents, messages
from helpers.in_turn import in_turn

Write = Callable[..., Path]
SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_validate_tells_all_faults_of_all_files(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(SMALL, "good.toml")
    write(SMALL.replace("end = 1.0", "end = -1.0").replace("398.0", "0.0"), "two.toml")
    write(SMALL.replace("[8, 8, 8]", '[8, 8, "x"]'), "one.toml")
    done = invoke("validate", "good.toml", "two.toml", "one.toml", "absent.toml")
    assert done.exit_code == 2
    assert done.stdout.startswith("good.toml: valid")
    assert [line.split(": ")[1] for line in messages(done.stderr)] == [
        "two.toml:5:1",
        "two.toml:7:1",
        "one.toml:2:16",
        "absent.toml",
    ]
    assert contents(tmp_path).keys() == {"good.toml", "two.toml", "one.toml"}


def test_validate_finds_what_only_the_arrays_can_tell(invoke: Invoke, write: Write) -> None:
    write(SMALL.replace("end = 1.0", "end = 1.0\nstep = 1.0\nintegrator = 'euler'"))
    done = invoke("validate", "case.toml")
    assert done.exit_code == 2
    assert "stability limit" in done.stderr


def test_schema_prints_the_schema_that_is_shipped(invoke: Invoke) -> None:
    done = invoke("schema")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == json.loads((SCENARIOS / "heatsim.schema.json").read_text(encoding="utf-8"))


def test_init_writes_a_file_that_runs(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("init", "my plate")
    assert done.exit_code == 0
    text = (tmp_path / "my plate.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["title"] == "my plate"
    ran = invoke("run", "my plate.toml", "--quiet", "--set", "time.end=0.1", "--set", "grid.cells=[100, 60, 1]")
    assert (ran.exit_code, ran.stderr) == (0, "")
    again = invoke("init", "my plate.toml")
    assert (again.exit_code, again.stdout) == (2, "")
    assert "exists already" in again.stderr
    assert (tmp_path / "my plate.toml").read_text(encoding="utf-8") == text


def test_init_in_a_folder_that_is_not_there_is_one_message(invoke: Invoke) -> None:
    done = invoke("init", "nowhere/plate")
    assert done.exit_code != 0
    assert len(messages(done.stderr)) == 1
    assert "nowhere/plate.toml" in done.stderr


def test_info_says_what_a_run_holds(invoke: Invoke, finished: Path) -> None:
    done = invoke("info", finished)
    assert done.exit_code == 0
    for words in ("A test block", "5 in run.vtkhdf", "z_0.016 (3 frames)", "probes.csv", "finished at t = 4 s"):
        assert words in done.stdout, words
    told = json.loads(invoke("info", finished, "--json").stdout)
    stored = json.loads((finished / "run.json").read_text())
    assert all(stored[key] == value for key, value in told.items())
    assert told["state"] == "finished"


def test_info_says_that_a_run_was_killed(invoke: Invoke, finished: Path, tmp_path: Path) -> None:
    """After SIGKILL or a power cut run.json still says "running"."""
    folder = tmp_path / "killed"
    shutil.copytree(finished, folder)
    info = json.loads((folder / "run.json").read_text())
    for key in ("timings", "energy", "steps", "time", "cell_updates", "cell_updates_per_second"):
        del info[key]
    (folder / "run.json").write_text(json.dumps({**info, "state": "running"}))
    done = invoke("info", "killed")
    assert done.exit_code == 0
    assert "running" in done.stdout


@in_turn("command", ["info", "plot"])
@in_turn("place", ["empty", "other", "file.txt", "absent"])
def test_a_folder_that_is_no_run_is_refused(invoke: Invoke, tmp_path: Path, command: str, place: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text('{"name": "of something else"}')
    (tmp_path / "file.txt").write_text("")
    done = invoke(command, place)
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(messages(done.stderr)) == 1
    assert place in done.stderr


def test_doctor_tells_versions_threads_and_gpu(invoke: Invoke) -> None:
    done = invoke("doctor")
    assert done.exit_code == 0
    told = dict(line.split(None, 1) for line in done.stdout.splitlines())
    assert {"heatsim", "python", "numpy", "numba", "h5py", "cpu", "gpu"} <= told.keys()
    assert "threads" in told["cpu"]
