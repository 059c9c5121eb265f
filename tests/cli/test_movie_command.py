"""`heatsim movie`: frames of one size and range, in each format."""

from __future__ import annotations

import builtins
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import Invoke, messages
from helpers.in_turn import in_turn
from PIL import Image


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def frames_of(path: Path) -> list[np.ndarray]:
    if path.suffix == ".mp4":
        av = pytest.importorskip("av")
        with av.open(str(path)) as file:
            return [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
    with Image.open(path) as image:
        found = []
        for number in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(number)
            found.append(np.asarray(image.convert("RGB")))
        return found


@pytest.mark.lowest
@pytest.mark.parametrize("kind", ["gif", "webp", "mp4"])
def test_a_movie_has_a_frame_for_each_time(invoke: Invoke, run: Path, tmp_path: Path, kind: str) -> None:
    if kind == "mp4":
        pytest.importorskip("av")
    done = invoke("movie", "run", "--axis", "y", "--output", f"movie.{kind}")
    assert (done.exit_code, done.output) == (0, f"movie.{kind}\n")
    frames = frames_of(tmp_path / f"movie.{kind}")
    assert len(frames) == 5
    assert 700 < frames[0].shape[1] < 900
    assert {frame.shape for frame in frames} == {frames[0].shape}
    bars = [frame[:, int(0.87 * frame.shape[1]) :].astype(int) for frame in frames]  # the colour bar and its numbers
    assert all(np.abs(bar - bars[0]).mean() < 2.0 for bar in bars)
    assert np.abs(frames[0].astype(int) - frames[-1]).mean() > 0.5


def test_the_slice_that_was_kept_is_shown_first(invoke: Invoke, run: Path) -> None:
    done = invoke("movie", "run", "--format", "webp")
    assert (done.exit_code, done.stdout) == (0, "run/pictures/z_0.016.webp\n")
    assert len(frames_of(run / "pictures" / "z_0.016.webp")) == 3


def test_a_damaged_snapshot_is_left_out_and_told(invoke: Invoke, run: Path) -> None:
    (run / "snapshots" / "000002.h5").write_bytes(b"junk")
    done = invoke("movie", "run", "--axis", "y", "--output", "movie.gif")
    assert done.exit_code == 0
    assert any("000002.h5" in line and "left out" in line for line in messages(done.stderr))
    assert len(frames_of(run.parent / "movie.gif")) == 4


@in_turn(
    ("options", "code", "said"),
    [
        (["--slice", "z_9"], 2, "has no slice 'z_9'; there are z_0.016"),
        (["--output", "movie.avi"], 2, ".gif or .webp or .mp4"),
        (["--output", "nowhere/movie.gif"], 1, "nowhere/movie.gif: No such file or directory"),
        (["--field", "peak"], 2, "they hold temperature"),
    ],
)
def test_what_cannot_be_made_is_one_message(
    invoke: Invoke, run: Path, options: list[str], code: int, said: str
) -> None:
    done = invoke("movie", "run", *options)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr


def test_mp4_without_its_library_says_what_to_install(
    invoke: Invoke, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name == "av":
            raise ImportError
        return usual(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    done = invoke("movie", "run", "--format", "mp4")
    assert done.exit_code == 2
    assert "heatsim[movie]" in done.stderr
