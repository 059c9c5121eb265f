"""Planes, lines and blocks of snapshots."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from helpers.in_turn import in_turn

from heatsim.base.quantity import Quantity
from heatsim.errors import InputFileError, RequestError, RunFolderError
from heatsim.output.pictures.planes import PlaneRequest, PlaneSource, line_curves
from heatsim.store.field_reader import FieldReader
from heatsim.store.folder import RunFolder
from heatsim.store.snapshots import CellGrid, Snapshot, SnapshotField, write_snapshot

SHAPE = (4, 5, 6)


@pytest.fixture
def filled(folder: RunFolder, snapshot_of: Callable[..., Snapshot]) -> RunFolder:
    for number in range(3):
        write_snapshot(folder.snapshot(number), snapshot_of(SHAPE, number))
    return folder


def test_planes_and_blocks_are_those_of_the_field(filled: RunFolder, snapshot_of: Callable[..., Snapshot]) -> None:
    reader, field = FieldReader(filled), snapshot_of(SHAPE, 1).temperature
    header = reader.at(0.25)
    for axis, cut in (("x", np.s_[:, :, 2]), ("y", np.s_[:, 2]), ("z", np.s_[2])):
        assert np.array_equal(reader.plane(header, "temperature", axis, 2), field[cut])
    blocks = list(reader.blocks(header, "temperature"))
    assert np.array_equal(np.concatenate([block for _, block in blocks]), field)


@in_turn("dtype", ["float32", "float64"])
@in_turn("shape", [(70, 65, 130), (3, 300, 301), (1, 1, 50)])
def test_blocks_unpacked_by_threads_are_those_that_hdf5_reads(
    folder: RunFolder, snapshot_of: Callable[..., Snapshot], shape: tuple[int, int, int], dtype: str
) -> None:
    """Also where the last chunk along an axis is cut off by the end of the grid."""
    written = snapshot_of(shape, 0, dtype)
    write_snapshot(folder.snapshot(0), written)
    reader = FieldReader(folder)
    blocks = [block for _, block in reader.blocks(reader.snapshots[0], "temperature")]
    assert np.array_equal(np.concatenate(blocks), written.temperature)
    assert blocks[0].dtype == dtype


def test_a_damaged_chunk_is_found_by_threads(folder: RunFolder, snapshot_of: Callable[..., Snapshot]) -> None:
    write_snapshot(folder.snapshot(0), snapshot_of((70, 65, 130), 0))
    reader = FieldReader(folder)
    data = bytearray(folder.snapshot(0).read_bytes())
    middle = len(data) // 2
    data[middle : middle + 64] = bytes(64)
    folder.snapshot(0).write_bytes(data)
    with pytest.raises(InputFileError, match="000000"):
        list(reader.blocks(reader.snapshots[0], "temperature"))


def test_the_nearest_time_is_read_and_none_outside(filled: RunFolder) -> None:
    reader = FieldReader(filled)
    assert [reader.at(time).step for time in (0.0, 0.2, 0.3, 0.5, None)] == [0, 10, 10, 20, 20]  # type: ignore[list-item]
    with pytest.raises(RequestError, match=r"from 0 s to 0\.5 s"):
        reader.at(0.6)


def test_a_snapshot_of_another_grid_is_left_out(filled: RunFolder, snapshot_of: Callable[..., Snapshot]) -> None:
    write_snapshot(filled.snapshot(1), snapshot_of((2, 5, 6), 1))
    reader = FieldReader(filled)
    assert [header.step for header in reader.snapshots] == [0, 20]
    assert "000001.h5" in reader.skipped[0]


def test_a_run_without_snapshots_says_so(folder: RunFolder) -> None:
    with pytest.raises(RunFolderError, match="no snapshots yet"):
        FieldReader(folder)


def linear(folder: RunFolder) -> FieldReader:
    """T = 10 x + 20 y + 40 z, with the vector (3, 4, 0)."""
    grid = CellGrid((8, 8, 8), (0.0, 0.0, 0.0), (0.1, 0.1, 0.1))
    z, y, x = np.meshgrid(*(grid.centres(axis) for axis in "zyx"), indexing="ij")
    flux = {
        f"heat_flux_{axis}": SnapshotField(np.full(grid.shape, value), "W m-2")
        for axis, value in (("x", 3.0), ("y", 4.0), ("z", 0.0))
    }
    write_snapshot(folder.snapshot(0), Snapshot(grid, 0.0, 0, 10 * x + 20 * y + 40 * z, Quantity(), "", flux))
    return FieldReader(folder)


def test_a_line_has_the_values_of_the_cells_that_it_passes(folder: RunFolder) -> None:
    reader = linear(folder)
    (curve,) = line_curves(reader, "temperature", ((0.0, 0.05, 0.05), (0.8, 0.05, 0.05)), reader.snapshots)
    assert curve.x == pytest.approx(0.05 + 0.1 * np.arange(8))
    assert curve.y == pytest.approx(10 * curve.x + 3)
    (slanting,) = line_curves(reader, "temperature", ((0.0, 0.0, 0.0), (0.8, 0.8, 0.8)), reader.snapshots)
    assert slanting.y == pytest.approx(70 * slanting.x / np.sqrt(3))


def test_a_vector_is_its_magnitude_with_arrows_in_the_plane(folder: RunFolder) -> None:
    source = PlaneSource(linear(folder), PlaneRequest("heat_flux", "z", 0.4))
    frame, arrows = source.frame(source.reader.snapshots[0])
    assert (frame.field == 5.0).all()
    assert arrows is not None
    assert (arrows[0] == 3.0).all()
    assert (arrows[1] == 4.0).all()
