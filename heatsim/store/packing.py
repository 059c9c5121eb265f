"""One ordinary file in place of a folder of snapshots: arrays (time, z, y, x) as CF has them, and the group VTKHDF.

The arrays are those of `run.vtkhdf`, with the values in the file. Its chunks suit one use: whole fields at a time, or
time series at points. The copies that VTK needs in another shape are virtual datasets within the same file.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Literal

import h5py
import numpy as np

from heatsim.base.atomic import atomic_file
from heatsim.store.chunks import CHUNK_BYTES, chunk_shape, create_packed, write_chunks
from heatsim.store.field_reader import FieldReader, SnapshotHeader
from heatsim.store.hdf5 import (
    VirtualVariable,
    add_header,
    add_packed,
    add_time,
    add_virtual,
    attach_scales,
    new_hdf5,
    open_own,
    read_variable,
    set_attributes,
)
from heatsim.store.snapshots import AXES, add_grid
from heatsim.store.vtk import VtkImage, VtkMesh, read_mesh_arrays, write_mesh

Order = Literal["fields", "series"]

_ALL_AXES = ("time", *AXES)
_HERE = "."  # as the name of a source file, the file itself
_MAX_SERIES = 256  # times in a chunk of a time series
_BUFFER_BYTES = 2**27


def pack_run(
    reader: FieldReader, path: Path, order: Order, fields: Sequence[str], progress: Callable[[float], None]
) -> None:
    """Write the snapshots of a run as one file, chunked for whole fields or for time series.

    progress: called with the part that is done. Takes `_BUFFER_BYTES` of memory, or a plane at each time if that is
    more. Raises OSError, also where the disk has no room; RequestError for a field that there is not; InputFileError.
    """
    for name in fields:
        reader.require(name)
    snapshots = [header.path for header in reader.snapshots]
    needed = sum(snapshot.stat().st_size for snapshot in snapshots)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if shutil.disk_usage(path.parent).free < 1.2 * needed:  # better now than at the end
        raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: about {needed / 1e6:.0f} MB are needed", str(path))
    try:
        with atomic_file(path) as stream, new_hdf5(stream) as file:
            _Packing(reader, file, order, progress).write(fields or tuple(reader.fields))
    except OSError as error:
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from None


class _Packing:
    """A file that is being packed."""

    def __init__(self, reader: FieldReader, file: h5py.File, order: Order, progress: Callable[[float], None]) -> None:
        self._reader, self._file, self._order, self._progress = reader, file, order, progress
        self._shape = (len(reader.snapshots), *reader.grid.shape)

    def write(self, fields: Sequence[str]) -> None:
        reader, file = self._reader, self._file
        add_header(file, reader.title)
        add_grid(file, reader.grid)
        add_time(file, reader.times).make_scale("time")
        steps = file.create_dataset("step", data=np.array([header.step for header in reader.snapshots], np.int64))
        set_attributes(steps, {"long_name": "time steps done", "units": "1"})
        attach_scales(file, steps, ("time",))
        with open_own(reader.snapshots[0].path, "snapshot") as first:
            variables = {name: read_variable(first, name) for name in fields}
        for number, (name, variable) in enumerate(variables.items()):
            self._add_field(name, variable, number / len(variables), 1.0 / len(variables))
        variables |= self._add_material()
        self._add_vtk(variables)

    def _add_field(self, name: str, variable: VirtualVariable, begun: float, share: float) -> None:
        itemsize = variable.dtype.itemsize
        chunks = _chunks(self._shape, itemsize, self._order)
        data = create_packed(self._file, name, self._shape, variable.dtype, chunks=chunks)
        attach_scales(self._file, data, _ALL_AXES)
        set_attributes(data, {**variable.attributes, "coordinates": "step"})
        times, nz = self._shape[:2]
        plane = chunks[0] * chunks[1] * prod(self._shape[2:]) * itemsize
        height = chunks[1] * max(1, _BUFFER_BYTES // plane)
        for first in range(0, times, chunks[0]):
            headers = self._reader.snapshots[first : first + chunks[0]]
            for z in range(0, nz, height):
                write_chunks(data, self._slab(headers, name, slice(z, z + height)), first=(first, z, 0, 0))
                self._progress(begun + share * (first + len(headers) * min(1.0, (z + height) / nz)) / times)

    def _slab(self, headers: Sequence[SnapshotHeader], name: str, planes: slice) -> np.ndarray:
        whole = slice(None)
        return np.stack([self._reader.read(header, name, (planes, whole, whole)) for header in headers])

    def _add_material(self) -> dict[str, VirtualVariable]:
        geometry = self._reader.folder.geometry
        if not geometry.is_file():
            return {}
        with open_own(geometry, "geometry file") as static:
            variable, values = read_variable(static, "material"), static["material"][()]
        data = add_packed(self._file, "material", values)
        attach_scales(self._file, data, AXES)
        set_attributes(data, variable.attributes)
        return {"material": variable}

    def _add_vtk(self, variables: dict[str, VirtualVariable]) -> None:
        """Add what VTK reads. Equal cells at several times are hard links; all else is virtual, within this file."""
        reader, file = self._reader, self._file
        vtk = self._vtk_group()
        for name, variable in variables.items():
            if name == "material":
                vtk.add_constant(name, variable, _HERE)
            elif isinstance(vtk, VtkImage) and len(reader.snapshots) > 1:
                vtk.add(name, variable, (), file[name])
            else:
                self._add_reshaped(vtk, name, variable)

    def _add_reshaped(self, vtk: VtkImage | VtkMesh, name: str, variable: VirtualVariable) -> None:
        """Add a field as (z, y, x) at a single time, or as one row of cells, one time after the other."""
        times, cells = self._shape[0], prod(self._shape[1:])
        source = h5py.VirtualSource(_HERE, name, shape=self._shape)
        if isinstance(vtk, VtkImage):
            layout = h5py.VirtualLayout(self._shape[1:], variable.dtype)
            layout[...] = source[0]
            attach_scales(self._file, add_virtual(vtk.cells, name, variable, layout), AXES)
            return
        layout = h5py.VirtualLayout((times * cells,), variable.dtype)
        for i in range(times):
            layout[i * cells : (i + 1) * cells] = source[i]
        vtk.add_layout(name, variable, layout)

    def _vtk_group(self) -> VtkImage | VtkMesh:
        reader, file = self._reader, self._file
        if reader.grid.equal:
            return VtkImage(file, reader.grid, reader.times)
        path = reader.folder.mesh
        if not path.is_file():
            write_mesh(path, reader.grid)
        with open_own(path, "mesh file") as mesh:
            arrays = read_mesh_arrays(mesh)
            vtk = VtkMesh(file, reader.grid, reader.times, path.name, arrays)
            for name in arrays:
                del file["VTKHDF"][name]
                file.copy(mesh[name], file["VTKHDF"], name)
        return vtk


def _chunks(shape: tuple[int, ...], itemsize: int, order: Order) -> tuple[int, ...]:
    """Chunks of about 1 MiB: a brick of one field, or many times of a small brick."""
    if order == "fields":
        return (1, *chunk_shape(shape[1:], itemsize))
    times = min(shape[0], _MAX_SERIES)
    return (times, *chunk_shape(shape[1:], itemsize * times)) if itemsize * times <= CHUNK_BYTES else (times, 1, 1, 1)
