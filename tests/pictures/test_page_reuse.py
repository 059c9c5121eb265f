"""A page that is used for several pictures of a plane draws each of them as a new page would."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heatsim.output.pictures.pages import PlaneStyle, png
from heatsim.output.pictures.plane_view import Faces
from heatsim.output.pictures.slices import draw_slice

EXTENT = (0.0, 1.0, 0.0, 0.6)
LINES = np.linspace(0.0, 1.0, 31) ** 2


def fields() -> list[np.ndarray]:
    y, x = np.mgrid[0:30, 0:30]
    return [300 + 20 * np.sin(x / 5 + frame) * np.cos(y / 7) for frame in range(3)] + [np.full((30, 30), 310.0)]


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)


@pytest.mark.parametrize("faces", [None, (0.6 * LINES, LINES)], ids=["equal cells", "unequal cells"])
def test_a_page_used_again_gives_the_same_pixels(tmp_path: Path, faces: Faces | None) -> None:
    page = None
    for frame, field in enumerate(fields()):
        style = PlaneStyle(("x", "y"), "K", "A plate", f"t = {frame} s", (280.0, 330.0))
        page = draw_slice(tmp_path / "again.png", field, EXTENT, style, faces=faces, page=page)
        draw_slice(tmp_path / "new.png", field, EXTENT, style, faces=faces)
        assert np.array_equal(pixels(tmp_path / "again.png"), pixels(tmp_path / "new.png"))


def test_a_page_drawn_in_parts_has_the_pixels_of_one_drawn_at_once(tmp_path: Path) -> None:
    field = fields()[0]
    page = draw_slice(tmp_path / "parts.png", field, EXTENT, PlaneStyle(("x", "y"), "K", "A plate", "t = 0 s"))
    assert page is not None
    page.page.save(tmp_path / "whole.png", 150)
    assert np.array_equal(pixels(tmp_path / "parts.png"), pixels(tmp_path / "whole.png"))


def test_png_files_hold_the_pixels_and_the_resolution(tmp_path: Path) -> None:
    colours = np.random.default_rng(0).integers(0, 256, (7, 5, 3), np.uint8)
    (tmp_path / "a.png").write_bytes(png(colours, 150))
    assert np.array_equal(pixels(tmp_path / "a.png"), colours)
    with Image.open(tmp_path / "a.png") as image:
        assert image.info["dpi"] == pytest.approx((150, 150), rel=1e-3)
