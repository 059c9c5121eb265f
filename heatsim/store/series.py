"""`run.vtkhdf`: all snapshots as one file of virtual datasets, for ParaView, xarray and h5py alike.

HDF5 resolves the relative names of the snapshots from the folder of `run.vtkhdf`, so a run folder can be
moved. It keeps every snapshot open that is read, and fills in NaN for one that it cannot open: to read more
than about 1000 at once, the limit on open files has to be raised (`ulimit -n`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from heatsim.errors import InputFileError
from heatsim.grid import Grid
from heatsim.store.folder import RunFolder
from heatsim.store.hdf5 import (
    add_header,
    add_time,
    attach_scales,
    open_own,
    plain_dataset,
    set_attributes,
    write_hdf5,
)
from heatsim.store.snapshots import AXES, add_grid, extra_fields, read_grid

_COPIED = ("units", "long_name", "units_metadata", "flag_values", "flag_meanings", "names")
_ALL_AXES = ("time", *AXES)


@dataclass(frozen=True)
class _Variable:
    dtype: np.dtype[Any]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class _Layout:
    """What all snapshots of a series share."""

    grid: Grid
    title: str
    variables: dict[str, _Variable]


class Series:
    """`run.vtkhdf` of a run folder, kept in step with its snapshots, whose headers are read once."""

    def __init__(self, folder: RunFolder) -> None:
        """Take the snapshots already present. Raises InputFileError when one is damaged or differs."""
        self._folder = folder
        self._layout: _Layout | None = None
        self._frames: dict[Path, tuple[float, int]] = {}
        for path in folder.snapshot_paths():
            self._take(path)

    def append(self, path: Path) -> None:
        """Take a snapshot just written (or written again) and rewrite `run.vtkhdf`.

        Raises InputFileError when it is no snapshot or differs from the others in grid, title or fields.
        """
        self._take(path)
        self.write()

    def write(self) -> None:
        """Rewrite `run.vtkhdf` atomically; without snapshots there is nothing to write. Raises OSError."""
        if self._layout is not None:
            layout = self._layout
            write_hdf5(self._folder.series, lambda file: self._build(file, layout))

    def _take(self, path: Path) -> None:
        with open_own(path, "snapshot") as file:
            layout = _read_layout(file)
            frame = float(file["time"][()]), int(file.attrs["step"])
        if self._layout not in (None, layout):
            raise InputFileError(path, "differs from the first snapshot in grid, title or fields")
        self._layout = layout
        self._frames[path] = frame

    def _build(self, file: h5py.File, layout: _Layout) -> None:
        paths = sorted(self._frames, key=lambda path: int(path.stem))
        sources = [path.relative_to(self._folder.path).as_posix() for path in paths]
        times = [self._frames[path][0] for path in paths]
        add_header(file, layout.title)
        add_grid(file, layout.grid)
        add_time(file, times).make_scale("time")
        _add_steps(file, [self._frames[path][1] for path in paths])
        cells = _add_vtk(file, layout.grid, times)
        for name, variable in layout.variables.items():
            data = _add_virtual(file, name, variable, _stack(name, variable, layout.grid.shape, sources))
            attach_scales(file, data, _ALL_AXES)
            data.attrs["coordinates"] = "step"
            if len(times) > 1:
                cells[name] = data
            else:
                attach_scales(
                    file,
                    _add_virtual(cells, name, variable, _single(name, variable, layout.grid.shape, sources[0])),
                    AXES,
                )
        if self._folder.geometry.is_file():
            _add_material(file, cells, self._folder.geometry, len(times))


def write_series(folder: RunFolder) -> None:
    """Write `run.vtkhdf` from the snapshots present. Raises InputFileError and OSError."""
    Series(folder).write()


def _read_layout(file: h5py.File) -> _Layout:
    names = ("temperature", *extra_fields(file))
    variables = {name: _read_variable(file, name) for name in names}
    return _Layout(read_grid(file), str(file.attrs["title"]), variables)


def _read_variable(file: h5py.File, name: str) -> _Variable:
    data = plain_dataset(file, name)
    return _Variable(data.dtype, {key: data.attrs[key] for key in _COPIED if key in data.attrs})


def _add_steps(file: h5py.File, steps: list[int]) -> None:
    variable = file.create_dataset("step", data=np.asarray(steps, dtype=np.int64))
    set_attributes(variable, {"long_name": "time steps done", "units": "1"})
    attach_scales(file, variable, ("time",))


def _add_vtk(file: h5py.File, grid: Grid, times: list[float]) -> h5py.Group:
    """Add what VTK reads (VTKHDF 2.0: ImageData, temporal), and return its group of cell arrays."""
    nz, ny, nx = grid.shape
    vtk = file.create_group("VTKHDF")
    vtk.attrs["Version"] = np.array([2, 0], dtype=np.int64)
    vtk.attrs["Type"] = np.bytes_("ImageData")  # VTK wants a string of fixed length
    vtk.attrs["WholeExtent"] = np.array([0, nx, 0, ny, 0, nz], dtype=np.int64)
    vtk.attrs["Origin"] = np.array(grid.origin, dtype=np.float64)
    vtk.attrs["Spacing"] = np.array(grid.spacing, dtype=np.float64)
    vtk.attrs["Direction"] = np.eye(3).ravel()
    if len(times) > 1:  # VTK takes what has a single step for a file without time
        steps = vtk.create_group("Steps")
        steps.attrs["NSteps"] = np.int64(len(times))
        # A copy: as a hard link to the scale "time" it would give h5netcdf a dimension of a second name.
        values = steps.create_dataset("Values", data=np.asarray(times, dtype=np.float64))
        attach_scales(file, values, ("time",))
    return vtk.create_group("CellData")


def _add_material(file: h5py.File, cells: h5py.Group, geometry: Path, count: int) -> None:
    """Add the material ids: (z, y, x) for CF readers, and the same at each of `count` times for VTK."""
    with open_own(geometry, "geometry file") as static:
        variable, shape = _read_variable(static, "material"), static["material"].shape
    single = _single("material", variable, shape, geometry.name)
    attach_scales(file, _add_virtual(file, "material", variable, single), AXES)
    if count > 1:
        repeated = _stack("material", variable, shape, [geometry.name] * count)
        attach_scales(file, _add_virtual(cells, "material", variable, repeated), _ALL_AXES)
    else:
        attach_scales(file, _add_virtual(cells, "material", variable, single), AXES)


def _single(name: str, variable: _Variable, shape: tuple[int, ...], source: str) -> h5py.VirtualLayout:
    """Lay out (z, y, x), the dataset `name` of a source file."""
    layout = h5py.VirtualLayout(shape, variable.dtype)
    layout[...] = h5py.VirtualSource(source, name, shape=shape)
    return layout


def _stack(name: str, variable: _Variable, shape: tuple[int, ...], sources: list[str]) -> h5py.VirtualLayout:
    """Lay out (time, z, y, x), each time being the dataset `name` of one source file."""
    layout = h5py.VirtualLayout((len(sources), *shape), variable.dtype)
    for i, source in enumerate(sources):
        layout[i] = h5py.VirtualSource(source, name, shape=shape)
    return layout


def _add_virtual(group: h5py.Group, name: str, variable: _Variable, layout: h5py.VirtualLayout) -> h5py.Dataset:
    fill = np.nan if variable.dtype.kind == "f" else 0
    data = group.create_virtual_dataset(name, layout, fillvalue=fill)
    set_attributes(data, variable.attributes)
    return data
