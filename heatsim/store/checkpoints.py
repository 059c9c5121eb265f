"""Checkpoints: all that a run needs to go on to the same bits. The last one and the one before are kept.

A checkpoint is an HDF5 file. Its arrays are datasets with checksums (fletcher32); all else is one JSON text. The user
block, the 512 bytes in front that HDF5 leaves to others, holds the SHA-256 of all that follows, so a file in which a
single byte is wrong is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from heatsim.errors import RunFolderError
from heatsim.store.atomic import write_atomically
from heatsim.store.folder import RunFolder
from heatsim.store.hdf5 import HDF5_ERRORS, chunk_shape, plain_dataset

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


def write_checkpoint(folder: RunFolder, checkpoint: Checkpoint) -> None:
    """Write a checkpoint atomically and keep the one before. Needs memory for its image. Raises OSError."""
    image = io.BytesIO()
    with h5py.File(image, "w", userblock_size=BLOCK_BYTES, libver=("earliest", "v114")) as file:
        text = json.dumps(_without_arrays(checkpoint.state, "state", file))
        file.create_dataset("state_text", data=np.frombuffer(text.encode(), np.uint8), fletcher32=True, chunks=True)
        file.attrs["fits"] = checkpoint.fits
    with image.getbuffer() as view:
        view[:BLOCK_BYTES] = _block(view[BLOCK_BYTES:])
        last, previous = folder.checkpoints
        write_atomically(last, view, keep=previous)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint back. Raises DamagedCheckpoint."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedCheckpoint(f"cannot be read: {error.strerror or error}") from None
    with memoryview(content) as view:
        if len(view) <= BLOCK_BYTES or view[:BLOCK_BYTES] != _block(view[BLOCK_BYTES:]):
            raise DamagedCheckpoint("is damaged, or no checkpoint by this version: its checksum is another")
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
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


def _block(content: memoryview) -> bytes:
    return f"{_TITLE}{hashlib.sha256(content).hexdigest()}\n".encode().ljust(BLOCK_BYTES, b"\0")


def _without_arrays(value: Any, name: str, file: h5py.File) -> Any:
    """The value with its arrays put into datasets of a file, below `name`."""
    if isinstance(value, Mapping):
        return {str(key): _without_arrays(each, f"{name}/{key}", file) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        if value.size == 0:
            file.create_dataset(name, data=value)
        else:
            data = np.atleast_1d(value)
            chunks = chunk_shape(data.shape, data.itemsize)
            file.create_dataset(name, data=data, chunks=chunks, fletcher32=True)
        return {_ARRAY: name, "shape": list(value.shape)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_arrays(each, f"{name}/{number}", file) for number, each in enumerate(value)]
    return value.item() if isinstance(value, np.generic) else value


def _with_arrays(value: Any, file: h5py.File) -> Any:
    if isinstance(value, dict) and _ARRAY in value:
        return np.asarray(plain_dataset(file, value[_ARRAY])[()]).reshape(value["shape"])
    if isinstance(value, dict):
        return {key: _with_arrays(each, file) for key, each in value.items()}
    return [_with_arrays(each, file) for each in value] if isinstance(value, list) else value
