from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heatsim.output.pictures.roofline import RooflineGuide, RooflinePanel, RooflinePoint, _spread, draw_roofline


def panel(count: int) -> RooflinePanel:
    points = [RooflinePoint(f"kernel {n}", f"kernel {n}", 1.6, 1e12 * (1 + 0.01 * n), n % 2 == 1) for n in range(count)]
    return RooflinePanel(
        "float32", 4e12, points, [RooflineGuide("read once, written once", 1.63), RooflineGuide("basic asks", 0.46)]
    )


@pytest.mark.parametrize("counts", [(1,), (12, 3)])
def test_a_panel_is_as_large_whatever_it_shows(tmp_path: Path, counts: tuple[int, ...]) -> None:
    path = tmp_path / "roofline.png"
    draw_roofline(path, [panel(count) for count in counts], title="Kernels", subtitle="on a device", dpi=80)
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[0] == pytest.approx(80 * 5.5, rel=0.1)
    assert pixels.shape[1] == pytest.approx(80 * 7.1 * len(counts), rel=0.1)
    roof = (np.abs(pixels.astype(int) - (0xB5, 0x34, 0x3C)) < 8).all(axis=2)
    assert roof.sum() > 200 * len(counts)


def test_names_are_moved_apart_and_stay_in_order_and_inside() -> None:
    for heights in ([0.5, 0.5, 0.51, 0.9], [0.0, 0.0, 0.01], [0.97, 0.98, 0.99], [0.3]):
        placed = _spread(heights, 0.05)
        assert all(after - before >= 0.05 - 1e-12 for before, after in pairwise(placed))
        assert placed[0] >= 0
        assert placed[-1] <= 1 + 1e-12
    assert _spread([0.1, 0.5, 0.9], 0.05) == [0.1, 0.5, 0.9]
