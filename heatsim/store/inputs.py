"""Arrays from a user's files, which may be damaged or made to do harm.

Nothing is unpickled, no other file is opened, and the size is bounded before any data is read.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
from PIL import Image

from heatsim.errors import InputFileError
from heatsim.store.hdf5_input import read_hdf5
from heatsim.store.input_checks import MAX_ELEMENTS, Refusal, check_array, choose_dataset


def read_array(path: Path, dataset: str | None = None, max_elements: int = MAX_ELEMENTS) -> np.ndarray:
    """Read a numeric or bool array from .npy, .npz, .h5, .hdf5, .png or .tif, in native byte order and C order.

    `dataset` names the array in an .npz or HDF5 file; it may be left out when there is only one (in HDF5: at
    the root). A PNG gives (rows, columns), top row first: grey levels, palette indices or the first channel.
    Raises InputFileError when the file is missing, damaged, of another kind, not safe to open, or holds more
    than `max_elements` elements; the last is found out before the data is read.
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
        pixels = np.asarray(image)
    return pixels if pixels.ndim == 2 else pixels[:, :, 0]


def _open_png(path: Path) -> Image.Image:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the size is bounded by us
        return Image.open(path, formats=("PNG",))


def read_volume(path: Path, dataset: str | None = None, max_elements: int = MAX_ELEMENTS) -> np.ndarray:
    """Read an image of two or three axes (z, y, x): any file of `read_array`, a TIFF of one or many pages, or a folder
    of PNG or TIFF files, the planes in the order of their names. Rows of pictures come top row first.

    Raises InputFileError as `read_array` does, and for planes that differ in size.
    """
    if not path.is_dir():
        return read_array(path, dataset, max_elements)
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in (".png", ".tif", ".tiff"))
    if not files:
        raise InputFileError(path, "a folder of PNG or TIFF files was expected, found none of them")
    planes = []
    for file in files:
        planes.append(read_array(file, None, max_elements // len(files)))
        if planes[-1].shape != planes[0].shape or planes[-1].ndim != 2:
            sizes = (" x ".join(map(str, plane.shape)) for plane in (planes[0], planes[-1]))
            raise InputFileError(file, "a plane of {} like the first one was expected, found {}".format(*sizes))
    return np.stack(planes)


def _read_tiff(path: Path, dataset: str | None, max_elements: int) -> np.ndarray:
    try:
        import tifffile
    except ImportError:
        raise Refusal("TIFF files need tifffile: pip install 'heatsim[images]'") from None
    with tifffile.TiffFile(path) as file:
        series = file.series[0]
        if "S" in series.axes:
            raise Refusal(f"one value a pixel was expected, found {series.shape[-1]}: an image in colours?")
        check_array(series.shape, np.dtype(series.dtype), max_elements)
        return np.squeeze(series.asarray())


_READERS: dict[str, Callable[[Path, str | None, int], np.ndarray]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
    ".png": _read_png,
    ".tif": _read_tiff,
    ".tiff": _read_tiff,
}
