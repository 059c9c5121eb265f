"""The snapshots of a run, opened by xarray with the volumes of cells, so that a mean over the body is one call."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import xarray
from xarray.backends import BackendArray
from xarray.core import indexing

from heatsim.errors import InputFileError, RunFolderError
from heatsim.output.recorders import TABLES
from heatsim.store.folder import RunFolder
from heatsim.store.hdf5 import open_own
from heatsim.store.series import complete_series, require_snapshots
from heatsim.store.snapshots import AXES, read_geometry_block, read_grid, unsolved_names

NAME = "cell_volume"
_ATTRIBUTES = {
    "standard_name": "cell_volume",
    "long_name": "volume of the cell, 0 where it is not solved",
    "units": "m^3",
}


def open_series(path: Path) -> xarray.Dataset:
    """The snapshots of a run folder, or of a file `run.vtkhdf` or `packed.vtkhdf`, as an xarray Dataset; see
    `heatsim.open`."""
    if path.suffix == ".vtkhdf":
        require_snapshots(path)
        return xarray.open_dataset(path, engine="h5netcdf")
    folder = RunFolder.open(path)
    with suppress(OSError, InputFileError):  # in a folder that cannot be written to, and beside damaged snapshots
        complete_series(folder)
    if not folder.series.is_file():
        names = [name for name in TABLES if (folder.path / name).exists()] + ["slices"] * bool(folder.slice_names())
        held = ", ".join(names) or "none of the tables"
        raise RunFolderError(f"{path}: the run has no snapshots; it has {held}, and output.snapshots asks for them")
    require_snapshots(folder.series)
    return with_cell_volumes(xarray.open_dataset(folder.series, engine="h5netcdf"), folder)


def with_cell_volumes(data: xarray.Dataset, folder: RunFolder) -> xarray.Dataset:
    """The snapshots of a run with the coordinate `cell_volume` (z, y, x), m3, found when it is read: 0 in ambients and
    voids, so that `data.temperature.weighted(data.cell_volume).mean(("z", "y", "x"))` is the mean of the body."""
    volumes = xarray.Variable(AXES, indexing.LazilyIndexedArray(_CellVolumes(folder)), _ATTRIBUTES)
    found = data.assign_coords({NAME: volumes})
    for variable in found.data_vars.values():
        if set(AXES) <= set(variable.dims):
            variable.attrs["cell_measures"] = f"volume: {NAME}"  # CF 7.2
    return found


class _CellVolumes(BackendArray):  # type: ignore[misc]
    """Volumes (nz, ny, nx) of the cells of a run, of which only those that are asked for are made."""

    def __init__(self, folder: RunFolder) -> None:
        with open_own(folder.series, "series") as file:
            self._grid = read_grid(file)
        self._folder = folder
        self.shape = self._grid.shape
        self.dtype = np.dtype(np.float64)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """The volumes of some cells."""
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._block)

    def _block(self, cells: tuple[slice | int, ...]) -> np.ndarray:
        z, y, x = (self._grid.measure(axis)[part] for axis, part in zip(AXES, cells, strict=True))
        volumes = np.multiply.outer(np.multiply.outer(z, y), x)
        if not self._folder.geometry.is_file():
            return np.asarray(volumes)
        try:
            unsolved = unsolved_names(self._folder.read_scenario())
            ids, names = read_geometry_block(self._folder.geometry, cells)
        except (InputFileError, RunFolderError):  # nothing is known of ambients then
            return np.asarray(volumes)
        return np.where(np.isin(names, unsolved)[ids], 0.0, volumes)
