"""A packed run holds what its snapshots hold, and needs no other file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from store.test_series import fill, read_with_vtk

from heatsim.errors import RequestError
from heatsim.store.field_reader import FieldReader
from heatsim.store.folder import RunFolder
from heatsim.store.packing import pack_run
from heatsim.store.snapshots import CellGrid, Snapshot

MakeSnapshot = Callable[..., Snapshot]
SHAPE = (4, 5, 6)


def nothing(part: float) -> None:
    pass


@pytest.fixture
def packed(folder: RunFolder, snapshot_of: MakeSnapshot, tmp_path: Path) -> Callable[..., Path]:
    """Pack a run of so many snapshots, and take the run away."""

    def call(times: int, order: str = "fields") -> Path:
        fill(folder, [snapshot_of(SHAPE, number) for number in range(times)])
        pack_run(FieldReader(folder), tmp_path / "packed.vtkhdf", order, (), nothing)  # type: ignore[arg-type]
        shutil.rmtree(folder.path)
        return tmp_path / "packed.vtkhdf"

    return call


@pytest.mark.parametrize("order", ["fields", "series"])
@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_reads_the_values_of_the_snapshots(
    packed: Callable[..., Path], snapshot_of: MakeSnapshot, order: str, engine: str
) -> None:
    with xarray.open_dataset(packed(3, order), engine=engine) as data:
        assert data.temperature.dims == ("time", "z", "y", "x")
        assert set(data.data_vars) == {"temperature", "material"}
        assert data.time.values.tolist() == [0.0, 0.25, 0.5]
        expected = [snapshot_of(SHAPE, number).temperature for number in range(3)]
        assert np.array_equal(data.temperature, expected)
        assert data.temperature.attrs["units"] == "degC"


@pytest.mark.parametrize("order", ["fields", "series"])
def test_vtk_reads_the_values_of_the_snapshots(
    packed: Callable[..., Path], snapshot_of: MakeSnapshot, order: str
) -> None:
    pytest.importorskip("vtkmodules")
    _, frames = read_with_vtk(packed(3, order))
    assert list(frames) == [0.0, 0.25, 0.5]
    for number, frame in enumerate(frames.values()):
        assert frame.keys() == {"temperature", "material"}
        assert np.array_equal(frame["temperature"], snapshot_of(SHAPE, number).temperature)


def test_vtk_reads_a_single_time(packed: Callable[..., Path], snapshot_of: MakeSnapshot) -> None:
    pytest.importorskip("vtkmodules")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(packed(1)))
    reader.Update()
    values = vtk_to_numpy(reader.GetOutputDataObject(0).GetCellData().GetArray("temperature"))
    assert np.array_equal(values.reshape(SHAPE), snapshot_of(SHAPE, 0).temperature)


def test_vtk_reads_unequal_cells(folder: RunFolder, tmp_path: Path) -> None:
    pytest.importorskip("vtkmodules")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader

    grid = CellGrid((1, 2, 3), (0.0, 0.0, 0.0), (0.3, 0.5, 1.0), ((0.0, 0.1, 0.2, 0.9), None, None))
    fields = [np.random.default_rng(i).random(grid.shape) for i in range(2)]
    fill(folder, [Snapshot(grid, float(i), i, values) for i, values in enumerate(fields)])
    pack_run(FieldReader(folder), tmp_path / "packed.vtkhdf", "fields", (), nothing)
    shutil.rmtree(folder.path)
    reader = vtkHDFReader()
    reader.SetFileName(str(tmp_path / "packed.vtkhdf"))
    reader.UpdateInformation()
    for i, values in enumerate(fields):
        reader.UpdateTimeStep(float(i))
        cells = reader.GetOutputDataObject(0).GetCellData()
        assert np.array_equal(vtk_to_numpy(cells.GetArray("temperature")), values.ravel())


def test_chunks_suit_the_use(folder: RunFolder, snapshot_of: MakeSnapshot, tmp_path: Path) -> None:
    fill(folder, [snapshot_of((40, 80, 90), number) for number in range(5)])
    for order, times in (("fields", 1), ("series", 5)):
        pack_run(FieldReader(folder), tmp_path / f"{order}.h5", order, ("temperature",), nothing)  # type: ignore[arg-type]
        with h5py.File(tmp_path / f"{order}.h5") as file:
            chunks = file["temperature"].chunks
            assert chunks[0] == times
            assert 2**18 <= 4 * np.prod(chunks) <= 2**20
            assert not file["temperature"].is_virtual


def test_an_unknown_field_is_refused_and_nothing_is_left(folder: RunFolder, snapshot_of: MakeSnapshot) -> None:
    fill(folder, [snapshot_of(SHAPE, 0)])
    with pytest.raises(RequestError, match="they hold temperature"):
        pack_run(FieldReader(folder), folder.path / "packed.vtkhdf", "fields", ("heat",), nothing)
    assert not list(folder.path.glob("*packed*"))
