"""Snapshots on their way to the disk: how many are held on the host at once, and what is refused there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_recording_unequal_cells import SCENARIO, flux

from heatsim.errors import NotFiniteError
from heatsim.integrators import make_field
from heatsim.problem import build_problem
from heatsim.recorders import snapshots
from heatsim.recorders.snapshots import SnapshotRecorder
from heatsim.recorders.timings import describe_parts
from heatsim.recorders.writer import Writer
from heatsim.scenario import loads
from heatsim.simulation import checkpointing
from heatsim.simulation.run import run_scenario
from heatsim.simulation.state import State
from heatsim.store.folder import RunFolder


@pytest.mark.parametrize(("extra", "waits"), [((), False), ((flux,), True)], ids=["captures", "derived fields"])
def test_captures_of_a_gpu_queue_up_and_derived_fields_on_the_host_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: tuple[Callable[..., object], ...], waits: bool
) -> None:
    problem, writer = build_problem(loads(SCENARIO)), Writer()
    state = State(problem, make_field(problem, "cpu"))
    monkeypatch.setattr(state, "capture", lambda: state.temperature)
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


def test_a_field_found_not_to_be_finite_after_its_capture_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, writer = build_problem(loads(SCENARIO)), Writer()
    state = State(problem, make_field(problem, "cpu"))
    recorder = SnapshotRecorder(problem, RunFolder.create(tmp_path / "run"), writer)
    assert recorder.late
    recorder.record(state)
    bad = state.temperature()
    bad[1, 0, 0] = np.inf
    monkeypatch.setattr(state, "capture", lambda: lambda room: bad)
    monkeypatch.setattr(state.field, "device", "cuda")  # where the time loop does not look before
    recorder.record(state)
    with pytest.raises(NotFiniteError, match="step 0, t = 0 s"):
        writer.close()
    assert len(list((tmp_path / "run" / "snapshots").iterdir())) == 1


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
