"""What VTK reads of a run: the group VTKHDF (format 2.0, docs.vtk.org: VTKHDF file format), with steps in time.

Equal cells are an ImageData, whose cell arrays are those of the series, hard-linked. Other cells are an
UnstructuredGrid that does not change (its offsets are 0 at each step), with flat cell arrays, one step after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from heatsim.base.grid import CellGrid
from heatsim.store.chunks import CHUNK_BYTES
from heatsim.store.hdf5 import (
    VirtualVariable,
    add_header,
    add_packed,
    add_virtual,
    attach_scales,
    lay_out_queue,
    lay_out_single,
    lay_out_stack,
    read_variable,
    write_hdf5,
)
from heatsim.store.snapshots import AXES
from heatsim.store.vectors import COMPONENT, VectorVariable, add_zero

_ALL_AXES = ("time", *AXES)
_ArrayKind = tuple[tuple[int, ...], VirtualVariable]  # shape and type of a dataset


class VtkImage:
    """The VTKHDF group of equal cells."""

    def __init__(self, file: h5py.File, grid: CellGrid, times: Sequence[float]) -> None:
        nz, ny, nx = grid.shape
        self._file, self._shape, self._times = file, grid.shape, len(times)
        vtk = _add_group(file, "ImageData")
        vtk.attrs["WholeExtent"] = np.array([0, nx, 0, ny, 0, nz], dtype=np.int64)
        vtk.attrs["Origin"] = np.array(grid.origin, dtype=np.float64)
        vtk.attrs["Spacing"] = np.array(grid.spacing, dtype=np.float64)
        vtk.attrs["Direction"] = np.eye(3).ravel()
        _add_steps(file, vtk, times)
        self.cells = vtk.create_group("CellData")

    def add(self, name: str, variable: VirtualVariable, sources: Sequence[str], data: h5py.Dataset) -> None:
        """Add a field that is `data` (time, z, y, x) in the series."""
        if self._times > 1:
            self.cells[name] = data
        else:
            self._add(name, variable, lay_out_single(name, variable, self._shape, sources[0]), AXES)

    def add_vector(self, vector: VectorVariable, sources: Sequence[str], data: h5py.Dataset) -> None:
        """Add a vector field that is `data` (time, z, y, x, 3) in the series."""
        if self._times > 1:
            self.cells[vector.name] = data
        else:
            layout = vector.lay_out_single(self._shape, sources[0])
            self._add(vector.name, vector.variable, layout, (*AXES, COMPONENT))

    def add_constant(self, name: str, variable: VirtualVariable, source: str) -> None:
        """Add a field (z, y, x) that is the same at all times."""
        if self._times > 1:
            self._add(name, variable, lay_out_stack(name, variable, self._shape, [source] * self._times), _ALL_AXES)
        else:
            self._add(name, variable, lay_out_single(name, variable, self._shape, source), AXES)

    def _add(self, name: str, variable: VirtualVariable, layout: h5py.VirtualLayout, axes: Sequence[str]) -> None:
        attach_scales(self._file, add_virtual(self.cells, name, variable, layout), axes)


class VtkMesh:
    """The VTKHDF group of unequal cells and of cylindrical coordinates; its points and cells lie in `mesh`."""

    def __init__(
        self, file: h5py.File, grid: CellGrid, times: Sequence[float], mesh: str, kinds: dict[str, _ArrayKind]
    ) -> None:
        self._grid, self._times, self._mesh = grid, len(times), mesh
        vtk = _add_group(file, "UnstructuredGrid")
        for name, (shape, variable) in kinds.items():
            add_virtual(vtk, name, variable, lay_out_single(name, variable, shape, mesh))
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
        self.cells = vtk.create_group("CellData")

    def add(self, name: str, variable: VirtualVariable, sources: Sequence[str], data: h5py.Dataset) -> None:
        """Add a field that is `data` (time, z, y, x) in the series."""
        self.add_layout(name, variable, lay_out_queue(name, variable, self._grid.shape, sources))

    def add_vector(self, vector: VectorVariable, sources: Sequence[str], data: h5py.Dataset) -> None:
        """Add a vector field that is `data` (time, z, y, x, components) in the series."""
        self.add_layout(vector.name, vector.variable, vector.lay_out_queue(self._grid.shape, sources, self._mesh))

    def add_layout(self, name: str, variable: VirtualVariable, layout: h5py.VirtualLayout) -> None:
        """Add a field that is laid out as (time * cells,)."""
        add_virtual(self.cells, name, variable, layout)
        if self._offsets is not None:
            self._offsets[name] = np.arange(self._times) * self._grid.cells

    def add_constant(self, name: str, variable: VirtualVariable, source: str) -> None:
        """Add a field (z, y, x) that is the same at all times."""
        add_virtual(self.cells, name, variable, lay_out_queue(name, variable, self._grid.shape, [source]))
        if self._offsets is not None:
            self._offsets[name] = np.zeros(self._times, np.int64)


def read_mesh_arrays(mesh: h5py.File) -> dict[str, _ArrayKind]:
    """Shape and type of the datasets of a mesh file."""
    return {name: (mesh[name].shape, read_variable(mesh, name)) for name in MESH_ARRAYS}


def _add_group(file: h5py.File, kind: str) -> h5py.Group:
    vtk = file.create_group("VTKHDF")
    vtk.attrs["Version"] = np.array([2, 0], dtype=np.int64)
    vtk.attrs["Type"] = np.bytes_(kind)  # VTK wants a string of fixed length
    return vtk


def _add_steps(file: h5py.File, vtk: h5py.Group, times: Sequence[float]) -> h5py.Group | None:
    """Add the times; None where there is a single one: VTK (9.3 to 9.7) has no time in a file of one step."""
    if len(times) == 1:
        return None
    steps = vtk.create_group("Steps")
    steps.attrs["NSteps"] = np.int64(len(times))
    # A copy: as a hard link to the scale "time" it would give h5netcdf a dimension of a second name.
    values = steps.create_dataset("Values", data=np.asarray(times, dtype=np.float64))
    attach_scales(file, values, ("time",))
    return steps


# The static file `mesh.h5`: unequal cells and cylindrical coordinates as VTK cells, stored once a run.
#
# An ImageData has equal cells; a RectilinearGrid (VTKHDF 2.7) is read from VTK 9.7 on only, an UnstructuredGrid that
# changes in time from 9.3 on. `run.vtkhdf`, which is rewritten after each snapshot, refers to the points and cells kept
# here, 1.6 bytes a cell on disk.
#
# Cartesian cells are hexahedra:                 Cylindrical ones are quadrilaterals of the half plane x = r, z = z
# (y = 0), where the axis of symmetry is the line x = 0:
# 7------6
# /|     /|     z                                  3---2    z
# 4------5 |     | y                                |   |    |
# | 3----|-2     |/                                 0---1    +--r
# |/     |/      +--x
# 0------1


MESH_ARRAYS = (
    "Points",
    "Connectivity",
    "Offsets",
    "Types",
    "NumberOfPoints",
    "NumberOfCells",
    "NumberOfConnectivityIds",
)
_HEXAHEDRON, _QUAD = 12, 9  # as vtkCellType.h numbers them


def write_mesh(path: Path, grid: CellGrid) -> None:
    """Write points and cells as the VTKHDF type UnstructuredGrid has them, atomically. Raises OSError."""
    points, corners = (_half_plane if grid.coordinates == "cylindrical" else _bricks)(grid)
    cells, each = corners.shape
    arrays = {
        "Points": points,
        "Connectivity": corners.reshape(-1),
        "Offsets": np.arange(0, each * cells + 1, each),
        "Types": np.full(cells, _HEXAHEDRON if each == 8 else _QUAD, np.uint8),
        "NumberOfPoints": np.array([len(points)]),
        "NumberOfCells": np.array([cells]),
        "NumberOfConnectivityIds": np.array([corners.size]),
    }

    def build(file: h5py.File) -> None:
        add_header(file, "Cells")
        for name, values in arrays.items():
            rows = max(1, min(len(values), CHUNK_BYTES * len(values) // values.nbytes))
            chunks = (rows, *values.shape[1:])
            add_packed(file, name, values, chunks=chunks)
        if grid.coordinates == "cylindrical":
            add_zero(file, grid.shape)

    write_hdf5(path, build)


def _bricks(grid: CellGrid) -> tuple[np.ndarray, np.ndarray]:
    """Points (p, 3) and the corners (cells, 8) of all cells, x fastest."""
    z, y, x = np.meshgrid(*(grid.faces(axis) for axis in "zyx"), indexing="ij")
    row = grid.shape[2] + 1
    plane = row * (grid.shape[1] + 1)
    bottom = np.array([0, 1, row + 1, row])
    return _joined(x, y, z), _corners(z.shape, np.concatenate([bottom, bottom + plane]))


def _half_plane(grid: CellGrid) -> tuple[np.ndarray, np.ndarray]:
    """Points (p, 3) of the r-z half plane and the corners (cells, 4) of all cells, r fastest."""
    z, r = np.meshgrid(grid.faces("z"), grid.faces("x"), indexing="ij")
    row = grid.shape[2] + 1
    return _joined(r, np.zeros_like(r), z), _corners(z.shape, np.array([0, 1, row + 1, row]))


def _joined(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.stack([x, y, z], axis=-1).reshape(-1, 3)


def _corners(points: tuple[int, ...], steps: np.ndarray) -> np.ndarray:
    """The corners of each cell, (cells, m): those at `steps` (m,) from its lowest, in a lattice of `points`."""
    lowest = np.arange(np.prod(points)).reshape(points)[tuple(slice(-1) for _ in points)]
    return np.asarray(lowest.reshape(-1, 1) + steps)
