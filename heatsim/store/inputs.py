"""Arrays from a user's files, which may be damaged or made to do harm.

Nothing is unpickled, no other file is opened, and the size is bounded before any data is read.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from PIL import Image

from heatsim.errors import InputFileError
from heatsim.store.hdf5_input import MAX_ELEMENTS, Refusal, check_array, choose_dataset, read_hdf5
from heatsim.store.tiff import TiffFacts, Voxel, one_sample, read_tiff, tiff_facts


def read_array(path: Path, dataset: str | None = None, max_elements: int = MAX_ELEMENTS) -> np.ndarray:
    """Read a numeric or bool array from .npy, .npz, .h5, .hdf5, .png or .tif, in native byte order and C order.

    `dataset` names the array in an .npz or HDF5 file; it may be left out when there is only one (in HDF5: at
    the root). A PNG gives (rows, columns), top row first: grey levels, also of grey in colours, or palette indices.
    Raises InputFileError when the file is missing, damaged, of another kind, not safe to open, in colours or
    transparent in parts, or holds more than `max_elements` elements; the last is found out before the data is read.
    """
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise InputFileError(path, f"one of {', '.join(_READERS)} was expected, found {suffix or 'no suffix'}")
    if not path.is_file():
        raise InputFileError(path, "is not a file" if path.exists() else "no such file")
    if dataset is not None and suffix in (".npy", ".png", ".tif", ".tiff"):
        raise InputFileError(path, f"holds a single array without a name; remove dataset = {dataset!r}")
    try:
        array = _READERS[suffix](path, dataset, max_elements)
    except Refusal as refusal:
        raise InputFileError(path, str(refusal)) from None
    except Exception as error:  # the parsers raise nearly every kind there is on damaged files
        detail = str(error) or type(error).__name__
        raise InputFileError(path, f"cannot be read as {suffix}: {detail}") from None
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def _read_npy(path: Path, dataset: str | None, max_elements: int) -> np.ndarray:
    with path.open("rb") as stream:
        return _read_npy_stream(stream, max_elements)


def _read_npy_stream(stream: IO[bytes], max_elements: int) -> np.ndarray:
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(stream)
    if version not in headers:  # 3.0 differs only in the names of structured types
        raise Refusal(f"version 1.0 or 2.0 of the .npy format was expected, found {version}")
    shape, _, dtype = headers[version](stream)
    check_array(shape, dtype, max_elements)
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _read_npz(path: Path, dataset: str | None, max_elements: int) -> np.ndarray:
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        with archive.open(f"{choose_dataset(names, dataset)}.npy") as stream:
            return _read_npy_stream(stream, max_elements)


def _read_png(path: Path, dataset: str | None, max_elements: int) -> np.ndarray:
    with _open_png(path) as image:
        check_array(image.size, np.dtype(np.uint8), max_elements)
        image.verify()  # checksums and the end of the file; loading alone overlooks some cuts
    with _open_png(path) as image:
        if (frames := getattr(image, "n_frames", 1)) > 1:
            raise Refusal(f"one picture was expected, found an animation of {frames}: save them as pages of a TIFF")
        pixels = np.asarray(image)
    return pixels if pixels.ndim == 2 else one_sample(pixels, axis=2, alpha=pixels.shape[2] in (2, 4))


def _open_png(path: Path) -> Image.Image:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the size is bounded by us
        return Image.open(path, formats=("PNG",))


class Volume(NamedTuple):
    """An image of two or three axes (z, y, x); edges of a voxel along x, y, z, if its file has them, and their unit;
    what to tell of how it was read."""

    values: np.ndarray
    voxel: Voxel | None = None
    unit: str = ""
    notes: tuple[str, ...] = ()


def read_volume(path: Path, dataset: str | None = None, max_elements: int = MAX_ELEMENTS) -> Volume:
    """Read an image of two or three axes (z, y, x): any file of `read_array`, a TIFF of one or many pages, or a folder
    of PNG or TIFF files, the planes in the order of the numbers in their names. A picture (PNG) has its top row at the
    greatest y, as the labels of a scenario have.

    Raises InputFileError as `read_array` does, and for planes that differ in size.
    """
    if not path.is_dir():
        values = read_array(path, dataset, max_elements)
        return Volume(_upright(path, values), *_facts(path))
    shown = (file for file in path.iterdir() if not file.name.startswith("."))  # macOS adds hidden twins
    files = sorted((file for file in shown if file.suffix.lower() in _PICTURES), key=_by_number)
    if not files:
        raise InputFileError(path, "a folder of PNG or TIFF files was expected, found none of them")
    planes = list[np.ndarray]()
    for file in files:
        planes.append(_upright(file, read_array(file, None, max_elements // len(files))))
        if planes[-1].ndim != 2:
            raise InputFileError(
                file, f"one plane was expected of each file of a folder, found {len(planes[-1])} pages"
            )
        if planes[-1].shape != planes[0].shape:
            sizes = (" x ".join(map(str, plane.shape)) for plane in (planes[0], planes[-1]))
            raise InputFileError(file, "a plane of {} like the first one was expected, found {}".format(*sizes))
    return Volume(np.stack(planes), notes=(*_facts(files[0]).notes, *_order(path, files)))


RAW_TYPES = "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"


def read_raw(
    path: Path, sizes: tuple[int, int, int], kind: str = "", max_elements: int = MAX_ELEMENTS, *, big: bool = False
) -> Volume:
    """Read an image of voxels without a header, x fastest; sizes: voxels along x, y, z; kind: one of RAW_TYPES, uint8
    or uint16 by the size of the file if left out; big: big-endian, as ImageJ writes it. Raises InputFileError."""
    voxels = prod(sizes)
    try:
        there = path.stat().st_size
    except OSError as error:
        raise InputFileError(path, f"cannot be read: {error.strerror or error}") from None
    guessed, kind = not kind, kind or ("uint16" if there == 2 * voxels else "uint8")
    needed = voxels * np.dtype(kind).itemsize
    if there != needed:
        told = f"{' x '.join(map(str, sizes))} voxels of {kind} take {needed} bytes, found {there}"
        raise InputFileError(path, f"{told}: other sizes, another type, or a header?")
    if voxels > max_elements:
        raise InputFileError(path, f"holds {voxels} elements, more than the {max_elements} expected at most")
    values = np.fromfile(path, np.dtype(kind).newbyteorder(">" if big else "<")).astype(kind, copy=False)
    notes = [f"{path}: is read as {kind}, by its size"] if guessed else []
    if values.dtype.kind in "iu" and values.itemsize > 1 and values.any() and not (values & 0xFF).any():
        other = f"as {kind},big says" if not big else f"as {kind} alone says"
        notes.append(f"warning: {path}: all values are multiples of 256: is the order of bytes the other one, {other}?")
    return Volume(values.reshape(sizes[::-1]), notes=tuple(notes))


def _by_number(file: Path) -> tuple[list[tuple[int, str]], str]:
    """A name with the numbers in it as numbers: slice2 before slice10."""
    parts = re.split(r"(\d+)", file.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts], file.name


def _order(path: Path, files: list[Path]) -> Iterator[str]:
    """Tell in what order planes are taken, and which planes are missing."""
    yield f"{path}: {len(files)} planes, from {files[0].name} to {files[-1].name}"
    found = [re.findall(r"\d+", file.stem) for file in files]
    numbers = [int(each[-1]) for each in found if each]
    if len(numbers) != len(files) or len(files) < 3:
        return
    steps = Counter(high - low for low, high in pairwise(numbers))
    (usual, times), *others = steps.most_common()
    if others and times >= 0.5 * len(numbers):
        place = next(n for n, (low, high) in enumerate(pairwise(numbers)) if high - low != usual)
        yield f"warning: {path}: no plane lies between {files[place].name} and {files[place + 1].name}: is one missing?"


def _upright(path: Path, values: np.ndarray) -> np.ndarray:
    """A picture with its rows in the order of y."""
    return values[::-1] if path.suffix.lower() == ".png" else values


def _facts(path: Path) -> TiffFacts:
    try:
        return tiff_facts(path) if path.suffix.lower() in (".tif", ".tiff") else TiffFacts()
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):  # what it says of itself is damaged
        return TiffFacts()


_PICTURES = ".png", ".tif", ".tiff"
_READERS: dict[str, Callable[[Path, str | None, int], np.ndarray]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
    ".png": _read_png,
    ".tif": read_tiff,
    ".tiff": read_tiff,
}
