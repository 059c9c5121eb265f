"""What an input array may be, whatever file it comes from; and a user's HDF5 file, read in a process of its own.

Damaged metadata makes the HDF5 library itself crash now and then (HDF5 2.0: 2 of 40000 files with a few bytes
changed at random). In another process that is one more error message. It costs about 0.3 s.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np

from heatsim.store.hdf5 import HDF5_ERRORS, plain_dataset
from heatsim.store.slab_files import snapshot_dataset

_FILTERS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32)
_REFUSED = 3  # exit status of a child that says why on stderr
_CHUNK_ELEMENTS = 2**22  # a resizable dataset may have chunks larger than itself, within reason

MAX_ELEMENTS = 2**31


class Refusal(Exception):
    """The file is not used, for the reason given."""


def check_array(shape: Sequence[int], dtype: np.dtype[Any], max_elements: int) -> None:
    """Raise Refusal unless the elements are numbers or bools, and no more than `max_elements`."""
    if dtype.kind not in "biuf":
        raise Refusal(f"numbers or bools were expected, found elements of type {dtype}")
    if math.prod(shape) > max_elements:
        size = " x ".join(map(str, shape))
        raise Refusal(f"holds {size} elements, more than the {max_elements} expected at most")


def choose_dataset(names: Sequence[str], wanted: str | None) -> str:
    """Take the array `wanted`, or the only one. Raises Refusal."""
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is not None and wanted in names:
        return wanted
    found = f"found {', '.join(sorted(names)[:10])}" if names else "found none"
    if wanted is None:
        raise Refusal(f"one array, or a name in `dataset`, was expected; {found}")
    raise Refusal(f"an array named {wanted!r} was expected; {found}")


def read_hdf5(path: Path, dataset: str | None, max_elements: int) -> np.ndarray:
    """Read the dataset at the path `dataset`, or the only one at the root. Raises Refusal."""
    # -P keeps modules out that lie in the working directory.
    command = [sys.executable, "-P", "-m", __name__, str(path.absolute()), str(max_elements)]
    command += [] if dataset is None else [dataset]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    array = None
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            # NumPy would seek in a file, and a pipe cannot; of anything else it only asks for bytes.
            stream = SimpleNamespace(read=child.stdout.read)
            array = np.lib.format.read_array(stream, allow_pickle=False)
        except ValueError:  # nothing came, or not all
            array = None
        message = child.stderr.read().decode(errors="replace")
    if array is not None and child.returncode == 0:
        return array
    if child.returncode == _REFUSED:
        raise Refusal(message)
    raise Refusal("is damaged: the HDF5 library crashed on it")


def _read_here(path: Path, dataset: str | None, max_elements: int) -> np.ndarray:
    with h5py.File(path, "r") as file:
        name = choose_dataset([name for name in file if _is_dataset(file, name)], None) if dataset is None else dataset
        try:
            data = snapshot_dataset(file, name)
        except (KeyError, ValueError) as error:
            raise Refusal(error.args[0]) from None
        check_array(data.shape, data.dtype, max_elements)
        _check_filters(data)
        for slab in data.virtual_sources() if data.is_virtual else ():
            with h5py.File(path.parent / slab.file_name, "r") as beside:
                _check_filters(plain_dataset(beside, slab.dset_name))
        if data.chunks and math.prod(data.chunks) > max(_CHUNK_ELEMENTS, data.size):
            raise Refusal(f"has chunks of {data.chunks} elements, far larger than the dataset")
        return np.asarray(data[()])


def _check_filters(data: h5py.Dataset) -> None:
    """Refuse filters that would load code, or that this build may lack."""
    creation = data.id.get_create_plist()
    for number in range(creation.get_nfilters()):
        code, _, _, name = creation.get_filter(number)
        if code not in _FILTERS:
            label = name.decode(errors="replace") or code
            raise Refusal(f"is filtered by {label!r}; gzip, shuffle and fletcher32 are taken")


def _is_dataset(file: h5py.File, name: str) -> bool:
    # The kind of a soft or external link is not looked up, since that would open its target.
    return isinstance(file.get(name, getlink=True), h5py.HardLink) and isinstance(file[name], h5py.Dataset)


def _main(path: str, max_elements: str, dataset: str | None = None) -> int:
    try:
        array = _read_here(Path(path), dataset, int(max_elements))
    except Refusal as refusal:
        sys.stderr.write(str(refusal))
        return _REFUSED
    except HDF5_ERRORS as error:
        sys.stderr.write(f"cannot be read as {Path(path).suffix}: {error}")
        return _REFUSED
    # As above: NumPy would ask for the place in a file, and a pipe has none.
    np.lib.format.write_array(SimpleNamespace(write=sys.stdout.buffer.write), array, allow_pickle=False)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
