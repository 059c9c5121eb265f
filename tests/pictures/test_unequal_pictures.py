"""Pictures of planes and lines of unequal cells, and of the half plane of cylindrical coordinates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heatsim.output.pictures.pages import PlaneStyle
from heatsim.output.pictures.plane_view import Faces
from heatsim.output.pictures.slices import draw_slice
from heatsim.output.pictures.units import axis_symbol

GREY = (0xC9, 0xCE, 0xD6)  # of cells without a number; nothing else on a page has it


def grey_box(path: Path, field: np.ndarray, faces: Faces | None) -> tuple[int, int, int, int]:
    """First and last row and column of the grey pixels of a picture 1 m wide and high."""
    style = PlaneStyle(("r", "z"), "K", "A", limits=(300.0, 400.0), dpi=100)
    draw_slice(path, field, (0.0, 1.0, 0.0, 1.0), style, faces=faces)
    with Image.open(path) as image:
        rows, columns = np.nonzero((np.asarray(image.convert("RGB")) == GREY).all(axis=2))
    return rows.min(), rows.max(), columns.min(), columns.max()


def test_an_unequal_cell_is_drawn_where_it_lies(tmp_path: Path) -> None:
    whole = grey_box(tmp_path / "whole.png", np.full((2, 2), np.nan), None)
    field = np.full((3, 2), 350.0)
    field[2, 1] = np.nan
    faces = np.array([0.0, 0.1, 0.75, 1.0]), np.array([0.0, 0.6, 1.0])
    top, bottom, left, right = grey_box(tmp_path / "cell.png", field, faces)
    height, width = whole[1] - whole[0], whole[3] - whole[2]
    assert (top, right) == pytest.approx((whole[0], whole[3]), abs=2)
    assert bottom - top == pytest.approx(0.25 * height, abs=3)
    assert right - left == pytest.approx(0.4 * width, abs=3)


def test_equal_cells_look_the_same_with_and_without_faces(tmp_path: Path) -> None:
    y, x = np.mgrid[0:1:20j, 0:1:20j]
    field = 300 + 50 * (x + y)
    style = PlaneStyle(("x", "y"), "K", "A", limits=(300.0, 400.0), dpi=60)
    faces = np.linspace(0, 1, 21)
    for name, each in (("a", None), ("b", (faces, faces))):
        draw_slice(tmp_path / f"{name}.png", field, (0.0, 1.0, 0.0, 1.0), style, faces=each)
    first, second = (np.asarray(Image.open(tmp_path / f"{name}.png").convert("RGB")).astype(int) for name in "ab")
    differing = (abs(first - second).max(axis=2) > 40).mean()
    assert differing < 0.02  # at the borders of cells


def test_a_profile_of_unequal_cells_is_drawn_over_their_places(tmp_path: Path) -> None:
    field = np.full((1, 3), 350.0)
    field[0, 2] = np.nan
    faces = np.array([0.0, 1.0]), np.array([0.0, 0.1, 0.5, 1.0])
    _, _, left, right = grey_box(tmp_path / "a.png", field, faces)
    whole = grey_box(tmp_path / "b.png", np.full((1, 2), np.nan), None)
    assert right - left == pytest.approx(0.5 * (whole[3] - whole[2]), abs=3)


def test_cylindrical_axes_are_called_r_and_z() -> None:
    assert [axis_symbol(axis, "cylindrical") for axis in "xyz"] == ["r", "φ", "z"]
    assert [axis_symbol(axis) for axis in "xyz"] == ["x", "y", "z"]
