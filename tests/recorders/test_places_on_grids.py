"""Slices on unequal cells and in cylindrical coordinates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn

from heatsim.base.grid import CellGrid, cell_index
from heatsim.errors import InputFileError
from heatsim.output.pictures.frames import downsample, draw_frames, position_text
from heatsim.output.recorders.hotspots import search_slices
from heatsim.scenario.output import Hotspots
from heatsim.store.folder import RunFolder
from heatsim.store.slice_frames import SliceFrame, read_slice_frame, write_slice_frame

EDGES = (0.1, 0.3, 0.35, 1.0)
GRID = CellGrid((1, 2, 3), (0.1, 0.0, 0.0), (0.3, 0.5, 1.0), (EDGES, None, None))


def frame(field: np.ndarray, x: np.ndarray, y: np.ndarray, **changes: object) -> SliceFrame:
    values = {"axes": ("y", "x"), "normal": "z", "position": 0.25, "time": 1.5, "step": 3, "faces": (y, x)}
    return SliceFrame(field=field, extent=(x[0], x[-1], y[0], y[-1]), **(values | changes))  # type: ignore[arg-type]


@in_turn(("x", "index"), [(0.1, 0), (0.29, 0), (0.3, 1), (0.34, 1), (0.36, 2), (1.0, 2), (1.1, 2)])
def test_a_slice_cuts_the_cell_that_holds_its_place(x: float, index: int) -> None:
    assert cell_index(GRID, "x", x) == index


def test_a_frame_of_unequal_cells_reads_back(tmp_path: Path) -> None:
    written = frame(np.random.default_rng(1).random((2, 3)), np.array(EDGES), np.array([0.0, 0.1, 0.7]))
    write_slice_frame(tmp_path / "slice" / "000000.h5", written)
    read = read_slice_frame(tmp_path / "slice" / "000000.h5")
    assert read.faces is not None
    assert written.faces is not None
    assert all(np.array_equal(a, b) for a, b in zip(read.faces, written.faces, strict=True))
    assert np.array_equal(read.field, written.field)
    assert read.extent == written.extent


def test_the_half_plane_of_cylindrical_coordinates_reads_back_and_is_drawn(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    field = np.random.default_rng(1).random((4, 5))
    plane = SliceFrame(
        field, ("z", "x"), (0.0, 0.1, 0.0, 0.2), "y", np.pi, 1.0, 1, "K", "A wire", coordinates="cylindrical"
    )
    write_slice_frame(folder.slice_frame("half", 0), plane)
    assert read_slice_frame(folder.slice_frame("half", 0)).coordinates == "cylindrical"
    assert position_text(plane) == ""
    (picture,) = draw_frames(folder, "half")
    assert picture.stat().st_size > 1000


def test_many_thin_cells_are_drawn_as_the_hottest_of_each_pixel() -> None:
    x = np.concatenate([np.linspace(0, 0.01, 1001), [0.5, 1.0]])
    field = np.zeros((2, 1002))
    field[1, 3] = 5.0
    field[0, -1] = 7.0
    drawn, faces = downsample(field, (np.array([0.0, 0.5, 1.0]), x), (100, 100))
    assert faces is not None
    assert drawn.shape == (2, 3)
    assert drawn.tolist() == [[0, 0, 7], [5, 0, 0]]
    assert faces[1].tolist() == pytest.approx([0, 0.01, 0.5, 1.0])


def test_hot_spots_are_refused_on_unequal_cells(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    write_slice_frame(folder.slice_frame("z", 0), frame(np.ones((2, 3)), np.array(EDGES), np.array([0.0, 0.1, 0.7])))
    wanted = Hotspots.model_construct(scales=(0.1,), threshold=1.0, frames=1)
    with pytest.raises(InputFileError, match="unequal cells"):
        search_slices(folder, wanted)
