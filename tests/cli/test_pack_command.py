"""`heatsim pack`."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
from helpers.commands import Invoke, messages


def test_a_damaged_snapshot_is_left_out_and_told(invoke: Invoke, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "snapshots" / "000002.h5").write_bytes(b"junk")
    done = invoke("pack", "run", "--for", "series")
    assert (done.exit_code, done.stdout) == (0, "run/packed.vtkhdf\n")
    assert any("000002.h5" in line and "left out" in line for line in messages(done.stderr))
    with h5py.File(tmp_path / "run" / "packed.vtkhdf") as file:
        assert file["temperature"].shape == (4, 6, 8, 12)
        assert file["time"][()].tolist() == [0.0, 1.0, 3.0, 4.0]


def test_a_target_that_cannot_be_written_is_one_message(invoke: Invoke, finished: Path) -> None:
    done = invoke("pack", finished, "--output", "nowhere/run.h5")
    assert (done.exit_code, done.stdout) == (1, "")
    assert messages(done.stderr) == ["error: nowhere/run.h5: No such file or directory"]
