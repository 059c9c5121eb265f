"""HDF5 parts shared by the formats: files composed atomically, CF variables, datasets safe to read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from heatsim.base.atomic import AtomicFile, atomic_file
from heatsim.base.quantity import Quantity
from heatsim.errors import InputFileError
from heatsim.store.chunks import FAST, Compression, Values, create_packed, write_chunks

_QUANTITY = "quantity"  # the attribute of a file that names its field, where that is no temperature
ENDS = "ends"  # the dimension of the two bounds of a cell
_CYLINDRICAL = {
    "x": {"units": "m", "long_name": "radius r of the cell centre"},
    "y": {"units": "radian", "long_name": "angle phi of the cell centre"},
}

# What h5py and code that walks a file raise when the file is damaged or made of something else.
HDF5_ERRORS = (
    OSError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
    MemoryError,
)


def write_hdf5(path: Path, build: Callable[[h5py.File], None]) -> None:
    """Compose an HDF5 file with `build(file)`, which appears at `path` whole or not at all. Raises OSError."""
    with atomic_file(path) as stream, new_hdf5(stream) as file:
        build(file)


def new_hdf5(stream: AtomicFile, user_block: int = 0) -> h5py.File:
    """An HDF5 file to be composed, with so many bytes in front. VTK reads no format newer than v114.

    HDF5 itself never touches the disk, since a full disk kills the process inside the library.
    """
    return h5py.File(stream, "w", libver=("earliest", "v114"), userblock_size=user_block)


@contextmanager
def open_own(path: Path, kind: str) -> Iterator[h5py.File]:
    """Open one of heatsim's own files to read; raises InputFileError when it is missing or not a `kind`."""
    if not path.is_file():
        raise InputFileError(path, "no such file")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except HDF5_ERRORS as error:
        raise InputFileError(path, f"is not a readable heatsim {kind}: {error}") from None


def add_header(file: h5py.File, title: str) -> None:
    """Set the root attributes that every heatsim file carries."""
    file.attrs["Conventions"] = "CF-1.11"
    file.attrs["title"] = title
    file.attrs["source"] = f"heatsim {heatsim_version()}"
    file.attrs["heatsim_version"] = heatsim_version()


def add_axis(file: h5py.File, name: str, centres: np.ndarray, coordinates: str = "cartesian") -> None:
    """Add the dimension scale `name` ("x", "y" or "z") with cell centres in m, or rad for y in cylindrical coordinates.

    CF has no attributes for the radius and the angle of cylindrical coordinates but a name to read.
    """
    scale = file.create_dataset(name, data=np.asarray(centres, dtype=np.float64))
    scale.make_scale(name)
    if coordinates == "cylindrical" and name in _CYLINDRICAL:
        set_attributes(scale, _CYLINDRICAL[name])
        return
    set_attributes(scale, {"units": "m", "long_name": f"{name} of the cell centre", "axis": name.upper()})
    if name == "z":
        scale.attrs["positive"] = "up"


def add_bounds(file: h5py.File, name: str, faces: np.ndarray) -> None:
    """Add the cell faces (n + 1,) of an axis as the CF bounds of its coordinate (CF 7.1): `x_bounds` (n, 2) for x."""
    if ENDS not in file:
        ends = file.create_dataset(ENDS, data=np.zeros(2, dtype=">f4"))
        ends.make_scale(f"This is a netCDF dimension but not a netCDF variable. {2:9d}")  # netCDF-4, appendix C
    bounds = file.create_dataset(bounds_name(name), data=np.column_stack([faces[:-1], faces[1:]]))
    attach_scales(file, bounds, (name, ENDS))
    set_attributes(bounds, {"units": file[name].attrs["units"], "long_name": f"faces of the cells along {name}"})
    file[name].attrs["bounds"] = bounds_name(name)


def read_bounds(file: h5py.File, axis: str) -> np.ndarray:
    """The cell faces (n + 1,) that `add_bounds` wrote. Raises KeyError when there are none."""
    bounds = plain_dataset(file, bounds_name(axis))[()]
    return np.append(bounds[:, 0], bounds[-1, 1])


