"""`run.vtkhdf`: all snapshots as one file of virtual datasets, for ParaView, xarray and h5py alike.

HDF5 resolves the relative names of the snapshots from the folder of `run.vtkhdf`, so a run folder can be
moved. It keeps every snapshot open that is read, and fills in NaN for one that it cannot open: to read more
than about 1000 at once, the limit on open files has to be raised (`ulimit -n`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import h5py
import numpy as np

from heatsim.base.grid import CellGrid
from heatsim.base.quantity import with_powers
from heatsim.errors import InputFileError
from heatsim.store.folder import RunFolder
from heatsim.store.hdf5 import (
    VirtualVariable,
    add_header,
    add_time,
    add_virtual,
    attach_scales,
    lay_out_single,
    lay_out_stack,
    open_own,
    read_quantity,
    read_variable,
    set_attributes,
    write_hdf5,
)
from heatsim.store.snapshots import AXES, add_grid, extra_fields, read_grid
from heatsim.store.vectors import COMPONENT, find_vectors
from heatsim.store.vtk import VtkImage, VtkMesh, read_mesh_arrays, write_mesh

_ALL_AXES = ("time", *AXES)
# A rewriting takes time in the number of snapshots. So that all of them together take no more than time in it, too, it
# waits for a share of new snapshots, or until so many times as long as the last one took have gone.
NEW_SHARE, PATIENCE = 0.1, 20.0


@dataclass(frozen=True)
class _Layout:
    """What all snapshots of a series share."""

    grid: CellGrid
    title: str
    variables: dict[str, VirtualVariable]


class Series:
    """`run.vtkhdf` of a run folder, kept in step with its snapshots, whose headers are read once."""

    def __init__(self, folder: RunFolder, *, read: bool = True) -> None:
        """Take the snapshots already present, unless not to `read` them.

        Raises InputFileError when one is damaged or differs.
        """
        self._folder = folder
        self._layout: _Layout | None = None
        self._frames: dict[Path, tuple[float, int]] = {}
        self._written, self._at, self._took = 0, -inf, 0.0  # how many snapshots, when, and how long that took, s
        for path in folder.snapshot_paths() if read else ():
            self._take(path)

    def append(self, path: Path) -> None:
        """Take a snapshot just written (or written again) and rewrite `run.vtkhdf`.

        Raises InputFileError when it is no snapshot or differs from the others in grid, title or fields.
        """
        self._take(path)
        self.write()

    def add(self, path: Path) -> None:
        """Take a snapshot as `append` does; `run.vtkhdf` may stay some snapshots behind, until `catch_up`."""
        self._take(path)
        waits = self._written + 1 + NEW_SHARE * self._written
        if len(self._frames) >= waits or time.monotonic() - self._at > PATIENCE * self._took:
            self.write()

    def catch_up(self) -> None:
        """Rewrite `run.vtkhdf` if it is behind."""
        if self._written != len(self._frames):
            self.write()

    def write(self) -> None:
        """Rewrite `run.vtkhdf` atomically; without snapshots there is nothing to write. Raises OSError."""
        if self._layout is not None:
            layout, begun = self._layout, time.monotonic()
            write_hdf5(self._folder.series, lambda file: self._build(file, layout))
            self._written, self._at = len(self._frames), time.monotonic()
            self._took = self._at - begun

    def _take(self, path: Path) -> None:
        with open_own(path, "snapshot") as file:
            names = (read_quantity(file).name, *extra_fields(file))
            variables = {name: _in_plain_units(read_variable(file, name)) for name in names}
            layout = _Layout(read_grid(file), str(file.attrs["title"]), variables)
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
        steps = file.create_dataset("step", data=np.array([self._frames[path][1] for path in paths], np.int64))
        set_attributes(steps, {"long_name": "time steps done", "units": "1"})
        attach_scales(file, steps, ("time",))
        vtk = self._vtk(file, layout.grid, times)
        vectors = find_vectors(layout.variables)
        parts = {part for vector in vectors for part in vector.parts.values()}
        for name, variable in layout.variables.items():
            if name in parts:
                continue
            data = add_virtual(file, name, variable, lay_out_stack(name, variable, layout.grid.shape, sources))
            attach_scales(file, data, _ALL_AXES)
            data.attrs["coordinates"] = "step"
            vtk.add(name, variable, sources, data)
        if vectors:  # the dimension of their components
            scale = file.create_dataset(COMPONENT, data=list(vectors[0].parts), dtype=h5py.string_dtype())
            scale.make_scale(COMPONENT)
            set_attributes(scale, {"long_name": "axis along which a vector's component points"})
        for vector in vectors:
            data = vector.add(file, layout.grid.shape, sources)
            attach_scales(file, data, (*_ALL_AXES, COMPONENT))
            data.attrs["coordinates"] = "step"
            vtk.add_vector(vector, sources, data)
        if self._folder.geometry.is_file():
            _add_material(file, vtk, self._folder.geometry)

    def _vtk(self, file: h5py.File, grid: CellGrid, times: list[float]) -> VtkImage | VtkMesh:
        if grid.equal:
            return VtkImage(file, grid, times)
        if not self._folder.mesh.is_file():
            write_mesh(self._folder.mesh, grid)
        with open_own(self._folder.mesh, "mesh file") as mesh:
            return VtkMesh(file, grid, times, self._folder.mesh.name, read_mesh_arrays(mesh))


def complete_series(folder: RunFolder) -> None:
    """Rewrite `run.vtkhdf` where a run that was killed has left it behind its snapshots.

    Raises InputFileError and OSError.
    """
    paths = folder.snapshot_paths()
    if not paths:
        return
    if folder.series.is_file():
        with open_own(folder.series, "series") as file:
            listed = len(file["time"])
        if listed >= len(paths):
            return
    Series(folder).write()


def require_snapshots(path: Path) -> None:
    """Raise InputFileError for a series without the snapshots that it lists: it would read as NaN."""
    with open_own(path, "series") as file:
        fields = [
            each for each in file.values() if isinstance(each, h5py.Dataset) and each.shape[:1] == file["time"].shape
        ]
        virtual = next((each for each in fields if each.is_virtual), None)
        found = [] if virtual is None else [source.file_name for source in virtual.virtual_sources()]
    sources = list(dict.fromkeys(found))
    missing = [source for source in sources if not (path.parent / source).is_file()]
    if missing:
        raise InputFileError(
            path,
            f"lists {len(sources)} snapshots, of which {len(missing)} are not beside it ({missing[0]}): copy the whole "
            "run folder, or make one file of it by `heatsim pack`",
        )


def _in_plain_units(variable: VirtualVariable) -> VirtualVariable:
    units = with_powers(str(variable.attributes["units"]))
    return replace(variable, attributes={**variable.attributes, "units": units})


def _add_material(file: h5py.File, vtk: VtkImage | VtkMesh, geometry: Path) -> None:
    """Add the material ids: (z, y, x) for CF readers, and the same at all times for VTK."""
    with open_own(geometry, "geometry file") as static:
        variable, shape = read_variable(static, "material"), static["material"].shape
    attach_scales(
        file, add_virtual(file, "material", variable, lay_out_single("material", variable, shape, geometry.name)), AXES
    )
    vtk.add_constant("material", variable, geometry.name)
