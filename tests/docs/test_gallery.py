"""The thumbnails of the gallery: what a slice shows, alone, when it tells most."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import heatsim
from heatsim.scenario import loads

GALLERY = Path(__file__).parents[2] / "docs" / "gallery.py"
PLATE = """
grid = { cells = [12, 8, 1], size = [0.06, 0.04, 0.001] }
time = { end = 40.0, integrator = "euler" }
materials.steel = { conductivity = 20.0, density = 8000.0, heat_capacity = 500.0 }
ambients.air = { temperature = 0.0, coefficient = 1.0 }
regions = [{ material = "steel" }, { material = "air", where = "x > 0.05" }]
initial.temperature = 300.0
sources = [{ region = { where = "x < 0.01" }, power_density = "1e7*step(21 - t) - 1e7*step(t - 21)" }]
output.slices = [{ axis = "z", at = 0.0005, count = 4 }, { axis = "y", at = 0.02, count = 4 }]
"""


def test_a_thumbnail_is_the_picture_alone_at_its_most_telling_time(tmp_path: Path) -> None:
    gallery = runpy.run_path(str(GALLERY))
    run = heatsim.run(loads(PLATE), tmp_path / "run").path
    found = {path.parent.name: (spread, path.stem) for spread, path in gallery["telling_frames"](run)}
    # The source is on until 21 s, and then takes as much; the air at 0 K does not count.
    assert found["z_0.0005"][1] == "000002"
    assert 10.0 < found["z_0.0005"][0] < 200.0
    gallery["draw_thumbnail"](run, tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        picture = np.asarray(image.convert("RGB"), int)
    assert picture.shape[0] / picture.shape[1] == pytest.approx(40 / 60, abs=0.01)
    # No page around it: the corners are the hot end at the left, the grey of the air at the right.
    assert np.ptp(picture[[3, -4], -4], axis=1).max() < 15
    assert picture[[3, -4], 3].sum(axis=1).max() < 760
    assert np.ptp(picture[[3, -4], 3], axis=1).min() > 60
