"""Runs that end early: what was reached is kept and can be read, and run.json says what happened."""

from __future__ import annotations

import csv
import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import ENDLESS, SMALL, Invoke, messages, wait_for

import heatsim as api
from heatsim.base.atomic import AtomicFile
from heatsim.cli import run as run_command
from heatsim.simulation import device_selection
from heatsim.solve.state import State
from heatsim.store.snapshots import read_snapshot

Write = Callable[..., Path]
Launch = Callable[..., subprocess.Popen[str]]

PATIENCE = 1800  # seconds after which a process counts as hanging, on however busy a machine

GROWING = SMALL.replace("end = 1.0", "end = 50.0\nintegrator = 'euler'") + (
    "[[sources]]\npower_density = '1e6/step(abs(t - 20.7) - 0.2)'\n"  # infinite where it is not looked at before
    "[output]\nsnapshots = { every = 1.0 }\nenergy = { every = 0.5 }\n"
    "[[output.slices]]\naxis = 'z'\nat = 0.05\nevery = 5.0\n"
    "[[output.probes]]\nname = 'a'\nat = [0.05, 0.05, 0.05]\nevery = 1.0\n"
)


def rows(path: Path) -> np.ndarray:
    with path.open(newline="") as file:
        return np.array(list(csv.reader(file))[1:], dtype=np.float64)


def info(run: Path) -> dict[str, object]:
    told = json.loads((run / "run.json").read_text())
    assert isinstance(told, dict)
    return told


