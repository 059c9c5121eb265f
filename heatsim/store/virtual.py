"""Virtual HDF5 datasets: arrays of a run folder that lie in other files of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import h5py
import numpy as np

from heatsim.store.hdf5 import plain_dataset, set_attributes

_COPIED = ("units", "long_name", "units_metadata", "flag_values", "flag_meanings", "names")


@dataclass(frozen=True)
class Variable:
    """Type and attributes of a dataset to be referred to."""

    dtype: np.dtype[Any]
    attributes: dict[str, Any]


def read_variable(file: h5py.File, name: str) -> Variable:
    """The variable `name` of a source file."""
    data = plain_dataset(file, name)
    return Variable(data.dtype, {key: data.attrs[key] for key in _COPIED if key in data.attrs})


def single(name: str, variable: Variable, shape: tuple[int, ...], source: str) -> h5py.VirtualLayout:
    """Lay out `shape`, the dataset `name` of a source file."""
    layout = _empty(shape, variable)
    layout[...] = h5py.VirtualSource(source, name, shape=shape)
    return layout


def stack(name: str, variable: Variable, shape: tuple[int, ...], sources: Sequence[str]) -> h5py.VirtualLayout:
    """Lay out (time, *shape), each time being the dataset `name` of one source file."""
    layout = _empty((len(sources), *shape), variable)
    for i, source in enumerate(sources):
        layout[i] = h5py.VirtualSource(source, name, shape=shape)
    return layout


def queue(name: str, variable: Variable, shape: tuple[int, ...], sources: Sequence[str]) -> h5py.VirtualLayout:
    """Lay out (time * cells,), the datasets `name` (`shape`) of the source files one after another."""
    cells = prod(shape)
    layout = _empty((len(sources) * cells,), variable)
    for i, source in enumerate(sources):
        layout[i * cells : (i + 1) * cells] = h5py.VirtualSource(source, name, shape=shape)
    return layout


def add_virtual(group: h5py.Group, name: str, variable: Variable, layout: h5py.VirtualLayout) -> h5py.Dataset:
    """Add a virtual dataset; where a source is missing it reads as NaN (numbers), 0 (whole numbers)."""
    fill = np.nan if variable.dtype.kind == "f" else 0
    data = group.create_virtual_dataset(name, layout, fillvalue=fill)
    set_attributes(data, variable.attributes)
    return data


def _empty(shape: tuple[int, ...], variable: Variable) -> h5py.VirtualLayout:
    layout = h5py.VirtualLayout(shape, variable.dtype)
    layout.dcpl.set_obj_track_times(False)  # as h5py does for all other datasets: equal content, equal bytes
    return layout
