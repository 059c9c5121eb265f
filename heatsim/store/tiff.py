"""TIFF files: pages as planes, and the size of a voxel that ImageJ and OME write into them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageSequence

from heatsim.store.input_checks import Refusal, check_array

if TYPE_CHECKING:
    from tifffile import TiffFile

Voxel = tuple[float, float, float]


def read_tiff(path: Path, dataset: str | None, max_elements: int) -> np.ndarray:
    """The values of a TIFF: (rows, columns) of one page, (pages, rows, columns) of several, however they were written.
    Raises Refusal for pages of unequal size, and for colours."""
    with _opened(path) as file:
        shapes = [tuple(series.shape) for series in file.series]
        if len(set(shapes)) > 1 or (len(shapes) > 1 and len(shapes[0]) > 3):
            found = ", ".join(" x ".join(map(str, shape)) for shape in dict.fromkeys(shapes))
            raise Refusal(f"pages of one size were expected, found {len(shapes)} images of {found}")
        check_array((len(shapes), *shapes[0]), np.dtype(file.series[0].dtype), max_elements)
        colours = "S" in file.series[0].axes
        try:
            pages = [series.asarray() for series in file.series]
            values = pages[0] if len(pages) == 1 else np.stack(pages)
        except ValueError as error:  # a compression that tifffile needs another package for
            if "imagecodecs" not in str(error):
                raise
            values = _read_by_pillow(path)
    if colours:
        if not (values == values[..., :1]).all():
            raise Refusal(f"one value a pixel was expected, found {values.shape[-1]}: an image in colours?")
        values = values[..., 0]
    while values.ndim > 2 and values.shape[0] == 1:
        values = values[0]
    return values


def _read_by_pillow(path: Path) -> np.ndarray:
    with Image.open(path, formats=("TIFF",)) as image:
        pages = [np.asarray(page) for page in ImageSequence.Iterator(image)]
    return pages[0] if len(pages) == 1 else np.stack(pages)


def voxel_of_tiff(path: Path) -> tuple[Voxel, str] | None:
    """The edges of a voxel along x, y, z, and their unit, if ImageJ or OME has written them into the file."""
    with _opened(path) as file:
        if file.ome_metadata:
            return _of_ome(file.ome_metadata)
        told = file.imagej_metadata or {}
        spacing, tags = float(told.get("spacing") or 0.0), getattr(file.pages[0], "tags", {})
        across = [_per_pixel(tags, name) for name in ("XResolution", "YResolution")]
        if not (spacing > 0 and all(across)):
            return None
        unit = str(told.get("unit") or "").replace("\\u00B5", "u").replace("µ", "u")
        return (across[0], across[1], spacing), unit


def _per_pixel(tags: Any, name: str) -> float:
    """The length of a pixel, 0 if the file has none."""
    tag = tags.get(name)
    pixels, length = tag.value if tag is not None else (0, 1)
    return length / pixels if pixels > 0 else 0.0


def _of_ome(text: str) -> tuple[Voxel, str] | None:
    found = [re.search(rf'PhysicalSize{axis}="([0-9.eE+-]+)"', text) for axis in "XYZ"]
    units = [re.search(rf'PhysicalSize{axis}Unit="([^"]*)"', text) for axis in "XYZ"]
    named = {each[1] if each else "um" for each in units}
    if not all(found) or len(named) != 1:
        return None
    x, y, z = (float(each[1]) if each else 0.0 for each in found)
    return ((x, y, z), named.pop().replace("µ", "u")) if min(x, y, z) > 0 else None


def _opened(path: Path) -> TiffFile:
    try:
        import tifffile
    except ImportError:
        raise Refusal("TIFF files need tifffile: pip install 'heatsim[images]'") from None
    return tifffile.TiffFile(path)
