"""Snapshots on their way to the disk: how many are held on the host at once, and what is refused there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from heatsim_kernels.field import Fetch
from test_recording_unequal_cells import SCENARIO, flux

from heatsim.errors import NotFiniteError
from heatsim.output.recorders import snapshots
from heatsim.output.recorders.snapshots import SnapshotRecorder
from heatsim.output.recorders.timings import describe_parts
from heatsim.output.recorders.writer import Writer
from heatsim.problem import build_problem
from heatsim.scenario import loads
from heatsim.simulation import checkpointing
from heatsim.simulation.run import run_scenario
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State
from heatsim.store.folder import RunFolder
from heatsim.store.snapshots import read_snapshot


def coming(values: np.ndarray) -> Fetch:
    """As a GPU gives them: a plane at a time, each some while after the last."""

    def fetch(room: np.ndarray | None, arrived: Callable[[int], None]) -> np.ndarray:
        assert room is not None
        for z in range(len(values)):
            time.sleep(0.002)
            room[z] = values[z]
            arrived(room[: z + 1].size)
        return room

    return fetch


@pytest.mark.parametrize(("extra", "waits"), [((), False), ((flux,), True)], ids=["captures", "derived fields"])
def test_captures_of_a_gpu_queue_up_and_derived_fields_on_the_host_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: tuple[Callable[..., object], ...], waits: bool
) -> None:
    problem, writer = build_problem(loads(SCENARIO)), Writer()
    state = State(problem, make_field(problem, "cpu"))
    monkeypatch.setattr(state.field, "capture", lambda: coming(state.field.host()))
    recorder = SnapshotRecorder(problem, RunFolder.create(tmp_path / "run"), writer, *extra)  # type: ignore[arg-type]
    written, recorded = threading.Event(), threading.Event()
    with writer.room(0) as submit:
        submit(written.wait)  # nothing is written before

    def record() -> None:
        for _ in range(3):
            recorder.record(state)
        recorded.set()

    recording = threading.Thread(target=record)
    recording.start()
    try:
        assert recorded.wait(0.3 if waits else 30.0) is not waits
    finally:
        written.set()
        recording.join()
        writer.close()
    assert len(list((tmp_path / "run" / "snapshots").iterdir())) == 3


@pytest.mark.parametrize("bad_value", [np.inf, -np.inf, np.nan])
def test_a_field_found_not_to_be_finite_after_its_capture_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad_value: float
) -> None:
    problem, writer = build_problem(loads(SCENARIO)), Writer()
    state = State(problem, make_field(problem, "cpu"))
    recorder = SnapshotRecorder(problem, RunFolder.create(tmp_path / "run"), writer)
    assert recorder.checks_finite_itself
    recorder.record(state)
    bad = np.array(state.field.host())
    bad[1, 0, 0] = bad_value
    monkeypatch.setattr(state.field, "capture", lambda: coming(bad))
    monkeypatch.setattr(state.field, "device", "cuda")  # where the time loop does not look before
    recorder.record(state)
    with pytest.raises(NotFiniteError, match="step 0, t = 0 s"):
        writer.close()
    assert len(list((tmp_path / "run" / "snapshots").iterdir())) == 1


def test_snapshots_share_one_array_and_none_is_overwritten_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a GPU runs short of memory for captures while some of them are on their way through that array."""
    problem, writer = build_problem(loads(SCENARIO)), Writer()
    state, made = State(problem, make_field(problem, "cpu")), 0

    def make(*given: object) -> np.ndarray:
        nonlocal made
        made += 1
        return np.empty(problem.grid.shape, problem.dtype)

    monkeypatch.setattr(snapshots, "made", make)
    monkeypatch.setattr(state.field, "device", "cuda")
    recorder, release = SnapshotRecorder(problem, RunFolder.create(tmp_path / "run"), writer), threading.Event()
    with writer.room(0) as submit:
        submit(release.wait)
    values = []
    for number in range(3):
        state.field.now[:] = number
        values.append(state.temperature())
        captured, now = number < 2, np.array(state.field.host())
        monkeypatch.setattr(state.field, "capture", (lambda now=now: coming(now)) if captured else lambda: None)
        if not captured:
            threading.Timer(0.1, release.set).start()
        recorder.record(state)
    writer.close()
    paths = sorted((tmp_path / "run" / "snapshots").iterdir())
    assert all(np.array_equal(read_snapshot(p).temperature, v) for p, v in zip(paths, values, strict=True))
    assert made == 1


def test_the_seconds_of_the_steps_hold_no_wait_for_the_writer_and_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(function: Callable[..., object]) -> Callable[..., object]:
        return lambda *given: (time.sleep(0.3), function(*given))[1]

    monkeypatch.setattr(snapshots, "write_snapshot", slowly(snapshots.write_snapshot))
    monkeypatch.setattr(checkpointing, "write_checkpoint", slowly(checkpointing.write_checkpoint))
    run = run_scenario(loads(SCENARIO), tmp_path / "run")
    told = run.timings
    assert told["waiting_seconds"] > 0.5
    assert told["checkpoints_seconds"] > 0.3
    assert told["loop_seconds"] < 0.3
    assert run.info["cell_updates_per_second"] == run.info["cell_updates"] / told["loop_seconds"]
    parts = [value for name, value in told.items() if name != "total_seconds"]
    assert 0.9 * told["total_seconds"] < sum(parts) <= told["total_seconds"]
    assert "waiting for the writer" in describe_parts(told)


def test_what_a_capture_fails_of_ends_the_snapshot_and_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, writer = build_problem(loads(SCENARIO)), Writer()
    state = State(problem, make_field(problem, "cpu"))

    def fetch(room: np.ndarray | None, arrived: Callable[[int], None]) -> np.ndarray:
        arrived(1)
        raise MemoryError("the GPU is gone")

    monkeypatch.setattr(state.field, "capture", lambda: fetch)
    SnapshotRecorder(problem, RunFolder.create(tmp_path / "run"), writer).record(state)
    with pytest.raises(MemoryError, match="is gone"):
        writer.close()
    assert not list((tmp_path / "run" / "snapshots").iterdir())
