"""Checkpoints: all that a run needs to go on to the same bits. The last one and the one before are kept.

A checkpoint is an HDF5 file. Its arrays are datasets with checksums; all else is one JSON text. The user
block, the 512 bytes in front that HDF5 leaves to others, holds the SHA-256 of all that follows, so a file in which a
single byte is wrong is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from heatsim.base.atomic import atomic_file
from heatsim.errors import RunFolderError
from heatsim.store.chunks import FAST, Compression, read_block
from heatsim.store.folder import RunFolder
from heatsim.store.hdf5 import HDF5_ERRORS, add_packed, new_hdf5, plain_dataset

BLOCK_BYTES = 512  # of the user block
_TITLE = "heatsim checkpoint 1\nsha256 "
_ARRAY = "array of the dataset"  # the key of a JSON table that stands for an array


class DamagedCheckpoint(Exception):
    """A file is no whole checkpoint; the text says why."""


class Checkpoint(NamedTuple):
    """fits: what the scenario must have in common with it; state: numbers, texts, None, arrays, and lists and tables of
    these."""

    fits: str
    state: dict[str, Any]


def write_checkpoint(folder: RunFolder, checkpoint: Checkpoint, compression: Compression = FAST) -> None:
    """Write a checkpoint atomically and keep the one before. Raises OSError."""
    last, previous = folder.checkpoints
    with atomic_file(last, keep=previous) as stream:
        with new_hdf5(stream, BLOCK_BYTES) as file:
            text = json.dumps(_without_arrays(checkpoint.state, "state", file, compression))
            add_packed(file, "state_text", np.frombuffer(text.encode(), np.uint8), compression)
            file.attrs["fits"] = checkpoint.fits
        block = _block(stream.sha256(BLOCK_BYTES))
        stream.seek(0)
        stream.write(block)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint back. Raises DamagedCheckpoint."""
    try:
        with path.open("rb") as stream:
            block = stream.read(BLOCK_BYTES)
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DamagedCheckpoint(f"cannot be read: {error.strerror or error}") from None
    if block != _block(found):
        raise DamagedCheckpoint("is damaged, or no checkpoint by this version: its checksum is another")
    try:
        with h5py.File(path, "r") as file:
            state = _with_arrays(json.loads(bytes(plain_dataset(file, "state_text")[()])), file)
            return Checkpoint(str(file.attrs["fits"]), state)
    except HDF5_ERRORS as error:
        raise DamagedCheckpoint(f"is no checkpoint: {error}") from None


def newest_checkpoint(folder: RunFolder) -> tuple[Checkpoint | None, list[str]]:
    """The last checkpoint that is whole, None if there never was one, and what to tell of those that are not.

    Raises RunFolderError where there are checkpoints and none is whole.
    """
    told: list[str] = []
    for path in folder.checkpoints:
        if not path.exists():
            continue
        try:
            return read_checkpoint(path), told
        except DamagedCheckpoint as damage:
            told.append(f"{path}: {damage}")
    if told:
        raise RunFolderError("\n".join([*told, f"{folder.path}: has no checkpoint that can be used; run it anew"]))
    return None, told


def _block(sha256: str) -> bytes:
    return f"{_TITLE}{sha256}\n".encode().ljust(BLOCK_BYTES, b"\0")


def _without_arrays(value: Any, name: str, file: h5py.File, compression: Compression) -> Any:
    """The value with its arrays put into datasets of a file, below `name`."""
    if isinstance(value, Mapping):
        return {str(key): _without_arrays(each, f"{name}/{key}", file, compression) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        if value.size == 0:
            file.create_dataset(name, data=value)
        else:
            add_packed(file, name, np.atleast_1d(value), compression)
        return {_ARRAY: name, "shape": list(value.shape)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_arrays(each, f"{name}/{number}", file, compression) for number, each in enumerate(value)]
    return value.item() if isinstance(value, np.generic) else value


def _with_arrays(value: Any, file: h5py.File) -> Any:
    if isinstance(value, dict) and _ARRAY in value:
        data = plain_dataset(file, value[_ARRAY])
        return read_block(data, (slice(None),) * data.ndim).reshape(value["shape"])
    if isinstance(value, dict):
        return {key: _with_arrays(each, file) for key, each in value.items()}
    return [_with_arrays(each, file) for each in value] if isinstance(value, list) else value
