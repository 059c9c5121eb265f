"""Commands in pipelines: stdin, errors as JSON, and nothing left to do."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from heatsim.cli.main import main


def test_errors_are_json_too(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("grid = { cells = [1, 1, 1] }\n")
    for command in (["run", str(tmp_path / "a.toml")], ["info", str(tmp_path)]):
        done = CliRunner().invoke(main, [*command, "--json"])
        told = json.loads(done.stdout)["error"]
        assert (done.exit_code, told["exit_code"]) == (2, 2)
        assert told["message"].partition("\n")[0] in done.stderr
        assert told["issues"][0].keys() == {"message", "key", "file", "line", "column", "hint"}


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
