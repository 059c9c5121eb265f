"""What VTK reads of a run: the group VTKHDF (format 2.0, docs.vtk.org: VTKHDF file format), with steps in time.

Equal cells are an ImageData, whose cell arrays are those of the series, hard-linked. Other cells are an
UnstructuredGrid that does not change (its offsets are 0 at each step), with flat cell arrays, one step after another.
"""

from __future__ import annotations

from collections.abc import Sequence

import h5py
import numpy as np

from heatsim.grid import Grid
from heatsim.store.hdf5 import attach_scales
from heatsim.store.mesh import MESH
from heatsim.store.snapshots import AXES
from heatsim.store.virtual import Variable, add_virtual, queue, read_variable, single, stack

_ALL_AXES = ("time", *AXES)
_Kind = tuple[tuple[int, ...], Variable]  # shape and type of a dataset


class Image:
    """The VTKHDF group of equal cells."""

    def __init__(self, file: h5py.File, grid: Grid, times: Sequence[float]) -> None:
        nz, ny, nx = grid.shape
        self._file, self._shape, self._times = file, grid.shape, len(times)
        vtk = _add_group(file, "ImageData")
        vtk.attrs["WholeExtent"] = np.array([0, nx, 0, ny, 0, nz], dtype=np.int64)
        vtk.attrs["Origin"] = np.array(grid.origin, dtype=np.float64)
        vtk.attrs["Spacing"] = np.array(grid.spacing, dtype=np.float64)
        vtk.attrs["Direction"] = np.eye(3).ravel()
        _add_steps(file, vtk, times)
        self._cells = vtk.create_group("CellData")

    def add(self, name: str, variable: Variable, sources: Sequence[str], data: h5py.Dataset) -> None:
        """Add a field that is `data` (time, z, y, x) in the series."""
        if self._times > 1:
            self._cells[name] = data
        else:
            self._add(name, variable, single(name, variable, self._shape, sources[0]), AXES)

    def add_constant(self, name: str, variable: Variable, source: str) -> None:
        """Add a field (z, y, x) that is the same at all times."""
        if self._times > 1:
            self._add(name, variable, stack(name, variable, self._shape, [source] * self._times), _ALL_AXES)
        else:
            self._add(name, variable, single(name, variable, self._shape, source), AXES)

    def _add(self, name: str, variable: Variable, layout: h5py.VirtualLayout, axes: Sequence[str]) -> None:
        attach_scales(self._file, add_virtual(self._cells, name, variable, layout), axes)


class Mesh:
    """The VTKHDF group of unequal cells and of cylindrical coordinates; its points and cells lie in `mesh`."""

    def __init__(self, file: h5py.File, grid: Grid, times: Sequence[float], mesh: str, kinds: dict[str, _Kind]) -> None:
        self._grid, self._times = grid, len(times)
        vtk = _add_group(file, "UnstructuredGrid")
        for name, (shape, variable) in kinds.items():
            add_virtual(vtk, name, variable, single(name, variable, shape, mesh))
        self._offsets = None
        steps = _add_steps(file, vtk, times)
        if steps is not None:
            same = np.zeros(self._times, np.int64)
            for name in ("PartOffsets", "PointOffsets"):
                steps[name] = same
            for name in ("CellOffsets", "ConnectivityIdOffsets"):
                steps[name] = same[:, None]
            steps["NumberOfParts"] = same + 1
            self._offsets = steps.create_group("CellDataOffsets")
        self._cells = vtk.create_group("CellData")

    def add(self, name: str, variable: Variable, sources: Sequence[str], data: h5py.Dataset) -> None:
        """Add a field that is `data` (time, z, y, x) in the series."""
        add_virtual(self._cells, name, variable, queue(name, variable, self._grid.shape, sources))
        if self._offsets is not None:
            self._offsets[name] = np.arange(self._times) * self._grid.cells

    def add_constant(self, name: str, variable: Variable, source: str) -> None:
        """Add a field (z, y, x) that is the same at all times."""
        add_virtual(self._cells, name, variable, queue(name, variable, self._grid.shape, [source]))
        if self._offsets is not None:
            self._offsets[name] = np.zeros(self._times, np.int64)


def read_mesh_kinds(mesh: h5py.File) -> dict[str, _Kind]:
    """Shape and type of the datasets of a mesh file."""
    return {name: (mesh[name].shape, read_variable(mesh, name)) for name in MESH}


def _add_group(file: h5py.File, kind: str) -> h5py.Group:
    vtk = file.create_group("VTKHDF")
    vtk.attrs["Version"] = np.array([2, 0], dtype=np.int64)
    vtk.attrs["Type"] = np.bytes_(kind)  # VTK wants a string of fixed length
    return vtk


def _add_steps(file: h5py.File, vtk: h5py.Group, times: Sequence[float]) -> h5py.Group | None:
    """Add the times; None where there is a single one, which VTK takes for a file without time."""
    if len(times) == 1:
        return None
    steps = vtk.create_group("Steps")
    steps.attrs["NSteps"] = np.int64(len(times))
    # A copy: as a hard link to the scale "time" it would give h5netcdf a dimension of a second name.
    values = steps.create_dataset("Values", data=np.asarray(times, dtype=np.float64))
    attach_scales(file, values, ("time",))
    return steps