def bounds_name(axis: str) -> str:
    """Name of the variable with the cell faces along an axis."""
    return f"{axis}_bounds"


def add_time(file: h5py.File, time: float | Sequence[float]) -> h5py.Dataset:
    """Add the variable `time` (s since the start): a scalar, or the values of a series."""
    variable = file.create_dataset("time", data=np.asarray(time, dtype=np.float64))
    names = {"units": "s", "standard_name": "time", "long_name": "time since the start", "axis": "T"}
    set_attributes(variable, names)
    return variable


def add_array(
    file: h5py.File,
    name: str,
    values: Values,
    axes: Sequence[str],
    attributes: Mapping[str, Any],
    compression: Compression = FAST,
) -> None:
    """Add a packed, checksummed variable over the named dimension scales."""
    variable = add_packed(file, name, values, compression)
    attach_scales(file, variable, axes)
    set_attributes(variable, attributes)


def add_packed(
    group: h5py.Group,
    name: str,
    values: Values,
    compression: Compression = FAST,
    chunks: tuple[int, ...] | None = None,
) -> h5py.Dataset:
    """Add a packed, checksummed dataset that is not empty."""
    data = create_packed(group, name, values.shape, values.dtype, compression, chunks)
    write_chunks(data, values, compression)
    return data


def attach_scales(file: h5py.File, variable: h5py.Dataset, axes: Sequence[str]) -> None:
    """Tie each dimension of `variable` to the dimension scale of that name."""
    for dimension, name in zip(variable.dims, axes, strict=True):
        dimension.attach_scale(file[name])


def set_attributes(target: h5py.Dataset | h5py.Group, attributes: Mapping[str, Any]) -> None:
    """Set the attributes of a dataset or group."""
    for name, value in attributes.items():
        target.attrs[name] = value


def quantity_attributes(file: h5py.File, quantity: Quantity, coordinates: str) -> dict[str, str]:
    """Attributes of the quantity that is solved for. The file gets its name, unless it is a temperature. coordinates:
    the CF attribute.

    CF has no standard name for the temperature of an arbitrary solid; `units_metadata` (new in CF-1.11) says
    that it is a point on the scale and not a difference.
    """
    attributes = {"units": quantity.unit, "long_name": quantity.name.replace("_", " ")}
    if quantity.is_temperature:
        attributes["units_metadata"] = "temperature: on_scale"
    else:
        file.attrs[_QUANTITY] = quantity.name
    return {**attributes, "coordinates": coordinates}


def add_quantity(
    file: h5py.File,
    quantity: Quantity,
    values: Values,
    axes: Sequence[str],
    coordinates: str,
    compression: Compression = FAST,
) -> None:
    """Add the quantity that is solved for under its name; coordinates: the CF attribute."""
    add_array(file, quantity.name, values, axes, quantity_attributes(file, quantity, coordinates), compression)


def read_quantity(file: h5py.File) -> Quantity:
    """The quantity that was solved for, by the name of its field. Raises KeyError where there is none."""
    name = str(file.attrs.get(_QUANTITY, "temperature"))
    return Quantity(name, str(find_dataset(file, name).attrs["units"]))


def plain_dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """Find the dataset `name`, refusing all that could read another file.

    Raises KeyError when there is none and ValueError when a link on the way is not hard or the storage is
    external or virtual.
    """
    node = find_dataset(file, name)
    if node.is_virtual:
        raise ValueError(_elsewhere(name))
    return node


def find_dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """Find the dataset `name` as `plain_dataset` does, but let it be virtual: the caller checks what it refers to."""
    node: Any = file
    for part in [part for part in name.split("/") if part]:
        if not isinstance(node, h5py.Group) or part not in (names := list(node)):
            raise KeyError(f"no dataset {name!r}{_suggestion(part, node)}")
        if not isinstance(node.get(part, getlink=True), h5py.HardLink):
            raise ValueError(f"{part!r} in {name!r} is a soft or external link; only hard links are followed")
        node = node[names[names.index(part)]]
    if not isinstance(node, h5py.Dataset):
        raise KeyError(f"{name!r} is not a dataset{_suggestion(name, node)}")
    if node.external:
        raise ValueError(_elsewhere(name))
    return node


