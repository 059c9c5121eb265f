from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn
from PIL import Image

from heatsim.output.pictures.pages import PlaneStyle
from heatsim.output.pictures.slices import draw_profile, draw_slice
from heatsim.output.pictures.units import format_length, format_time, length_unit, unit_symbol, value_label, widen


def hot_corner(rows: int, columns: int) -> np.ndarray:
    """Hot at the upper right, 300 to 400."""
    y, x = np.mgrid[0 : 1 : rows * 1j, 0 : 1 : columns * 1j]
    return (300 + 50 * x + 50 * y).astype(np.float32)


def draw(path: Path, field: np.ndarray, width: float = 0.04, height: float = 0.04, **changes: object) -> Path:
    options = {"labels": ("x", "y"), "unit": "K", "limits": (300.0, 400.0), "title": "A plate", "dpi": 60}
    draw_slice(path, field, (0.0, width, 0.0, height), PlaneStyle(**{**options, **changes}))  # type: ignore[arg-type]
    return path


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_hot_cells_are_bright_and_the_first_row_is_at_the_bottom(tmp_path: Path) -> None:
    field = np.full((8, 8), 300.0)
    field[-1] = 400.0
    bright = pixels(draw(tmp_path / "a.png", field))[:, 100].sum(axis=1)  # a column through the plane
    dark = np.flatnonzero(bright < 60)
    yellow = np.flatnonzero((bright > 500) & (bright < 740))
    assert yellow.size > 10
    assert np.median(yellow) < np.median(dark)  # pixels are counted from the top
    assert dark.size > 5 * yellow.size


@in_turn(("width", "height"), [(1.0, 1.0), (0.1, 0.01), (0.001, 0.01), (3.0, 1.0)])
def test_cells_are_square_whatever_the_shape_of_the_plate(tmp_path: Path, width: float, height: float) -> None:
    # A grey plate (no number) of a colour that nothing else on the page has.
    field = np.full((20, 20), np.nan)
    picture = pixels(draw(tmp_path / "a.png", field, width, height, dpi=100))
    rows, columns = np.nonzero((picture == (0xC9, 0xCE, 0xD6)).all(axis=2))
    drawn = (np.ptp(columns) + 1) / (np.ptp(rows) + 1)
    assert drawn == pytest.approx(width / height, rel=0.06)


@in_turn(("width", "height"), [(0.1, 0.01), (0.01, 0.1), (1.0, 1e-5), (1e-5, 1.0)])
def test_long_plates_make_no_huge_white_page(tmp_path: Path, width: float, height: float) -> None:
    picture = pixels(draw(tmp_path / "a.png", hot_corner(30, 30), width, height, dpi=100))
    assert min(picture.shape[:2]) < 450
    assert max(picture.shape[:2]) < 900


@in_turn("value", [0.0, 293.15, -40.0, 1e9, 1e-12])
def test_a_constant_field_draws_without_warnings(tmp_path: Path, value: float) -> None:
    path = draw(tmp_path / "a.png", np.full((20, 20), value, np.float32), limits=(value, value))
    assert len(np.unique(pixels(path).reshape(-1, 3), axis=0)) > 50  # the colour bar is there


@in_turn("shape", [(1, 50), (50, 1), (1, 1), (2, 2), (3, 2000)])
def test_any_shape_draws(tmp_path: Path, shape: tuple[int, int]) -> None:
    assert pixels(draw(tmp_path / "a.png", hot_corner(*shape) if shape != (1, 1) else np.full((1, 1), 350.0))).size


def test_fields_without_any_number_or_beyond_the_limits_draw(tmp_path: Path) -> None:
    field = hot_corner(20, 20)
    field[3:9, 3:9] = np.nan
    field[0, 0] = np.inf
    assert draw(tmp_path / "a.png", field, limits=(340.0, 360.0)).is_file()


def test_a_plane_one_cell_thick_is_drawn_as_a_profile_along_its_long_axis(tmp_path: Path) -> None:
    values = np.linspace(300, 400, 50)
    style = PlaneStyle(("x", "y"), "K", "A plate", limits=(300.0, 400.0), dpi=60)
    for field, length, along in ((values[np.newaxis], 0.5, 0), (values[:, np.newaxis], 0.01, 1)):
        draw(tmp_path / "slice.png", field, 0.5, 0.01)
        draw_profile(tmp_path / "line.png", values, (0.0, length), style, along=along)
        assert np.array_equal(pixels(tmp_path / "slice.png"), pixels(tmp_path / "line.png"))


def test_a_title_is_plain_text(tmp_path: Path) -> None:
    draw(tmp_path / "a.png", hot_corner(8, 8), title=r"Costs $5 and $\nothing", subtitle="50 % of $")
    assert draw(tmp_path / "b.png", hot_corner(8, 8), 0.001, 0.1, title="long " * 40).is_file()


def test_the_same_field_gives_the_same_bytes_on_any_thread(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.png" for i in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda path: draw(path, hot_corner(20, 20)), paths))
    assert len({path.read_bytes() for path in paths}) == 1
    assert len(list(tmp_path.iterdir())) == 8


def test_a_picture_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a.png").mkdir()
    (tmp_path / "a.png" / "inside").touch()
    with pytest.raises(OSError, match=r"a\.png"):
        draw(tmp_path / "a.png", hot_corner(8, 8))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.png"]


def test_drawing_needs_no_pyplot() -> None:
    script = "import sys, heatsim.output.pictures.slices; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_lengths_and_times_are_written_in_handy_units() -> None:
    assert [format_length(x) for x in (0.005, 2.0, -3e-6, 0.0)] == ["5 mm", "2 m", "-3 µm", "0 m"]
    assert [format_time(t) for t in (0.0, 12.5, 1e-4, 90.0, 7200.0)] == [
        "0 s",
        "12.5 s",
        "100 µs",
        "90 s",
        "120 min",
    ]
    assert format_time(60.0, whole=86400.0) == "0.016667 h"
    assert [length_unit(span)[1] for span in (40.0, 0.5, 0.04, 5e-4, 2e-5)] == ["m", "m", "mm", "mm", "µm"]
    assert (unit_symbol("degC"), value_label("Fraction", "1")) == ("°C", "Fraction")


def test_limits_are_spread_only_where_they_are_nearly_equal() -> None:
    assert widen((300.0, 300.1)) == (300.0, 300.1)
    assert widen((300.0, 300.0)) == (299.5, 300.5)
    assert widen((0.0, 1e-9)) == (0.0, 1e-9)
