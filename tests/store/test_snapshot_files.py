from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from helpers.in_turn import in_turn

from heatsim.errors import InputFileError
from heatsim.store.chunks import chunk_shape
from heatsim.store.slice_frames import SliceFrame, read_slice_frame, write_slice_frame
from heatsim.store.snapshots import (
    CellGrid,
    Snapshot,
    SnapshotField,
    read_geometry_plane,
    read_snapshot,
    write_geometry,
    write_snapshot,
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_snapshot_reads_back_exactly(tmp_path: Path, snapshot_of: Callable[..., Snapshot], dtype: str) -> None:
    flux = SnapshotField(np.random.default_rng(1).random((4, 5, 6)), "W m-2", "heat flux")
    snapshot = replace(snapshot_of((4, 5, 6), 3, dtype), fields={"flux": flux})
    write_snapshot(tmp_path / "a.h5", snapshot)
    back = read_snapshot(tmp_path / "a.h5")
    assert back.grid == snapshot.grid
    assert (back.time, back.step, back.quantity.unit, back.title) == (0.75, 30, "degC", "A test")
    assert back.temperature.dtype == dtype
    assert np.array_equal(back.temperature, snapshot.temperature)
    assert np.array_equal(back.fields["flux"].values, flux.values)
    assert (back.fields["flux"].unit, back.fields["flux"].long_name) == ("W m-2", "heat flux")


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_sees_coordinates_units_and_time(
    tmp_path: Path, snapshot_of: Callable[..., Snapshot], engine: str
) -> None:
    snapshot = snapshot_of((4, 5, 6), 3)
    write_snapshot(tmp_path / "a.h5", snapshot)
    with xarray.open_dataset(tmp_path / "a.h5", engine=engine) as data:
        assert data.temperature.dims == ("z", "y", "x")
        assert np.array_equal(data.temperature, snapshot.temperature)
        assert float(data.temperature.time) == 0.75
        assert np.allclose(data.x, [-0.095, -0.085, -0.075, -0.065, -0.055, -0.045], rtol=1e-12)
        assert data.temperature.units == "degC"
        assert (data.x.units, data.x.axis, data.time.units) == ("m", "X", "s")
        assert data.Conventions == "CF-1.11"
        assert data.attrs["step"] == 30


def test_damage_in_a_snapshot_is_noticed(tmp_path: Path, snapshot_of: Callable[..., Snapshot]) -> None:
    path = tmp_path / "a.h5"
    write_snapshot(path, snapshot_of((16, 16, 16), 0))
    with h5py.File(path) as file:
        chunk = file["temperature"].id.get_chunk_info(0)
    data = bytearray(path.read_bytes())
    data[chunk.byte_offset + chunk.size // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputFileError, match="not a readable heatsim snapshot"):
        read_snapshot(path)


def test_what_is_no_snapshot_is_told_in_one_message(tmp_path: Path) -> None:
    (tmp_path / "text.h5").write_text("hello")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["temperature"] = 1.0
    for name in ("text.h5", "other.h5", "absent.h5"):
        with pytest.raises(InputFileError, match=name):
            read_snapshot(tmp_path / name)


def test_a_snapshot_that_links_to_another_file_is_not_followed(
    tmp_path: Path, snapshot_of: Callable[..., Snapshot]
) -> None:
    write_snapshot(tmp_path / "a.h5", snapshot_of((2, 2, 2), 0))
    write_snapshot(tmp_path / "b.h5", snapshot_of((2, 2, 2), 1))
    with h5py.File(tmp_path / "b.h5", "a") as file:
        del file["temperature"]
        file["temperature"] = h5py.ExternalLink("a.h5", "/temperature")
    with pytest.raises(InputFileError, match="link"):
        read_snapshot(tmp_path / "b.h5")


@in_turn("shape", [(256, 256, 256), (1, 1, 50), (1, 4000, 3000), (7, 1000, 900), (3, 5, 400_000), (100, 1, 1)])
def test_chunks_are_bricks_of_about_a_mebibyte(shape: tuple[int, int, int]) -> None:
    chunk = chunk_shape(shape, 4)
    size = 4 * np.prod(chunk)
    assert all(1 <= part <= whole for part, whole in zip(chunk, shape, strict=True))
    assert size <= 2**20
    assert size >= 2**18 or chunk == shape


def test_a_plane_across_any_axis_lies_in_few_chunks() -> None:
    assert chunk_shape((512, 512, 512), 4) == (64, 64, 64)
    assert chunk_shape((16, 4096, 4096), 4) == (16, 128, 128)


def test_writing_needs_memory_for_the_compressed_image_only(tmp_path: Path) -> None:
    # In a process of its own, since the peak of this one is already high. The array is noise of 32 MiB, whose
    # image is 26 MiB; a second copy of the image or of the array would show.
    script = """
import resource, sys
from pathlib import Path
import numpy as np
from heatsim.store.snapshots import CellGrid, Snapshot, write_snapshot
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def snapshot(n):
    values = np.random.default_rng(0).random((n, n, n), dtype=np.float32)
    return Snapshot(CellGrid((n, n, n), (0, 0, 0), (1, 1, 1)), 0.0, 0, values)
write_snapshot(Path(sys.argv[1]), snapshot(16))
large = snapshot(203)
before = peak()
write_snapshot(Path(sys.argv[1]), large)
print(peak() - before, Path(sys.argv[1]).stat().st_size / 2**20)
"""
    command = [sys.executable, "-c", script, str(tmp_path / "a.h5")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    growth, image = map(float, result.stdout.split())
    assert image > 20
    assert growth < 1.5 * image


def test_materials_read_back_with_their_names_and_as_cf_flags(tmp_path: Path) -> None:
    material = np.random.default_rng(0).integers(0, 3, (4, 5, 6)).astype(np.uint8)
    names = ["copper", "thermal paste", "Epoxidharz grün"]
    write_geometry(tmp_path / "g.h5", CellGrid((4, 5, 6), (0, 0, 0), (1, 1, 1)), material, names)
    for z in range(4):
        ids, table = read_geometry_plane(tmp_path / "g.h5", "z", z + 0.4)
        assert ids.dtype == np.uint8
        assert np.array_equal(ids, material[z])
        assert table == tuple(names)
    with h5py.File(tmp_path / "g.h5") as file:
        assert list(file["material"].attrs["flag_values"]) == [0, 1, 2]
        assert file["material"].attrs["flag_meanings"] == "copper thermal_paste Epoxidharz_grün"


def test_a_slice_frame_reads_back_exactly_and_opens_in_xarray(tmp_path: Path) -> None:
    field = np.random.default_rng(0).random((3, 4)).astype(np.float32)
    frame = SliceFrame(field, ("z", "x"), (0.0, 0.4, -0.3, 0.0), "y", 0.05, 1.5, 12, "K", "A plate")
    write_slice_frame(tmp_path / "mid" / "000001.h5", frame)
    back = read_slice_frame(tmp_path / "mid" / "000001.h5")
    assert np.array_equal(back.field, field)
    assert replace(back, field=field) == replace(frame, field=field)
    for engine in ("h5netcdf", "netcdf4"):
        with xarray.open_dataset(tmp_path / "mid" / "000001.h5", engine=engine) as data:
            assert data.temperature.dims == ("z", "x")
            assert np.allclose(data.x, [0.05, 0.15, 0.25, 0.35], rtol=1e-12)
            assert np.allclose(data.z, [-0.25, -0.15, -0.05], rtol=1e-12)
            assert (float(data.temperature.y), float(data.temperature.time)) == (0.05, 1.5)
