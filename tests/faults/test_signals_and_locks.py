"""Signals, the time allowed and the lock of a run folder: what a run leaves, and what it exits with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.commands import start, wait_for
from helpers.in_turn import in_turn

import heatsim
from faults.cases import CASES, write_case
from faults.signals import longer
from faults.test_resumed_runs import stop_after
from heatsim.cli.signals import Interrupted, StopRequests, seconds_of
from heatsim.errors import RequestError, RunFolderError
from heatsim.simulation.run import resume_run, run_scenario
from heatsim.simulation.time_loop import CHECKPOINT, Progress
from heatsim.store.checkpoints import newest_checkpoint, read_checkpoint
from heatsim.store.folder import RunFolder, locked_folder

PATIENCE = 600  # s after which a process counts as hanging, on however busy a machine
Launch = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    """Run the long case in a process of its own; it is killed after the test."""
    write_case(tmp_path, longer(CASES["euler"]))
    started: list[subprocess.Popen[str]] = []

    def call(*options: str) -> subprocess.Popen[str]:
        started.append(start("run", "case.toml", "--output", "run", *options, cwd=tmp_path))
        return started[-1]

    yield call
    for process in started:
        process.kill()
        process.communicate()


def test_signals_save_the_run_and_end_it_with_their_code(launch: Launch, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = launch()
    wait_for((run / "checkpoint.h5").exists, process, PATIENCE)
    again = launch()  # while the first one writes there
    _, told = again.communicate(timeout=PATIENCE)
    assert again.returncode == 2, told
    assert f"another process ({process.pid}) is writing in it" in told
    process.send_signal(signal.SIGUSR2)
    time.sleep(0.2)
    assert process.poll() is None, process.communicate()  # it saves and goes on
    process.send_signal(signal.SIGUSR1)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 138, told
    assert read_checkpoint(run / "checkpoint.h5").state["run"]["step"] > 0
    assert not (run / "run.lock").exists()


def test_the_time_allowed_ends_a_run_with_a_checkpoint(launch: Launch, tmp_path: Path) -> None:
    process = launch("--max-time", "1 s")
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 75, told
    assert RunFolder.open(tmp_path / "run").read_info()["state"] == "stopped"


def test_a_signal_ends_a_process_that_is_compiling(tmp_path: Path) -> None:
    """Python's handlers do not run in a call of a library as long as that of the compiler."""
    script = (
        "import hashlib\nfrom heatsim.cli.signals import caught_signals\n"
        "with caught_signals():\n    print('in it', flush=True); hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in it\n"
        before = _cpu_seconds(process.pid)
        wait_for(lambda: _cpu_seconds(process.pid) > before + 1.0, process, PATIENCE)  # in the call, not before it
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE) == 143  # the call alone takes a quarter of an hour


def _cpu_seconds(pid: int) -> float:
    """What a process has computed, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_signal_that_comes_while_the_compiler_calls_back_waits_for_the_first_step() -> None:
    """Raised there, it is lost in LLVM, and what was compiled half is taken for whole."""
    requests = StopRequests()
    called_back: dict[str, object] = {"__name__": "llvmlite.binding.executionengine"}
    exec("def call(number, note): note(number, __import__('sys')._getframe())", called_back)
    called_back["call"](signal.SIGTERM, requests.note)  # type: ignore[operator]
    assert requests.request(Progress(0.0, 1.0, 0, 1)) is False
    assert requests.exit_code == 143
    with pytest.raises(Interrupted) as interrupted:
        StopRequests().note(signal.SIGTERM, None)
    assert interrupted.value.exit_code == 143


def test_a_checkpoint_that_is_asked_for_before_the_first_step_is_written_after_it() -> None:
    """At the first call there is nothing yet that the loop could save."""
    requests = StopRequests()
    requests.note(signal.SIGUSR2, None)
    assert [requests.request(Progress(0.0, 1.0, step, 1)) for step in (0, 1, 2)] == [True, CHECKPOINT, True]


@in_turn(("text", "seconds"), [("8h", 28800), ("90 min", 5400), ("1h30m", 5400), ("12.5", 12.5)])
def test_times_have_units(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@in_turn("text", ["", "8 hours", "h", "1e3", "-3", "8h later"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(RequestError, match="such as 8h"):
        seconds_of(text)


def test_the_lock_of_a_dead_process_is_free(tmp_path: Path) -> None:
    script = (
        f"import os; from heatsim.store.folder import locked_folder as l; from pathlib import Path\n"
        f"with l(Path({str(tmp_path)!r})): os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert (tmp_path / "run.lock").exists()
    with locked_folder(tmp_path):
        child = os.fork()
        if child == 0:
            try:
                with locked_folder(tmp_path):
                    os._exit(0)
            except RunFolderError:
                os._exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_a_refused_run_ends_after_what_it_imports_beside(tmp_path: Path) -> None:
    """A thread that imports C++ libraries while Python ends would abort the process: exit code -6 in place of 2."""
    path, folder = write_case(tmp_path, CASES["euler"]), tmp_path / "run"
    script = (
        "import time, heatsim.cli.run as run; from heatsim.cli.main import main\n"
        "run.import_drawing = lambda: (time.sleep(1.0), print('imported', flush=True))\n"
        f"main(['run', {str(path)!r}, '--output', {str(folder)!r}], prog_name='heatsim')"
    )
    folder.mkdir()
    with locked_folder(folder):
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "imported\n"), ended.stderr


def test_the_checkpoint_before_is_taken_where_the_last_one_is_damaged(tmp_path: Path) -> None:
    path = write_case(tmp_path, CASES["rkl2 in equal steps"])
    run_scenario(heatsim.load(path), tmp_path / "run", on_progress=stop_after(12))
    folder = RunFolder(tmp_path / "run")
    last, previous = folder.checkpoints
    last.write_bytes(last.read_bytes()[:-1])
    told: list[str] = []
    resumed = resume_run(folder.path, on_warnings=lambda warnings: told.extend(map(str, warnings)))
    assert resumed.finished
    assert any("checksum" in each and "the one before is taken" in each for each in told)
    for damaged in (last, previous):
        damaged.write_bytes(b"heatsim")
    with pytest.raises(RunFolderError, match="no checkpoint that can be used"):
        newest_checkpoint(folder)
