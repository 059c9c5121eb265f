"""Unequal cells and cylindrical coordinates in the files of a run."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray
from helpers.in_turn import in_turn

from heatsim.base.grid import CellGrid
from heatsim.store.folder import RunFolder
from heatsim.store.series import Series
from heatsim.store.snapshots import Snapshot, read_snapshot, write_geometry, write_snapshot

X, Y, Z = (0.1, 0.3, 0.35, 1.0), (-0.5, -0.2, 0.7), (0.0, 1e-6, 0.1 + 0.2)
GRIDS = {
    "unequal along all axes": CellGrid((2, 2, 3), (0.1, -0.5, 0.0), (0.3, 0.6, 0.15), (X, Y, Z)),
    "unequal along z": CellGrid((2, 4, 3), (0.1, 0.2, 0.0), (0.1, 0.1, 0.15), (None, None, Z)),
    "cylindrical": CellGrid((4, 1, 3), (0.0, 0.0, 0.2), (0.1, 2 * np.pi, 0.1), (None, None, None), "cylindrical"),
    "cylindrical, unequal": CellGrid((2, 1, 3), (0.1, 0.0, 0.0), (0.3, 2 * np.pi, 0.15), (X, None, Z), "cylindrical"),
}


def fill(folder: RunFolder, grid: CellGrid, count: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Write `count` snapshots and the material as a run does; return temperatures and material."""
    material = np.random.default_rng(9).integers(0, 3, grid.shape).astype(np.uint8)
    write_geometry(folder.geometry, grid, material, ["air", "copper", "glass"])
    series = Series(folder)
    fields = []
    for number in range(count):
        fields.append(np.random.default_rng(number).uniform(250, 400, grid.shape).astype(np.float32))
        write_snapshot(folder.snapshot(number), Snapshot(grid, 0.5 * number, number, fields[-1]))
        series.append(folder.snapshot(number))
    return fields, material


@in_turn("grid", GRIDS.values(), ids=GRIDS)
def test_a_snapshot_gives_back_its_grid_exactly(tmp_path: Path, grid: CellGrid) -> None:
    write_snapshot(tmp_path / "a.h5", Snapshot(grid, 0.0, 0, np.zeros(grid.shape)))
    read = read_snapshot(tmp_path / "a.h5")
    assert read.grid == grid
    assert read.fields == {}


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_xarray_finds_centres_and_the_bounds_of_unequal_cells(folder: RunFolder, grid: CellGrid, engine: str) -> None:
    fields, material = fill(folder, grid, 2)
    with xarray.open_dataset(folder.series, engine=engine, decode_coords="all") as data:
        assert set(data.data_vars) == {"temperature", "material"}
        assert data.temperature.dims == ("time", "z", "y", "x")
        assert np.array_equal(data.temperature, fields)
        assert np.array_equal(data.material, material)
        for axis, edges in zip("xyz", grid.edges, strict=True):
            assert np.array_equal(data[axis], grid.centres(axis))
            assert (f"{axis}_bounds" in data.coords) == (edges is not None)
            if edges is not None:
                assert np.array_equal(data[f"{axis}_bounds"], np.transpose([edges[:-1], edges[1:]]))
        cylindrical = grid.coordinates == "cylindrical"
        assert ("radius" in data.x.long_name) == cylindrical
        assert data.y.units == ("radian" if cylindrical else "m")


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_vtk_reads_values_and_places_of_unequal_cells(folder: RunFolder, grid: CellGrid, count: int) -> None:
    pytest.importorskip("vtkmodules")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
    from vtkmodules.vtkIOHDF import vtkHDFReader

    fields, material = fill(folder, grid, count)
    reader = vtkHDFReader()
    reader.SetFileName(str(folder.series))
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS()) or [0.0]
    assert list(times) == [0.5 * number for number in range(count)]
    for time, field in zip(times, fields, strict=True):
        reader.UpdateTimeStep(time)
        cells = reader.GetOutputDataObject(0)
        assert np.array_equal(vtk_to_numpy(cells.GetCellData().GetArray("temperature")), field.reshape(-1))
        assert np.array_equal(vtk_to_numpy(cells.GetCellData().GetArray("material")), material.reshape(-1))
    assert cells.GetNumberOfCells() == grid.cells
    for number in range(grid.cells):
        assert cells.GetCell(number).GetBounds() == pytest.approx(bounds(grid, number))


def bounds(grid: CellGrid, number: int) -> list[float]:
    """Lower and upper end along x, y, z of the cell with a flat index, on the plane y = 0 if cylindrical."""
    index = np.unravel_index(number, grid.shape)[::-1]
    ends = [grid.faces(axis)[i : i + 2] for axis, i in zip("xyz", index, strict=True)]
    if grid.coordinates == "cylindrical":
        ends[1] = np.zeros(2)
    return [float(end) for end in np.concatenate(ends)]


def test_vtk_finds_cells_of_the_right_volume(folder: RunFolder) -> None:
    """Corners in another order than VTK's would make twisted cells of another volume."""
    pytest.importorskip("vtkmodules")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkFiltersVerdict import vtkCellSizeFilter
    from vtkmodules.vtkIOHDF import vtkHDFReader

    grid = GRIDS["unequal along all axes"]
    fill(folder, grid, 2)
    reader = vtkHDFReader()
    reader.SetFileName(str(folder.series))
    sizes = vtkCellSizeFilter()
    sizes.SetInputConnection(reader.GetOutputPort())
    sizes.Update()
    dz, dy, dx = np.meshgrid(*(grid.sizes(axis) for axis in "zyx"), indexing="ij")
    volumes = vtk_to_numpy(sizes.GetOutputDataObject(0).GetCellData().GetArray("Volume"))
    assert volumes == pytest.approx((dx * dy * dz).reshape(-1))


def test_the_mesh_is_written_once_and_goes_with_the_run(folder: RunFolder) -> None:
    fill(folder, GRIDS["cylindrical"], 2)
    written = folder.mesh.stat().st_mtime_ns
    Series(folder).write()
    assert folder.mesh.stat().st_mtime_ns == written
    RunFolder.create(folder.path, force=True)
    assert not folder.mesh.exists()


def test_equal_cells_have_neither_mesh_nor_bounds(folder: RunFolder) -> None:
    fill(folder, CellGrid((2, 3, 4), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), 2)
    assert not folder.mesh.exists()
    with h5py.File(folder.series) as file:
        assert file["VTKHDF"].attrs["Type"] == b"ImageData"
        assert not [name for name in file if name.endswith("_bounds")]