def _elsewhere(name: str) -> str:
    return f"{name!r} keeps its data in other files (virtual or external storage)"


def _suggestion(wanted: str, node: Any) -> str:
    names = list(node) if isinstance(node, h5py.Group) else []
    close = difflib.get_close_matches(wanted, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are: {', '.join(names[:10])}" if names else ""


@cache
def heatsim_version() -> str:
    """Version of the installed heatsim, or "unknown" when it runs from a folder that is not installed."""
    try:
        return metadata.version("heatsim")
    except metadata.PackageNotFoundError:
        return "unknown"


# Virtual HDF5 datasets: arrays of a run folder that lie in other files of it.


_COPIED_ATTRIBUTES = ("units", "long_name", "units_metadata", "flag_values", "flag_meanings", "names")


@dataclass(frozen=True)
class VirtualVariable:
    """Type and attributes of a dataset to be referred to."""

    dtype: np.dtype[Any]
    attributes: dict[str, Any]


def read_variable(file: h5py.File, name: str) -> VirtualVariable:
    """The variable `name` of a source file, which may itself refer to others."""
    data = find_dataset(file, name)
    return VirtualVariable(data.dtype, {key: data.attrs[key] for key in _COPIED_ATTRIBUTES if key in data.attrs})


def lay_out_single(name: str, variable: VirtualVariable, shape: tuple[int, ...], source: str) -> h5py.VirtualLayout:
    """Lay out `shape`, the dataset `name` of a source file."""
    layout = empty_layout(shape, variable)
    layout[...] = h5py.VirtualSource(source, name, shape=shape)
    return layout


def lay_out_stack(
    name: str, variable: VirtualVariable, shape: tuple[int, ...], sources: Sequence[str]
) -> h5py.VirtualLayout:
    """Lay out (time, *shape), each time being the dataset `name` of one source file."""
    layout = empty_layout((len(sources), *shape), variable)
    for i, source in enumerate(sources):
        layout[i] = h5py.VirtualSource(source, name, shape=shape)
    return layout


def lay_out_queue(
    name: str, variable: VirtualVariable, shape: tuple[int, ...], sources: Sequence[str]
) -> h5py.VirtualLayout:
    """Lay out (time * cells,), the datasets `name` (`shape`) of the source files one after another."""
    cells = prod(shape)
    layout = empty_layout((len(sources) * cells,), variable)
    for i, source in enumerate(sources):
        layout[i * cells : (i + 1) * cells] = h5py.VirtualSource(source, name, shape=shape)
    return layout


def lay_out_vectors(
    parts: Sequence[ComponentPlace], variable: VirtualVariable, shape: tuple[int, ...]
) -> h5py.VirtualLayout:
    """Lay out (*shape, components): each part is a dataset of a source file, of one component at some places."""
    layout = empty_layout(shape, variable)
    for part in parts:
        layout[(*part.at, part.component)] = h5py.VirtualSource(part.source, part.name, shape=part.shape)
    return layout


class ComponentPlace(NamedTuple):
    """A dataset `name` of a source file, of some shape, and where it lies in an array of vectors."""

    source: str
    name: str
    shape: tuple[int, ...]
    at: tuple[int | slice, ...]
    component: int


def add_virtual(group: h5py.Group, name: str, variable: VirtualVariable, layout: h5py.VirtualLayout) -> h5py.Dataset:
    """Add a virtual dataset; where a source is missing it reads as NaN (numbers), 0 (whole numbers)."""
    fill = np.nan if variable.dtype.kind == "f" else 0
    data = group.create_virtual_dataset(name, layout, fillvalue=fill)
    set_attributes(data, variable.attributes)
    return data


def empty_layout(shape: tuple[int, ...], variable: VirtualVariable) -> h5py.VirtualLayout:
    """A layout of `shape` in which nothing is laid out yet."""
    layout = h5py.VirtualLayout(shape, variable.dtype)
    layout.dcpl.set_obj_track_times(False)  # as h5py does for all other datasets: equal content, equal bytes
    return layout