def test_a_file_of_python_that_is_cut_off_is_told(
    invoke: Invoke, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object, **__: object) -> None:
        raise EOFError("marshal data too short")

    monkeypatch.setattr(run_command, "load_file", cut_off)
    write(SMALL)
    done = invoke("run", "case.toml")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "marshal data too short" in messages(done.stderr)[-1]
    assert "__pycache__" in messages(done.stderr)[-1]


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_run_that_is_no_longer_finite_keeps_all_earlier_results(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(GROWING)
    done = invoke("run", "case.toml")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "no longer good" in messages(done.stderr)[-1]
    run = tmp_path / "outputs" / "case"
    told = info(run)
    assert told["state"] == "failed"
    assert "no longer good" in str(told["error"])
    assert "no longer good" in (run / "run.log").read_text()
    snapshots = [read_snapshot(path) for path in sorted((run / "snapshots").glob("*.h5"))]
    assert len(snapshots) > 10
    for snapshot in snapshots:
        assert np.isfinite(snapshot.temperature).all()
    for table in ("energy.csv", "probes.csv"):
        assert np.isfinite(rows(run / table)).all()
        assert len(rows(run / table)) >= len(snapshots)
    with api.open(run) as data:
        assert data.sizes["time"] == len(snapshots)
    assert len(list((run / "slices").glob("*.png"))) == len(list((run / "slices").glob("*/*.h5"))) > 2


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_run_ends_within_100_steps_of_the_first_value_that_is_not_finite(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    text = SMALL.replace("end = 1.0", "end = 1000.0\nstep = 0.1\nintegrator = 'euler'")
    text = text.replace("398.0", "1e-12").replace("8960.0", "1e-3").replace("385.0", "1e-3")
    write(text + "[[sources]]\npower_density = '0 if t < 99.95 else 1e38'\n[output]\nenergy = { every = 1e4 }\n")
    done = invoke("run", "case.toml")
    assert done.exit_code == 3
    steps = info(tmp_path / "outputs" / "case")["steps"]
    assert isinstance(steps, int)
    assert 1000 <= steps <= 1101


def test_stderr_holds_the_message_and_no_warnings_of_numpy(write: Write, launch: Launch) -> None:
    write(GROWING)
    process = launch("run", "case.toml")
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3, err
    warned, ended = messages(err)
    assert "has no finite value at t = 20.5 s" in warned
    assert "no longer good" in ended


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.long)]
)
def test_a_signal_ends_a_run_in_good_order(
    write: Write, launch: Launch, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    write(ENDLESS + "[[output.slices]]\naxis = 'z'\nat = 0.05\nevery = 1000.0\n")
    process = launch("run", "case.toml")
    run = tmp_path / "outputs" / "case"
    wait_for(lambda: len(list((run / "snapshots").glob("0*.h5"))) > 3, process, PATIENCE)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert "stopped at t = " in out
    told = info(run)
    assert told["state"] == "stopped"
    assert "stopped" in (run / "run.log").read_text()
    assert not list(run.rglob("*.tmp"))
    with api.open(run) as data:
        assert data.sizes["time"] == len(list((run / "snapshots").glob("*.h5"))) > 3
        assert np.isfinite(data.temperature).all()
    assert rows(run / "energy.csv")[-1, 0] <= float(str(told["time"]))
    assert (run / "slices" / "z_0.05_000000.png").is_file()


def test_many_frames_do_not_delay_the_end_of_an_interrupted_run(write: Write, launch: Launch, tmp_path: Path) -> None:
    write(ENDLESS + "[[output.slices]]\naxis = 'z'\nat = 0.05\nevery = 1.0\n")
    process = launch("run", "case.toml")
    frames = tmp_path / "outputs" / "case" / "slices" / "z_0.05"
    wait_for(lambda: (frames / "000200.h5").is_file(), process, PATIENCE)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert len(list(frames.glob("*.h5"))) >= 200
    assert not any(frames.parent.glob("*.png"))  # `heatsim plot` draws them


def test_a_second_signal_ends_the_run_at_once(write: Write, launch: Launch, tmp_path: Path) -> None:
    write(ENDLESS + "[[output.slices]]\naxis = 'z'\nat = 0.05\nevery = 1000.0\n")
    process = launch("run", "case.toml")
    slices = tmp_path / "outputs" / "case" / "slices"
    wait_for(lambda: (slices / "z_0.05" / "000010.h5").is_file(), process, PATIENCE)
    process.send_signal(signal.SIGINT)
    wait_for(lambda: any(slices.glob("*.png")), process, PATIENCE)  # it draws
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130


def test_a_killed_run_leaves_results_that_can_be_read(write: Write, launch: Launch, tmp_path: Path) -> None:
    write(ENDLESS)
    process = launch("run", "case.toml")
    run = tmp_path / "outputs" / "case"
    wait_for(lambda: len(list((run / "snapshots").glob("0*.h5"))) > 3, process, PATIENCE)
    process.kill()
    process.communicate(timeout=PATIENCE)
    with api.open(run) as data:
        assert data.sizes["time"] >= 3
        assert np.isfinite(data.temperature).all()
    assert len(rows(run / "energy.csv")) > 3
    assert info(run)["state"] == "running"


@pytest.fixture
def full_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Let the disk be full from the n-th file on whose name matches a suffix."""

    def call(suffix: str, number: int) -> None:
        from heatsim.store import hdf5

        real, count = hdf5.atomic_file, 0

        @contextmanager
        def atomic_file(path: Path) -> Iterator[AtomicFile]:
            nonlocal count
            count += path.name.endswith(suffix)
            with real(path) as file:
                yield file
                if path.name.endswith(suffix) and count >= number:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

        monkeypatch.setattr(hdf5, "atomic_file", atomic_file)

    return call


@pytest.mark.parametrize(("suffix", "number"), [(".h5", 1), (".h5", 4), (".vtkhdf", 2)])
def test_a_full_disk_is_one_message_and_no_hang(
    invoke: Invoke, write: Write, tmp_path: Path, full_after: Callable[[str, int], None], suffix: str, number: int
) -> None:
    write(SMALL + "[[output.slices]]\naxis = 'z'\nat = 0.05\nevery = 0.1\n[output.snapshots]\nevery = 0.1\n")
    full_after(suffix, number)
    done = invoke("run", "case.toml")
    assert (done.exit_code, done.stdout) == (1, "")
    (line,) = messages(done.stderr)
    assert os.strerror(errno.ENOSPC) in line
    told = info(tmp_path / "outputs" / "case")
    assert told["state"] == "failed"
    assert os.strerror(errno.ENOSPC) in str(told["error"])


@pytest.mark.parametrize("spool", [2**23, 20_000], ids=["in one piece", "as it grows"])
def test_a_limit_on_the_size_of_files_is_one_message(write: Write, tmp_path: Path, spool: int) -> None:
    """The operating system's own refusal, in a process of its own: no file may exceed 64 KiB."""
    text = SMALL.replace("[8, 8, 8]", "[32, 32, 24]").replace("300 + 100*x", "300 + 50*sin(1e9*x*y + 1e8*z)")
    write(text)
    script = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536));"
        f"from heatsim.base import atomic; atomic.SPOOL_BYTES = {spool};"
        "from heatsim.cli.main import main; main(['run', 'case.toml', '--set', 'time.end=0.001'])"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    (told,) = (each for each in messages(done.stderr) if not each.startswith("warning:"))  # the field is noise
    assert "File too large" in told
    run = tmp_path / "outputs" / "case"
    assert info(run)["state"] == "failed"
    assert not list(run.rglob("*.tmp"))


