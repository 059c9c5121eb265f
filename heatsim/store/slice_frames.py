"""Slice frames `slices/<name>/000123.h5`: the field in one plane at one time, to be drawn again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.base.quantity import Quantity
from heatsim.store.chunks import FAST, Compression
from heatsim.store.hdf5 import (
    add_axis,
    add_bounds,
    add_header,
    add_quantity,
    add_time,
    bounds_name,
    open_own,
    plain_dataset,
    read_bounds,
    read_quantity,
    write_hdf5,
)


@dataclass(frozen=True)
class SliceFrame:
    """Temperature (rows, columns), or another quantity of that `name`, in the plane `normal` = `position` (m).

    `axes` names the axis along rows and the one along columns, ("y", "x") for a z plane; `extent` is
    (left, right, bottom, top) in m: columns run from left to right, rows from bottom to top. `faces` are the places of
    the cell faces along rows and columns where these are unequal, (rows + 1,) and (columns + 1,), m. In cylindrical
    `coordinates` x is the radius and y the angle, rad.
    """

    field: np.ndarray
    axes: tuple[str, str]
    extent: tuple[float, float, float, float]
    normal: str
    position: float
    time: float
    step: int
    unit: str = "K"
    title: str = ""
    name: str = "temperature"
    faces: tuple[np.ndarray, np.ndarray] | None = None
    coordinates: str = "cartesian"


def frame_of_plane(
    grid: CellGrid, normal: str, index: int, field: np.ndarray, time: float, step: int, solved: Quantity, title: str
) -> SliceFrame:
    """The frame of the plane of cells `index` of a grid; field: its values; solved: their name and unit."""
    rows, columns = (other for other in reversed(AXES) if other != normal)
    unequal = any(grid.edges[AXES.index(other)] is not None for other in (rows, columns))
    return SliceFrame(
        field=field,
        axes=(rows, columns),
        extent=(*grid.span(columns), *grid.span(rows)),
        normal=normal,
        position=float(grid.centres(normal)[index]),
        time=time,
        step=step,
        unit=solved.unit,
        title=title,
        name=solved.name,
        faces=(grid.faces(rows), grid.faces(columns)) if unequal else None,
        coordinates=grid.coordinates,
    )


def write_slice_frame(path: Path, frame: SliceFrame, compression: Compression = FAST) -> None:
    """Write a slice frame atomically, making its folder if need be. Raises OSError."""

    def build(file: h5py.File) -> None:
        left, right, bottom, top = frame.extent
        add_header(file, frame.title)
        file.attrs["step"] = frame.step
        file.attrs["extent"] = frame.extent
        file.attrs["axes"] = list(frame.axes)
        file.attrs["normal"] = frame.normal
        add_time(file, frame.time)
        if frame.coordinates != "cartesian":
            file.attrs["coordinates"] = frame.coordinates
        if frame.faces is None:
            add_axis(file, frame.axes[0], _centres(bottom, top, frame.field.shape[0]), frame.coordinates)
            add_axis(file, frame.axes[1], _centres(left, right, frame.field.shape[1]), frame.coordinates)
        else:
            for axis, faces in zip(frame.axes, frame.faces, strict=True):
                add_axis(file, axis, 0.5 * (faces[:-1] + faces[1:]), frame.coordinates)
                add_bounds(file, axis, faces)
        plane = file.create_dataset(frame.normal, data=frame.position)
        plane.attrs["units"] = "m" if (frame.coordinates, frame.normal) != ("cylindrical", "y") else "radian"
        quantity, coordinates = Quantity(frame.name, frame.unit), f"time {frame.normal}"
        add_quantity(file, quantity, frame.field, frame.axes, coordinates, compression)

    path.parent.mkdir(exist_ok=True)
    write_hdf5(path, build)


def read_slice_frame(path: Path) -> SliceFrame:
    """Read a slice frame back. Raises InputFileError when the file is missing, damaged or no slice frame."""
    with open_own(path, "slice frame") as file:
        quantity = read_quantity(file)
        rows, columns = (str(axis) for axis in file.attrs["axes"])
        left, right, bottom, top = (float(value) for value in file.attrs["extent"])
        normal = str(file.attrs["normal"])
        return SliceFrame(
            field=plain_dataset(file, quantity.name)[()],
            axes=(rows, columns),
            extent=(left, right, bottom, top),
            normal=normal,
            position=float(file[normal][()]),
            time=float(file["time"][()]),
            step=int(file.attrs["step"]),
            unit=quantity.unit,
            title=str(file.attrs["title"]),
            name=quantity.name,
            faces=(read_bounds(file, rows), read_bounds(file, columns)) if bounds_name(rows) in file else None,
            coordinates=str(file.attrs.get("coordinates", "cartesian")),
        )


def _centres(low: float, high: float, count: int) -> np.ndarray:
    return low + (np.arange(count) + 0.5) * ((high - low) / count)
