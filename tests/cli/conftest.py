from __future__ import annotations

import subprocess
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from helpers.commands import BLOCK, Heatsim, Invoke, runner, start

from heatsim.cli.main import main


@pytest.fixture
def heatsim(tmp_path: Path) -> Heatsim:
    """Run heatsim in a process of its own, in `tmp_path`, to its end."""
    return runner(tmp_path, 1800.0)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start heatsim in `tmp_path` and go on; what is still alive after the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def call(*arguments: object) -> subprocess.Popen[str]:
        started.append(start(*arguments, cwd=tmp_path))
        return started[-1]

    yield call
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run a command in this process, in `tmp_path`; an exception that would show a traceback fails the test."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Result:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="heatsim")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            pytest.fail("a traceback:\n" + "".join(traceback.format_exception(result.exception)))
        return result

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a scenario file into `tmp_path`."""

    def call(text: str | bytes, name: str = "case.toml") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return call


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of BLOCK, in the folder that is returned. To be read, not changed."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "block.toml").write_text(BLOCK)
    result = CliRunner().invoke(main, ["run", str(folder / "block.toml"), "--output", str(folder / "run"), "--quiet"])
    assert (result.exit_code, result.output) == (0, ""), result.output
    return folder / "run"
