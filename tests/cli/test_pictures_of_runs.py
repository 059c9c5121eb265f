"""The pictures that a run draws itself: `output.pictures`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.commands import BLOCK, Invoke
from helpers.in_turn import in_turn
from PIL import Image

Write = Callable[..., Path]
WANTED = '[output.pictures]\ntheme = "dark"\nlevels = [310.0]\noverview = true\nmovie = "webp"\n'


def test_a_run_draws_as_its_scenario_says(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(BLOCK + WANTED)
    done = invoke("run", "case.toml", "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    run = tmp_path / "outputs" / "case"
    assert sorted(path.name for path in (run / "pictures").iterdir()) == ["overview.png", "z_0.016.webp"]
    for picture in (run / "pictures" / "overview.png", run / "slices" / "z_0.016_000000.png"):
        with Image.open(picture) as image:
            assert np.asarray(image.convert("RGB"))[2, 2].tolist() == [0x15, 0x18, 0x1D]
    assert invoke("run", "case.toml", "--quiet", "--force").exit_code == 0  # these files are the run's own


@pytest.mark.parametrize(("key", "found"), [('format = "svg"', "svg"), ('format = "pdf"', "pdf")])
def test_slices_come_in_the_format_that_is_named(
    invoke: Invoke, write: Write, tmp_path: Path, key: str, found: str
) -> None:
    write(f"{BLOCK}[output.pictures]\n{key}\n")
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    slices = tmp_path / "outputs" / "case" / "slices"
    assert len(list(slices.glob(f"*.{found}"))) == 3
    assert not list(slices.glob("*.png"))


@in_turn(
    ("key", "said"),
    [
        ('range = "all"', 'expected "run", "frame" or an array of 2 temperatures, found "all"'),
        ("range = [3.0]", "an array of 2 increasing numbers"),
        ('contours = "yes"', 'expected true or false, found "yes"'),
        ('format = "bmp"', 'expected "png", "svg" or "pdf", found "bmp"'),
        ("levels = [-5.0]", ">= 0"),
    ],
)
def test_keys_of_pictures_are_checked(invoke: Invoke, write: Write, key: str, said: str) -> None:
    write(f"{BLOCK}[output.pictures]\n{key}\n")
    done = invoke("validate", "case.toml")
    assert done.exit_code == 2
    assert said in done.stderr


def test_pictures_drawn_again_look_as_the_scenario_says(invoke: Invoke, write: Write, tmp_path: Path) -> None:
    write(BLOCK + WANTED)
    assert invoke("run", "case.toml", "--quiet").exit_code == 0
    picture = tmp_path / "outputs" / "case" / "slices" / "z_0.016_000001.png"
    before = picture.read_bytes()
    assert invoke("plot", "outputs/case").exit_code == 0
    assert picture.read_bytes() == before
    assert invoke("plot", "outputs/case", "--theme", "light").exit_code == 0
    assert picture.read_bytes() != before
