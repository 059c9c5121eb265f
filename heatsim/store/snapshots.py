"""Snapshots `snapshots/000123.h5`: the whole field at one time, self-contained, for any CF or HDF5 tool."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from heatsim.base.arriving import ArrivingArray
from heatsim.base.grid import CellGrid
from heatsim.base.quantity import Quantity
from heatsim.store.chunks import FAST, Compression, read_block
from heatsim.store.hdf5 import (
    ENDS,
    VirtualVariable,
    add_array,
    add_axis,
    add_bounds,
    add_header,
    add_quantity,
    add_time,
    add_virtual,
    attach_scales,
    bounds_name,
    open_own,
    plain_dataset,
    quantity_attributes,
    read_bounds,
    read_quantity,
    write_hdf5,
)
from heatsim.store.slab_files import SlabFile, lay_out_slabs, snapshot_dataset, write_manifest

AXES = ("z", "y", "x")


@dataclass(frozen=True)
class SnapshotField:
    """A further cell field: values (nz, ny, nx), their unit as CF writes it, and a name to show."""

    values: np.ndarray
    unit: str
    long_name: str = ""


@dataclass(frozen=True)
class Snapshot:
    """The state at one time (s), `step` steps in: temperature (nz, ny, nx), or what else `quantity` is, in its unit."""

    grid: CellGrid
    time: float
    step: int
    temperature: np.ndarray
    quantity: Quantity = field(default_factory=Quantity)
    title: str = ""
    fields: Mapping[str, SnapshotField] = field(default_factory=dict)


def write_snapshot(
    path: Path,
    snapshot: Snapshot,
    slabs: Sequence[SlabFile] = (),
    compression: Compression = FAST,
    arriving: ArrivingArray | None = None,
) -> None:
    """Write a snapshot atomically. Takes memory for a few chunks beside its arrays. Raises OSError.

    In place of `snapshot.temperature`, of which then only the type counts: slabs, the files that have the quantity
    already; arriving, the field on its way from a GPU.
    """

    def build(file: h5py.File) -> None:
        add_header(file, snapshot.title)
        add_grid(file, snapshot.grid)
        file.attrs["step"] = snapshot.step
        add_time(file, snapshot.time)
        if slabs:
            _add_slabs(file, snapshot, slabs)
        else:
            values = snapshot.temperature if arriving is None else arriving
            add_quantity(file, snapshot.quantity, values, AXES, "time", compression)
        for name, extra in snapshot.fields.items():
            # "coordinates" ties the scalar time to the field (CF 5.7).
            attributes = {"units": extra.unit, "long_name": extra.long_name or name, "coordinates": "time"}
            add_array(file, name, extra.values, AXES, attributes, compression)

    if slabs:
        write_manifest(path, slabs)
    write_hdf5(path, build)


def _add_slabs(file: h5py.File, snapshot: Snapshot, slabs: Sequence[SlabFile]) -> None:
    """Add the quantity as it lies in other files."""
    name, attributes = snapshot.quantity.name, quantity_attributes(file, snapshot.quantity, "time")
    variable = VirtualVariable(snapshot.temperature.dtype, attributes)
    data = add_virtual(file, name, variable, lay_out_slabs(file, name, variable, snapshot.grid.shape, slabs))
    attach_scales(file, data, AXES)


def read_snapshot(path: Path) -> Snapshot:
    """Read a snapshot back. Raises InputFileError when the file is missing, damaged or no snapshot."""
    with open_own(path, "snapshot") as file:
        quantity = read_quantity(file)
        extra = {name: snapshot_dataset(file, name) for name in extra_fields(file)}
        return Snapshot(
            grid=read_grid(file),
            time=float(file["time"][()]),
            step=int(file.attrs["step"]),
            temperature=_whole(snapshot_dataset(file, quantity.name)),
            quantity=quantity,
            title=str(file.attrs["title"]),
            fields={
                name: SnapshotField(_whole(data), str(data.attrs["units"]), str(data.attrs["long_name"]))
                for name, data in extra.items()
            },
        )


def _whole(data: h5py.Dataset) -> np.ndarray:
    return read_block(data, (slice(None),) * data.ndim)


def extra_fields(file: h5py.File) -> list[str]:
    """Names of the 3-D variables of a snapshot other than the quantity that is solved for."""
    others = {read_quantity(file).name, "time", ENDS, *AXES, *map(bounds_name, AXES)}
    return [name for name in file if name not in others]


def add_grid(file: h5py.File, grid: CellGrid) -> None:
    """Add the coordinates z, y, x, and the grid's numbers so that it reads back exactly: origin, size of cells and
    coordinates (if not Cartesian) as attributes; the faces of unequal cells as bounds."""
    for axis, edges in zip(AXES, reversed(grid.edges), strict=True):
        add_axis(file, axis, grid.centres(axis), grid.coordinates)
        if edges is not None:
            add_bounds(file, axis, np.array(edges))
    file.attrs["grid_origin"] = grid.origin
    file.attrs["grid_spacing"] = grid.spacing
    if grid.coordinates != "cartesian":
        file.attrs["grid_coordinates"] = grid.coordinates


def read_grid(file: h5py.File) -> CellGrid:
    """Read what `add_grid` wrote."""
    nz, ny, nx = (int(file[axis].shape[0]) for axis in AXES)
    x, y, z = (float(value) for value in file.attrs["grid_origin"])
    dx, dy, dz = (float(value) for value in file.attrs["grid_spacing"])
    edges = tuple(
        tuple(read_bounds(file, axis).tolist()) if bounds_name(axis) in file else None for axis in reversed(AXES)
    )
    coordinates = str(file.attrs.get("grid_coordinates", "cartesian"))
    return CellGrid((nz, ny, nx), (x, y, z), (dx, dy, dz), edges, coordinates)


# The static file `geometry.h5`: which material each cell is made of, stored once a run.


def write_geometry(
    path: Path,
    grid: CellGrid,
    material: np.ndarray,
    names: Sequence[str],
    title: str = "",
    compression: Compression = FAST,
) -> None:
    """Write the material ids (nz, ny, nx), uint8, and the name of each id, atomically. Raises OSError."""

    def build(file: h5py.File) -> None:
        add_header(file, title)
        add_grid(file, grid)
        add_array(file, "material", material, AXES, _material_attributes(names), compression)

    write_hdf5(path, build)


def unsolved_names(scenario: Mapping[str, Any]) -> list[str]:
    """The materials whose cells are not solved, ambients and voids; scenario: the tables of `scenario.toml`."""
    materials = scenario.get("materials", {}).items()
    voids = [name for name, each in materials if 0 in (each.get("conductivity"), each.get("diffusivity"))]
    return [*scenario.get("ambients", {}), *voids]


def read_geometry_plane(path: Path, axis: str, place: float) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read the material ids of the plane of cells normal to "x", "y" or "z" whose centres lie nearest to a place, m,
    and the names of all ids. Raises InputFileError."""
    with open_own(path, "geometry file") as file:
        material = plain_dataset(file, "material")
        index = int(np.argmin(np.abs(plain_dataset(file, axis)[()] - place)))
        plane = material[tuple(index if each == axis else slice(None) for each in AXES)]
        return plane, tuple(str(name) for name in material.attrs["names"])


def read_geometry_centres(path: Path, axis: str) -> np.ndarray:
    """Read the centres of the cells along "x", "y" or "z", m. Raises InputFileError."""
    with open_own(path, "geometry file") as file:
        return np.asarray(plain_dataset(file, axis)[()])


def read_geometry_block(path: Path, block: tuple[slice | int, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read the material ids of a block of cells, along z, y, x, and the names of all ids. Raises InputFileError."""
    with open_own(path, "geometry file") as file:
        material = plain_dataset(file, "material")
        return np.asarray(material[block]), tuple(str(name) for name in material.attrs["names"])


def _material_attributes(names: Sequence[str]) -> dict[str, object]:
    """CF flags (CF 3.5); `flag_meanings` is a list of words, so the names as given are kept beside it."""
    return {
        "long_name": "material",
        "flag_values": np.arange(len(names), dtype=np.uint8),
        "flag_meanings": " ".join(re.sub(r"[^\w.@+-]", "_", name) for name in names),
        "names": list(names),
    }
