"""What readers of results see: vectors as one array, plain units, attributes, and refusals in place of NaN."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.in_turn import in_turn

import heatsim
from heatsim import errors
from heatsim.store.field_reader import FieldReader
from heatsim.store.folder import RunFolder
from heatsim.store.snapshots import read_snapshot

xarray = pytest.importorskip("xarray")

BOX = """\
temperature_unit = "degC"
grid = { cells = [6, 5, 4], size = [0.02, 0.02, 0.03] }
time = { end = 2.0, integrator = "euler" }
compute = { device = "cpu" }
materials.steel = { conductivity = 15.0, density = 7900.0, heat_capacity = 500.0 }
regions = [{ material = "steel" }]
initial = { temperature = "20 + 100*x + 300*y" }
boundary.z_max = { kind = "flux", flux = 1e5 }
output.fields = ["heat_flux", "gradient"]
output.snapshots = { every = 1.0 }
"""
ROUND = {"grid": {"cells": [6, 1, 4], "size": [0.02, 2 * np.pi, 0.03], "coordinates": "cylindrical"}}
ROUND |= {"initial.temperature": "20 + 100*x"}
UNEQUAL = {"grid": {"x": {"edges": [0.0, 0.001, 0.003, 0.02]}, **{axis: {"edges": [0.0, 0.01, 0.02]} for axis in "yz"}}}


def run_of(tmp_path: Path, overrides: dict[str, object]) -> heatsim.Run:
    (tmp_path / "box.toml").write_text(BOX)
    return heatsim.run(tmp_path / "box.toml", tmp_path / "run", overrides=overrides)


@in_turn(
    "overrides",
    [{}, UNEQUAL, ROUND, {"output.snapshots": {"times": [2.0]}}, {**UNEQUAL, "output.snapshots": {"times": [2.0]}}],
)
def test_vectors_are_one_array_for_vtk_and_xarray(tmp_path: Path, overrides: dict[str, object]) -> None:
    numpy_support = pytest.importorskip("vtkmodules.util.numpy_support")
    from vtkmodules.vtkIOHDF import vtkHDFReader

    run = run_of(tmp_path, overrides)
    last = read_snapshot(RunFolder(run.path).snapshot_paths()[-1])
    letters = "rz" if overrides is ROUND else "xyz"
    expected = np.stack([last.fields[f"heat_flux_{letter}"].values for letter in letters], axis=-1)
    with heatsim.open(run) as data:
        assert list(data.component.values) == list(letters)
        assert data.heat_flux.dims == ("time", "z", "y", "x", "component")
        assert data.heat_flux.attrs["long_name"] == "heat flux"
        assert np.array_equal(data.heat_flux[-1], expected)
        units = data.heat_flux.units, data.gradient.units, data.cell_volume.units
        assert units == ("W m^-2", "K m^-1", "m^3")  # as pint-xarray takes them
        assert all({"units", "long_name"} <= set(data[name].attrs) for name in data.variables if name != "component")
    reader = vtkHDFReader()
    reader.SetFileName(str(run.path / "run.vtkhdf"))
    reader.UpdateInformation()
    if len(RunFolder(run.path).snapshot_paths()) > 1:
        reader.UpdateTimeStep(2.0)
    else:
        reader.Update()
    cells = reader.GetOutputDataObject(0).GetCellData()
    assert {cells.GetArrayName(i) for i in range(cells.GetNumberOfArrays())} == {"temperature", "heat_flux", "gradient"}
    found = numpy_support.vtk_to_numpy(cells.GetArray("heat_flux"))
    flat = expected.reshape(-1, len(letters))
    assert np.array_equal(
        found, flat if letters == "xyz" else np.stack([flat[:, 0], 0 * flat[:, 0], flat[:, 1]], axis=1)
    )
    assert FieldReader(RunFolder(run.path)).skipped == []


def test_a_series_without_its_snapshots_is_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path, {})
    with heatsim.open(run.path / "run.vtkhdf") as data:
        assert data.sizes["time"] == 3
    (tmp_path / "alone").mkdir()
    shutil.copy(run.path / "run.vtkhdf", tmp_path / "alone")
    with pytest.raises(errors.InputFileError, match="lists 3 snapshots, of which 3 are not beside it"):
        heatsim.open(tmp_path / "alone" / "run.vtkhdf")
    run.path.joinpath("snapshots", "000001.h5").unlink()
    with pytest.raises(errors.InputFileError, match="of which 1 are not beside it"):
        heatsim.open(run)
    shutil.rmtree(run.path / "snapshots")
    (run.path / "run.vtkhdf").unlink()
    (run.path / "probes.csv").write_text("time [s]\n")
    with pytest.raises(errors.RunFolderError, match=r"has no snapshots; it has probes\.csv"):
        heatsim.open(run)


def test_a_sweep_opens_by_text_or_path_with_units_as_attributes(tmp_path: Path) -> None:
    heads = "run,h [W/(m2 K)],state,hottest [degC],heat x_min [W],heat x_min [J]\n"
    (tmp_path / "sweep.csv").write_text(heads + "0000,5,finished,30.5,1,2\n0001,10,finished,25.5,3,4\n")
    for folder in (tmp_path, str(tmp_path)):
        data = heatsim.open_sweep(folder)
        assert data.hottest.attrs == {"long_name": "hottest", "units": "degC"}
        assert data.h.attrs["units"] == "W/(m^2 K)"
        assert set(data.data_vars) == {"hottest", "heat x_min [W]", "heat x_min [J]"}
        assert list(data.hottest.values.ravel()) == [30.5, 25.5]
