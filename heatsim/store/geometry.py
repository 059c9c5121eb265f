"""The static file `geometry.h5`: which material each cell is made of, stored once a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np

from heatsim.grid import Grid
from heatsim.store.hdf5 import add_array, add_header, open_own, plain_dataset, write_hdf5
from heatsim.store.snapshots import AXES, add_grid


def write_geometry(path: Path, grid: Grid, material: np.ndarray, names: Sequence[str], title: str = "") -> None:
    """Write the material ids (nz, ny, nx), uint8, and the name of each id, atomically. Raises OSError."""

    def build(file: h5py.File) -> None:
        add_header(file, title)
        add_grid(file, grid)
        add_array(file, "material", material, AXES, _attributes(names))

    write_hdf5(path, build)


def read_geometry(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read the material ids (nz, ny, nx) and their names. Raises InputFileError."""
    with open_own(path, "geometry file") as file:
        material = plain_dataset(file, "material")
        return material[()], tuple(str(name) for name in material.attrs["names"])


def read_geometry_plane(path: Path, axis: str, place: float) -> tuple[np.ndarray, tuple[str, ...]]:
    """Of the plane of cells normal to "x", "y" or "z" whose centres lie nearest to a place, m: as `read_geometry`."""
    with open_own(path, "geometry file") as file:
        material = plain_dataset(file, "material")
        index = int(np.argmin(np.abs(plain_dataset(file, axis)[()] - place)))
        plane = material[tuple(index if each == axis else slice(None) for each in AXES)]
        return plane, tuple(str(name) for name in material.attrs["names"])


def _attributes(names: Sequence[str]) -> dict[str, object]:
    """CF flags (CF 3.5); `flag_meanings` is a list of words, so the names as given are kept beside it."""
    return {
        "long_name": "material",
        "flag_values": np.arange(len(names), dtype=np.uint8),
        "flag_meanings": " ".join(re.sub(r"[^\w.@+-]", "_", name) for name in names),
        "names": list(names),
    }
