"""Pictures of hot spots: every number is within the picture, wherever its spot lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn
from matplotlib.axes import Axes

from heatsim.output.pictures.pages import PlaneStyle
from heatsim.output.pictures.slices import HotspotMark, draw_hotspots

EXTENT = (0.0, 0.1, 0.0, 0.07)


@in_turn(("x", "y"), [(0.05, 0.035), (0.0, 0.07), (0.1, 0.07), (0.0, 0.0), (0.1, 0.0), (0.038, 0.07)])
def test_the_number_of_a_spot_is_written_within_the_plane(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, x: float, y: float
) -> None:
    places = []
    annotate = Axes.annotate

    def noted(self: Axes, text: str, place: tuple[float, float], **options: object) -> object:
        places.append((place, options["ha"], options["va"]))
        return annotate(self, text, place, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Axes, "annotate", noted)
    spot = HotspotMark(x, y, 0.004, 5.0)
    field = np.random.default_rng(0).random((70, 100))
    draw_hotspots(tmp_path / "a.png", field, EXTENT, [spot], PlaneStyle(("x (m)", "y (m)"), "K", "t"))
    (((at_x, at_y), horizontal, vertical),) = places
    assert EXTENT[0] <= at_x <= EXTENT[1]
    assert EXTENT[2] <= at_y <= EXTENT[3]
    assert horizontal == ("left" if x < 0.05 else "right")
    assert vertical == ("top" if y > 0.06 else "bottom")
