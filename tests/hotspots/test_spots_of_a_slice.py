"""Previews, pictures and tables of spots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heatsim.base.quantity import Quantity
from heatsim.errors import InputFileError
from heatsim.output.pictures.frames import downsample, draw_frames
from heatsim.output.pictures.pages import PlaneStyle
from heatsim.output.pictures.slices import HotspotMark, draw_hotspots, draw_slice, pixels
from heatsim.output.recorders.hotspots import search_slices
from heatsim.scenario.output import Hotspots
from heatsim.store.folder import RunFolder
from heatsim.store.slice_frames import SliceFrame, write_slice_frame
from heatsim.store.tables import HotSpot, read_hotspots, write_hotspots

YELLOW = (252, 255, 164)  # the hot end of inferno


def cells_of(path: Path, colour: tuple[int, int, int], within: int = 12) -> np.ndarray:
    """Rows and columns of the pixels of about a colour, (n, 2)."""
    with Image.open(path) as image:
        picture = np.asarray(image.convert("RGB")).astype(int)
    return np.argwhere(np.abs(picture - colour).max(axis=2) <= within)


def folder_with(tmp_path: Path, *fields: np.ndarray, normal: str = "z") -> RunFolder:
    """A run folder with frames of a slice of cells 1 mm wide and 2 mm high, from the point (0.5, 0.1)."""
    folder = RunFolder.create(tmp_path / "run")
    rows, columns = (axis for axis in "zyx" if axis != normal)
    for number, field in enumerate(fields):
        extent = (0.5, 0.5 + 1e-3 * field.shape[1], 0.1, 0.1 + 2e-3 * field.shape[0])
        frame = SliceFrame(field, (rows, columns), extent, normal, 0.25, float(number), number, "degC", "A slice")
        write_slice_frame(folder.slice_frame("cut", number), frame)
    return folder


def hump(rows: int, columns: int, row: float, column: float) -> np.ndarray:
    """A spot of 6 mm and 30 K on cells of 2 x 1 mm."""
    y, x = np.mgrid[:rows, :columns]
    away = (2e-3 * (y - row)) ** 2 + (1e-3 * (x - column)) ** 2
    return np.asarray(20.0 + 30.0 * np.exp(-away / (2 * 6e-3**2)), np.float32)


def test_a_large_plane_is_shown_on_fewer_cells_and_keeps_the_peak_of_each_cell() -> None:
    field = np.zeros((3001, 2400), np.float32)
    peaks = np.random.default_rng(0).integers(0, (3001, 2400), (50, 2))
    field[tuple(peaks.T)] = 5.0
    field[-1, -1] = 7.0
    shown, _ = downsample(field, None, (750, 600))
    assert shown.shape == (601, 600)
    assert shown[-1, -1] == 7.0
    assert all(shown[row // 5, column // 4] >= 5.0 for row, column in peaks)


def test_planes_that_fit_and_lines_are_shown_as_they_are() -> None:
    for shape in ((750, 600), (1, 5000), (5000, 1), (3, 3)):
        field = np.zeros(shape)
        assert downsample(field, None, (750, 600))[0] is field


def test_a_picture_of_a_large_slice_shows_a_peak_of_a_single_cell(tmp_path: Path) -> None:
    """1/4 of a pixel high and wide. The hot end of the colour bar is of the same colour, so it is counted apart."""
    counts = []
    for peak in (False, True):
        field = np.full((2900, 3900), 20.0, np.float32)
        field[0, 0], field[1700, 2211] = 10.0, 70.0 if peak else 20.0
        folder = folder_with(tmp_path / str(peak), field)
        (picture,) = draw_frames(folder, "cut")
        left_part = cells_of(picture, YELLOW)
        with Image.open(picture) as image:
            counts.append(int((left_part[:, 1] < 0.75 * image.width).sum()))
    assert counts[1] >= 1
    assert counts[0] == 0 or counts[0] > 1000  # without the peak the plane itself is the hottest


def test_a_picture_has_a_pixel_for_every_cell_of_the_preview(tmp_path: Path) -> None:
    extent = (0.0, 0.04, 0.0, 0.01)
    rows, columns = pixels(extent, 100)
    style = PlaneStyle(("x", "y"), "K", "", limits=(0.0, 1.0), dpi=100)
    draw_slice(tmp_path / "a.png", np.full((30, 30), np.nan), extent, style)
    grey = cells_of(tmp_path / "a.png", (0xC9, 0xCE, 0xD6), within=0)
    assert np.ptp(grey, axis=0) + 1 == pytest.approx([rows, columns], abs=2)


def test_circles_lie_where_the_spots_are_and_are_as_large(tmp_path: Path) -> None:
    """sqrt(2) of the scale about the place: 10 of 40 mm."""
    scale = 0.01 / np.sqrt(2)
    extent = (0.0, 0.04, 0.0, 0.03)
    for name, marks in (("none", []), ("one", [HotspotMark(0.02, 0.015, scale, 5.0)])):
        path = tmp_path / f"{name}.png"
        draw_hotspots(path, np.zeros((30, 40)), extent, marks, PlaneStyle(("x", "y"), "K", "Spots"))
    cyan = cells_of(tmp_path / "one.png", (0x5F, 0xE0, 0xFF))
    assert len(cells_of(tmp_path / "none.png", (0x5F, 0xE0, 0xFF))) == 0
    across = pixels(extent)[1]
    lower = cyan[cyan[:, 0] > np.median(cyan[:, 0])]  # its text stands at the upper right
    widest = np.ptp(lower[:, 1])
    assert widest == pytest.approx(across / 2, rel=0.05)


def test_a_search_of_a_run_tells_places_in_metres_and_draws_them(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, hump(40, 60, 30.0, 10.0), hump(40, 60, 11.25, 40.5), normal="y")
    (found,) = search_slices(folder, Hotspots(scales=(4e-3, 6e-3, 9e-3), threshold=5.0))
    assert (found.slice, found.time, found.y) == ("cut", 1.0, 0.25)
    assert found.x == pytest.approx(0.5 + 1e-3 * 41.0, abs=1e-4)
    assert found.z == pytest.approx(0.1 + 2e-3 * 11.75, abs=2e-4)
    assert found.scale == pytest.approx(6e-3, rel=0.05)
    assert (found.temperature, found.rise) == pytest.approx((50.0, 30.0), rel=0.05)
    header = folder.hotspots.read_text().splitlines()[0]
    assert header == "slice,time [s],x [m],y [m],z [m],scale [m],temperature [degC],rise [K]"
    assert read_hotspots(folder.hotspots) == [found]
    assert len(cells_of(folder.hotspot_picture("cut"), (0x5F, 0xE0, 0xFF))) > 20


def test_the_mean_of_the_last_frames_is_searched(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, hump(40, 60, 30.0, 10.0), hump(40, 60, 11.0, 45.0), hump(40, 60, 11.0, 45.0))
    wanted = {"scales": (6e-3,), "threshold": 5.0}
    assert [len(search_slices(folder, Hotspots(**wanted, frames=n))) for n in (1, 2, 3)] == [1, 1, 2]


def test_a_search_without_spots_leaves_an_empty_table_and_one_without_frames_none(tmp_path: Path) -> None:
    wanted = Hotspots(scales=(6e-3,), threshold=500.0)
    folder = folder_with(tmp_path / "a", hump(40, 60, 30.0, 10.0))
    assert search_slices(folder, wanted) == []
    assert read_hotspots(folder.hotspots) == []
    empty = folder_with(tmp_path / "b")
    assert search_slices(empty, wanted) == []
    assert not empty.hotspots.exists()


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hotspots.csv"
    write_hotspots(path, [HotSpot("a, b", 0.1, 1e-3, 2.0, 3.0, 1 / 3, 300.0, 5.0)], Quantity())
    assert read_hotspots(path) == [HotSpot("a, b", 0.1, 1e-3, 2.0, 3.0, 1 / 3, 300.0, 5.0)]
    for text in ("slice,time\na,1\n", "h\na,b,c,d,e,f,g,h\n"):
        path.write_text(text)
        with pytest.raises(InputFileError, match=r"hotspots\.csv"):
            read_hotspots(path)
    path.unlink()
    with pytest.raises(InputFileError):
        read_hotspots(path)
