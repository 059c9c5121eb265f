from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray

from heatsim.errors import InputFileError
from heatsim.store.folder import RunFolder
from heatsim.store.hdf5 import open_own
from heatsim.store.series import Series, complete_series
from heatsim.store.snapshots import Snapshot, SnapshotField, write_geometry, write_snapshot

SHAPES = [(1, 1, 50), (1, 20, 30), (4, 5, 6)]
MakeSnapshot = Callable[..., Snapshot]


def fill(folder: RunFolder, snapshots: list[Snapshot]) -> np.ndarray:
    """Write material and snapshots as a run does, one after the other; return the material."""
    shape = snapshots[0].grid.shape
    material = np.random.default_rng(99).integers(0, 3, shape).astype(np.uint8)
    write_geometry(folder.geometry, snapshots[0].grid, material, ["air", "cast iron", "glass"])
    series = Series(folder)
    for number, snapshot in enumerate(snapshots):
        write_snapshot(folder.snapshot(number), snapshot)
        series.append(folder.snapshot(number))
    return material


def read_with_vtk(path: Path) -> tuple[Any, dict[float, dict[str, np.ndarray]]]:
    """All cell arrays at all times as VTK's own reader, which is ParaView's, gives them."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    frames = {}
    for moment in reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS()):
        reader.UpdateTimeStep(moment)
        image = reader.GetOutputDataObject(0)
        shape = tuple(points - 1 for points in reversed(image.GetDimensions()))
        cells = image.GetCellData()
        frames[moment] = {
            cells.GetArrayName(i): vtk_to_numpy(cells.GetArray(i)).reshape(shape).copy()
            for i in range(cells.GetNumberOfArrays())
        }
    return image, frames


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_vtk_reads_the_same_times_and_values(
    folder: RunFolder, snapshot_of: MakeSnapshot, shape: tuple[int, int, int], dtype: str
) -> None:
    pytest.importorskip("vtkmodules")
    snapshots = [snapshot_of(shape, number, dtype) for number in range(4)]
    material = fill(folder, snapshots)
    image, frames = read_with_vtk(folder.series)
    assert list(frames) == [snapshot.time for snapshot in snapshots]
    for frame, snapshot in zip(frames.values(), snapshots, strict=True):
        assert frame.keys() == {"temperature", "material"}
        assert frame["temperature"].dtype == dtype
        assert np.array_equal(frame["temperature"], snapshot.temperature)
        assert np.array_equal(frame["material"], material)
    assert image.GetOrigin() == pytest.approx(snapshots[0].grid.origin)
    assert image.GetSpacing() == pytest.approx(snapshots[0].grid.spacing)


@pytest.mark.lowest
@pytest.mark.parametrize("shape", SHAPES)
def test_vtk_and_xarray_read_a_single_snapshot(
    folder: RunFolder, snapshot_of: MakeSnapshot, shape: tuple[int, int, int]
) -> None:
    """VTK takes a single step for a file without time."""
    pytest.importorskip("vtkmodules")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader

    snapshot = snapshot_of(shape, 1)
    material = fill(folder, [snapshot])
    reader = vtkHDFReader()
    reader.SetFileName(str(folder.series))
    reader.Update()
    cells = reader.GetOutputDataObject(0).GetCellData()
    for name, expected in (("temperature", snapshot.temperature), ("material", material)):
        assert np.array_equal(vtk_to_numpy(cells.GetArray(name)).reshape(shape), expected)
    with xarray.open_dataset(folder.series, engine="h5netcdf") as data:
        assert data.temperature.dims == ("time", "z", "y", "x")
        assert np.array_equal(data.temperature, [snapshot.temperature])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_reads_the_same_times_and_values(
    folder: RunFolder, snapshot_of: MakeSnapshot, shape: tuple[int, int, int], engine: str
) -> None:
    snapshots = [snapshot_of(shape, number) for number in range(4)]
    material = fill(folder, snapshots)
    with xarray.open_dataset(folder.series, engine=engine) as data:
        assert data.temperature.dims == ("time", "z", "y", "x")
        assert set(data.data_vars) == {"temperature", "material"}
        assert list(data.time) == [snapshot.time for snapshot in snapshots]
        assert list(data.temperature.step) == [snapshot.step for snapshot in snapshots]
        assert np.array_equal(data.temperature, [snapshot.temperature for snapshot in snapshots])
        assert np.array_equal(data.material, material)
        for axis in "xyz":
            assert np.array_equal(data[axis], snapshots[0].grid.centres(axis))
        assert (data.temperature.units, data.x.units, data.time.units) == ("degC", "m", "s")
        assert data.material.flag_meanings == "air cast_iron glass"
        assert data.attrs["title"] == "A test"


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_opens_the_vtk_group_too(folder: RunFolder, snapshot_of: MakeSnapshot, engine: str) -> None:
    fill(folder, [snapshot_of((4, 5, 6), number) for number in range(2)])
    with xarray.open_dataset(folder.series, engine=engine, group="VTKHDF/CellData") as data:
        assert data.temperature.dims == ("time", "z", "y", "x")


def test_h5py_reads_the_same_values_and_the_vtk_group_shares_them(folder: RunFolder, snapshot_of: MakeSnapshot) -> None:
    snapshots = [snapshot_of((4, 5, 6), number) for number in range(3)]
    fill(folder, snapshots)
    with h5py.File(folder.series) as file:
        assert np.array_equal(file["temperature"], [snapshot.temperature for snapshot in snapshots])
        assert file["temperature"] == file["VTKHDF/CellData/temperature"]


def test_a_moved_run_folder_still_opens(folder: RunFolder, snapshot_of: MakeSnapshot, tmp_path: Path) -> None:
    snapshots = [snapshot_of((4, 5, 6), number) for number in range(2)]
    fill(folder, snapshots)
    moved = tmp_path / "elsewhere" / "kept"
    moved.parent.mkdir()
    shutil.move(folder.path, moved)
    with xarray.open_dataset(moved / "run.vtkhdf", engine="h5netcdf") as data:
        assert np.array_equal(data.temperature[1], snapshots[1].temperature)


def test_further_fields_appear_in_every_reader(folder: RunFolder, snapshot_of: MakeSnapshot) -> None:
    pytest.importorskip("vtkmodules")
    flux = SnapshotField(np.random.default_rng(5).random((4, 5, 6)), "W m-2", "heat flux")
    fill(folder, [replace(snapshot_of((4, 5, 6), number), fields={"flux": flux}) for number in range(2)])
    _, frames = read_with_vtk(folder.series)
    assert np.array_equal(frames[0.25]["flux"], flux.values)
    with xarray.open_dataset(folder.series, engine="netcdf4") as data:
        assert np.array_equal(data.flux[1], flux.values)
        assert data.flux.units == "W m^-2"


def test_the_series_is_rebuilt_from_the_snapshots_present(folder: RunFolder, snapshot_of: MakeSnapshot) -> None:
    fill(folder, [snapshot_of((2, 3, 4), number) for number in range(3)])
    appended = folder.series.read_bytes()
    folder.series.unlink()
    Series(folder).write()
    assert folder.series.read_bytes() == appended
    assert not times_of_writing(folder.series)
    write_snapshot(folder.snapshot(1), replace(snapshot_of((2, 3, 4), 1), step=77))
    Series(folder).write()
    with h5py.File(folder.series) as file:
        assert list(file["step"]) == [0, 77, 20]


def test_no_snapshots_make_no_series(folder: RunFolder) -> None:
    Series(folder).write()
    assert not folder.series.exists()


def test_a_snapshot_of_another_grid_is_refused(folder: RunFolder, snapshot_of: MakeSnapshot) -> None:
    fill(folder, [snapshot_of((2, 3, 4), 0)])
    before = folder.series.read_bytes()
    write_snapshot(folder.snapshot(1), snapshot_of((2, 3, 5), 1))
    with pytest.raises(InputFileError, match="differs from the first snapshot"):
        Series(folder)
    assert folder.series.read_bytes() == before


def test_a_missing_snapshot_reads_as_nan_and_never_as_a_temperature(
    folder: RunFolder, snapshot_of: MakeSnapshot
) -> None:
    fill(folder, [snapshot_of((2, 3, 4), number) for number in range(2)])
    folder.snapshot(1).unlink()
    with h5py.File(folder.series) as file:
        assert np.isfinite(file["temperature"][0]).all()
        assert np.isnan(file["temperature"][1]).all()


def times_of_writing(path: Path) -> list[str]:
    """The objects that keep when they were written, so that no two files are equal."""
    kept: list[str] = []

    def note(name: str, node: Any) -> None:
        if h5py.h5g.get_objinfo(node.id).mtime:
            kept.append(name)

    with h5py.File(path) as file:
        file.visititems(note)
    return kept


def test_hundreds_of_snapshots_are_listed_in_few_rewritings_and_all_at_the_end(
    folder: RunFolder, snapshot_of: MakeSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, [snapshot_of((1, 1, 4), 0)])
    for number in range(1, 301):
        shutil.copy(folder.snapshot(0), folder.snapshot(number))
    series, listed = Series(folder, read=False), list[int]()
    monkeypatch.setattr(Series, "write", lambda self: listed.append(len(self._frames)) or note(self))
    monkeypatch.setattr("heatsim.store.series.time.monotonic", lambda: 0.0)  # however long it takes

    def note(series: Series) -> None:
        series._written, series._at = len(series._frames), 0.0

    for number in range(301):
        series.add(folder.snapshot(number))
    assert sum(listed) < 15 * 301  # and not 301**2 / 2
    series.catch_up()
    assert listed[-1] == 301
    monkeypatch.undo()
    complete_series(folder)  # of a run that was killed before that
    with h5py.File(folder.series) as file:
        assert len(file["time"]) == 301


def test_appending_to_a_thousand_snapshots_reads_the_new_one_alone(
    folder: RunFolder, snapshot_of: MakeSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, [snapshot_of((1, 1, 4), 0)])
    for number in range(1, 1000):
        shutil.copy(folder.snapshot(0), folder.snapshot(number))
    series = Series(folder)
    write_snapshot(folder.snapshot(1000), snapshot_of((1, 1, 4), 1000))
    read: list[Path] = []

    def open_and_note(path: Path, kind: str) -> h5py.File:
        read.append(path)
        return open_own(path, kind)

    monkeypatch.setattr("heatsim.store.series.open_own", open_and_note)
    series.append(folder.snapshot(1000))
    assert [path for path in read if path.parent == folder.snapshots] == [folder.snapshot(1000)]
    with h5py.File(folder.series) as file:
        assert file["temperature"].shape == (1001, 1, 1, 4)


KILLER = """
import os, random, sys, time
from pathlib import Path
import h5py
import numpy as np
from heatsim.store.folder import RunFolder
from heatsim.store.series import Series, complete_series
from heatsim.store.snapshots import CellGrid, Snapshot, write_snapshot

