"""Snapshots of which each rank has written its planes: `snapshots/000123.2.h5`, read as one through `000123.h5`.

The quantity of such a snapshot is a virtual dataset over these files, so that all that reads snapshots reads them too.
`000123.sha256` has their checksums as `sha256sum --check` takes them. Each chunk has a checksum of its own besides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from heatsim.base.atomic import atomic_file, write_atomically
from heatsim.store.chunks import FAST, Compression
from heatsim.store.hdf5 import VirtualVariable, add_packed, empty_layout, find_dataset, new_hdf5, plain_dataset

_FILES, _SIZES = "slab_files", "slab_bytes"  # attributes of a snapshot
_NAME = re.compile(r"\d{6,}\.\d+\.h5")


class SlabFile(NamedTuple):
    """A file of planes: its name, how many planes it has, its size in bytes, and its checksum."""

    name: str
    planes: int
    size: int
    sha256: str


def slab_path(snapshot: Path, rank: int) -> Path:
    """The file of the planes of a rank, beside the snapshot."""
    return snapshot.with_suffix(f".{rank}.h5")


def write_slab(path: Path, name: str, values: np.ndarray, compression: Compression = FAST) -> SlabFile:
    """Write planes (n, ny, nx) of the quantity `name` atomically. Raises OSError."""
    with atomic_file(path) as stream:
        with new_hdf5(stream) as file:
            add_packed(file, name, values, compression)
        return SlabFile(path.name, len(values), stream.size(), stream.sha256())


def write_manifest(snapshot: Path, slabs: Sequence[SlabFile]) -> None:
    """Write the checksums of the files of a snapshot. Raises OSError."""
    lines = "".join(f"{slab.sha256}  {slab.name}\n" for slab in slabs)
    write_atomically(snapshot.with_suffix(".sha256"), lines.encode())


def lay_out_slabs(
    file: h5py.File, name: str, variable: VirtualVariable, shape: tuple[int, ...], slabs: Sequence[SlabFile]
) -> h5py.VirtualLayout:
    """Lay out `shape`: the dataset `name` of each file of slabs, one after another. Names and sizes of these files
    become attributes of `file`."""
    file.attrs[_FILES] = [slab.name for slab in slabs]
    file.attrs[_SIZES] = np.array([slab.size for slab in slabs], np.int64)
    layout, first = empty_layout(shape, variable), 0
    for slab in slabs:
        source = h5py.VirtualSource(slab.name, name, shape=(slab.planes, *shape[1:]))
        layout[first : first + slab.planes] = source
        first += slab.planes
    return layout


def snapshot_dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """The dataset `name` of a snapshot, whose data lie in it, or in files of slabs beside it.

    Raises KeyError when there is none and ValueError when such a file is missing or has another size, or the data lie
    anywhere else.
    """
    data = find_dataset(file, name)
    if not data.is_virtual:
        return data
    sizes = dict(zip(map(str, file.attrs.get(_FILES, ())), file.attrs.get(_SIZES, ()), strict=True))
    for source in data.virtual_sources():
        if source.file_name not in sizes or not _NAME.fullmatch(source.file_name):
            raise ValueError(f"{name!r} keeps its data in other files (virtual or external storage), none of its slabs")
        path = Path(file.filename).with_name(source.file_name)
        if path.is_symlink() or not path.is_file():
            raise ValueError(f"its file {path.name} is missing")
        if path.stat().st_size != sizes[path.name]:
            raise ValueError(f"its file {path.name} has another size than when it was written")
        with h5py.File(path, "r") as slab:
            plain_dataset(slab, source.dset_name)  # which refers to no other file
    return data