def test_exhausted_memory_is_one_message(
    invoke: Invoke, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuda_api = pytest.importorskip("heatsim_kernels.device.cuda.api", reason="needs numba-cuda")
    driver = pytest.importorskip("numba.cuda.cudadrv.driver")
    taken = []

    def temperature(state: State, out: np.ndarray | None = None) -> np.ndarray:
        taken.append(state.time)
        if len(taken) > 2:
            with cuda_api.memory_errors():
                code = cuda_api.driver().CUresult.CUDA_ERROR_OUT_OF_MEMORY
                raise driver.CudaAPIError(code, f"Call to cuMemAlloc results in {code.name}")  # as numba.cuda does
        return np.zeros((8, 8, 8), np.float32)

    monkeypatch.setattr(State, "temperature", temperature)
    write(SMALL + "[output]\nsnapshots = { every = 0.25 }\n")
    done = invoke("run", "case.toml")
    assert done.exit_code == 1
    (line,) = messages(done.stderr)
    assert "not enough memory (the GPU has no more free" in line
    run = tmp_path / "outputs" / "case"
    assert info(run)["state"] == "failed"
    assert len([read_snapshot(path) for path in (run / "snapshots").glob("*.h5")]) == 2


@pytest.mark.gpu
def test_an_exhausted_gpu_is_one_message(
    invoke: Invoke, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heatsim_kernels.device.cuda.api import memory
    from heatsim_kernels.device.cuda.arrays import empty

    monkeypatch.setattr(
        device_selection, "require_memory", lambda choice, needed: None
    )  # as before another program came
    write(SMALL.replace("[8, 8, 8]", "[512, 512, 512]") + "[compute]\ndevice = 'cuda'\n")
    hold = []
    while memory()[0] > 5 * 10**8:
        hold.append(empty(min(2**31, memory()[0] - 4 * 10**8), np.uint8))
    done = invoke("run", "case.toml")
    del hold
    assert done.exit_code == 1
    assert "not enough memory (the GPU has no more free" in messages(done.stderr)[-1]


def test_a_table_that_cannot_be_written_is_one_message(
    invoke: Invoke, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from heatsim.store.tables import CsvTable

    real = CsvTable.append

    def append(table: CsvTable, row: list[float]) -> None:
        if row[0] == 0.5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(table, row)

    monkeypatch.setattr(CsvTable, "append", append)
    write(SMALL + "[output]\nenergy = { every = 0.25 }\nsnapshots = { every = 0.25 }\n")
    done = invoke("run", "case.toml")
    assert done.exit_code == 1
    assert len(messages(done.stderr)) == 1
    run = tmp_path / "outputs" / "case"
    assert info(run)["state"] == "failed"
    assert len(rows(run / "energy.csv")) == 2
    assert len(list((run / "snapshots").glob("*.h5"))) >= 2


def test_a_fault_that_shows_only_in_time_says_so_and_keeps_what_was_reached(
    invoke: Invoke, write: Write, tmp_path: Path
) -> None:
    text = SMALL.replace("end = 1.0", "end = 1.0\nintegrator = 'euler'")
    write(text + "[[sources]]\npower_density = '1/step(abs(t - 0.3) - 0.002)'\n[output]\nsnapshots = { every = 0.1 }\n")
    done = invoke("run", "case.toml")
    assert done.exit_code == 3
    for line in messages(done.stderr):  # a warning, and the end
        assert "sources.0" in line
        assert "at t = 0.298 s" in line
    run = tmp_path / "outputs" / "case"
    assert info(run)["state"] == "failed"
    with api.open(run) as data:
        assert data.sizes["time"] == 3


def test_a_program_that_uses_the_api_may_end_a_run(tmp_path: Path, write: Write) -> None:
    scenario = api.load(write(ENDLESS), ["output.snapshots.every=1.0"])
    run = api.run(scenario, tmp_path / "run", on_progress=lambda progress: progress.time < 20.0)
    assert not run.finished
    assert run.info["state"] == "stopped"
    assert 20.0 <= run.info["time"] < 1000.0
    with api.open(run) as data:
        assert data.sizes["time"] >= 20