GRID = CellGrid((8, 16, 16), (0, 0, 0), (1, 1, 1))

def values(number):
    return np.random.default_rng(number).random(GRID.shape)

def write_for_ever(folder):
    series = Series(folder)
    series.write()
    number = len(folder.snapshot_paths())
    while True:
        write_snapshot(folder.snapshot(number), Snapshot(GRID, float(number), number, values(number)))
        series.append(folder.snapshot(number))
        number += 1

def wait_until_written(folder, more):
    # `more` snapshots, and a part of the time that one of them took: as many on a slow machine
    begun, present = time.monotonic(), len(folder.snapshot_paths())
    while len(folder.snapshot_paths()) < present + more:
        time.sleep(0.001)
    time.sleep(random.random() * (time.monotonic() - begun) / more)

def check(folder):
    with h5py.File(folder.series) as file:
        times = file["time"][()]
        assert np.array_equal(times, np.arange(len(times))), times
        assert file["temperature"].shape[0] == len(times)
        for i in range(len(times)):
            assert np.array_equal(file["temperature"][i], values(i)), i
    return len(times), len(folder.snapshot_paths())

folder = RunFolder.create(Path(sys.argv[1]))
random.seed(1)
write_snapshot(folder.snapshot(0), Snapshot(GRID, 0.0, 0, values(0)))
Series(folder).write()
cut = 0
for _ in range(20):
    child = os.fork()
    if child == 0:
        write_for_ever(folder)
    wait_until_written(folder, random.randint(2, 4))
    os.kill(child, 9)
    os.waitpid(child, 0)
    listed, present = check(folder)
    cut += present > listed or any(folder.path.rglob("*.tmp"))
    assert present - listed in (0, 1), (present, listed)
print(listed, cut)
"""


def test_nothing_is_lost_or_torn_when_the_writer_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLER, str(tmp_path / "run")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert result.returncode == 0, result.stderr
    listed, cut = map(int, result.stdout.split())
    assert listed > 20
    assert cut > 0  # some kills fell into the middle of a write, or between snapshot and series
