"""Chunks packed by threads are those that every HDF5 library reads, whatever packed them."""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers.in_turn import in_turn
from store.test_series import fill, read_with_vtk

from heatsim.base import atomic
from heatsim.errors import InputFileError
from heatsim.store import chunks
from heatsim.store.chunks import Compression, create_packed, read_block, write_chunks
from heatsim.store.folder import RunFolder
from heatsim.store.snapshots import Snapshot, read_snapshot, write_snapshot

MakeSnapshot = Callable[..., Snapshot]
SHAPE = (70, 65, 130)  # eight chunks, none of them full


@pytest.fixture
def large(snapshot_of: MakeSnapshot) -> Snapshot:
    """A snapshot of several chunks that are not full, some of noise."""
    return replace(snapshot_of(SHAPE, 1), temperature=np.random.default_rng(0).random(SHAPE, np.float32))


@in_turn("compression", ["none", "fast", "small"])
@in_turn("dtype", [">f4", "f8", "u1"])
@in_turn("shape", [SHAPE, (1, 1, 7)])
def test_hdf5_itself_reads_what_threads_packed(
    tmp_path: Path, compression: Compression, dtype: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDF5 verifies the checksum of each chunk, and unpacks it with a zlib of its own."""
    values, whole = (200 * np.random.default_rng(1).random(shape)).astype(dtype), (slice(None),) * 3
    with h5py.File(tmp_path / "a.h5", "w") as file:
        write_chunks(create_packed(file, "a", shape, values.dtype, compression), values, compression)
    with h5py.File(tmp_path / "a.h5") as file:
        assert np.array_equal(file["a"][()], values)
        assert np.array_equal(read_block(file["a"], whole), values)
        assert np.array_equal(read_block(file["a"], (0, slice(2), slice(3, 9))), values[0, :2, 3:9])
        monkeypatch.setattr(chunks, "isal_zlib", None)
        assert np.array_equal(read_block(file["a"], whole), values)


def test_netcdf_vtk_and_an_h5py_without_isal_read_a_snapshot(tmp_path: Path, large: Snapshot) -> None:
    write_snapshot(tmp_path / "a.h5", large)
    netcdf = pytest.importorskip("netCDF4")
    with netcdf.Dataset(tmp_path / "a.h5") as data:
        assert np.array_equal(data["temperature"][...], large.temperature)
    code = "import sys; sys.modules['isal'] = None; import h5py, numpy; a = h5py.File(sys.argv[1])['temperature'][()]"
    alone = [sys.executable, "-c", f"{code}; print(a.sum(dtype='f8').hex())", str(tmp_path / "a.h5")]
    told = subprocess.run(alone, capture_output=True, text=True, check=True).stdout.strip()
    assert told == large.temperature.sum(dtype=np.float64).hex()
    pytest.importorskip("vtkmodules")
    folder = RunFolder.create(tmp_path / "run")
    fill(folder, [replace(large, time=0.0), large])
    _, frames = read_with_vtk(folder.series)
    assert np.array_equal(frames[large.time]["temperature"], large.temperature)


def test_files_are_equal_on_any_number_of_threads_and_without_isal_hold_the_same(
    tmp_path: Path, large: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
        monkeypatch.setattr(atomic, "SPOOL_BYTES", 10 ** int(threads))  # in memory or on the disk
        write_snapshot(tmp_path / f"{threads}.h5", large)
    first, *others = (path.read_bytes() for path in sorted(tmp_path.glob("*.h5")))
    assert all(other == first for other in others)
    monkeypatch.setattr(chunks, "isal_zlib", None)
    write_snapshot(tmp_path / "zlib.h5", large)
    assert np.array_equal(read_snapshot(tmp_path / "zlib.h5").temperature, large.temperature)


def test_any_damaged_byte_of_a_chunk_is_noticed(tmp_path: Path, large: Snapshot) -> None:
    path = tmp_path / "a.h5"
    write_snapshot(path, large)
    whole = path.read_bytes()
    with h5py.File(path) as file:
        chunk = file["temperature"].id.get_chunk_info(3)
    for place in (0, 1, chunk.size // 3, chunk.size - 6, chunk.size - 1):
        damaged = bytearray(whole)
        damaged[chunk.byte_offset + place] ^= 16
        path.write_bytes(damaged)
        with pytest.raises(InputFileError, match="not a readable heatsim snapshot"):
            read_snapshot(path)


def test_a_chunk_that_unpacks_to_far_more_than_it_should_is_refused(tmp_path: Path, large: Snapshot) -> None:
    path, bomb = tmp_path / "a.h5", zlib.compress(bytes(2**28), 9)
    write_snapshot(path, large)
    with h5py.File(path, "a") as file:
        file["temperature"].id.write_direct_chunk((0, 0, 0), bomb)
    with pytest.raises(InputFileError, match="another size than its dataset says"):
        read_snapshot(path)
