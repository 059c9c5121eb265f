"""TIFF files: pages as planes, the size of a voxel that ImageJ and OME write into them, and what to tell of them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from PIL import Image, ImageSequence

from heatsim.store.hdf5_input import Refusal, check_array

if TYPE_CHECKING:
    from tifffile import TiffFile, TiffPageSeries

Voxel = tuple[float, float, float]
# Of what tifffile logs: planes are missing then, and those that are there would be taken for all.
DAMAGED = re.compile(r"corrupted (?!file)|invalid page offset|missing|failed to reshape")
METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "nm": 1e-9, "pm": 1e-12}
LETTERS = {"C": "channels", "T": "times", "Z": "planes", "S": "samples", "Y": "rows", "X": "columns"}
LOSSY = "JPEG", "WEBP", "LERC"
NEEDS = "pip install 'heatsim[images]' brings imagecodecs, which reads it; or save it without compression"


class TiffFacts(NamedTuple):
    """What a TIFF says of itself: the edges of a voxel along x, y, z, and their unit; and what to tell."""

    voxel: Voxel | None = None
    unit: str = ""
    notes: tuple[str, ...] = ()


def read_tiff(path: Path, dataset: str | None, max_elements: int) -> np.ndarray:
    """The values of a TIFF as they are stored: (rows, columns) of one page, (pages, rows, columns) of several, however
    they were written. Raises Refusal for pages of unequal size, colours, planes of several channels, or missing ones.
    """
    with _opened(path) as (file, logged):
        if not len(file.pages):
            raise Refusal("holds no image")
        found = _series(file)
        shapes, axes = [tuple(series.shape) for series in found], found[0].axes
        if len(set(shapes)) > 1 or (len(shapes) > 1 and len(shapes[0]) > 3):
            sizes = ", ".join(" x ".join(map(str, shape)) for shape in dict.fromkeys(shapes))
            raise Refusal(f"pages of one size were expected, found {len(shapes)} images of {sizes}")
        check_array((len(shapes), *shapes[0]), np.dtype(found[0].dtype), max_elements)
        try:
            pages = [series.asarray() for series in found]
        except ValueError as error:  # a compression that tifffile needs another package for
            if "imagecodecs" not in str(error):
                raise
            pages = [page.reshape(shape) for page, shape in zip(_by_pillow(path, file), shapes, strict=True)]
        damage = [each for each in logged if DAMAGED.search(each)]
        if damage:
            raise Refusal(f"the file is damaged or cut: {damage[0]}")
        values = pages[0] if len(pages) == 1 else np.stack(pages)
        images, page = int((file.imagej_metadata or {}).get("images") or 1), int(np.prod(file.pages[0].shape))
        if values.size < images * page:
            raise Refusal(f"the file is damaged or cut: it says {images} images, found {values.size // page}")
        axes = "I" * (values.ndim - len(axes)) + axes
        if "S" in axes:
            values, axes = one_sample(values, axes.index("S"), _has_alpha(found[0])), axes.replace("S", "", 1)
    return _planes(values, axes)


def one_sample(values: np.ndarray, axis: int, alpha: bool) -> np.ndarray:
    """The value of a pixel that has several alike along an axis, as a grey one in colours; alpha: the last one is its
    opacity. Raises Refusal for others, and for pixels that are not all equally opaque."""
    samples = np.moveaxis(values, axis, -1)
    colours = samples[..., :-1] if alpha and samples.shape[-1] > 1 else samples
    if not (colours == colours[..., :1]).all():
        hint = ", or planes that were saved as colours (photometric='minisblack' keeps them)"
        planes = hint if axis < values.ndim - 1 else ""
        raise Refusal(f"one value a pixel was expected, found {colours.shape[-1]}: an image in colours{planes}?")
    if alpha and samples.shape[-1] > 1 and not (samples[..., -1] == samples[..., -1].max()).all():
        raise Refusal("one value a pixel was expected, found pixels that are transparent in parts: save it without")
    return colours[..., 0]


def tiff_facts(path: Path) -> TiffFacts:
    """What a TIFF says of its voxels, and what to tell of how it is taken."""
    with _opened(path) as (file, _):
        found = _series(file)[0]
        notes = [f"warning: {path}: {each}" for each in _oddities(found)]
        voxel, unit = _of_ome(file.ome_metadata) if file.ome_metadata else _of_imagej(file, found)
        if unit and voxel is None:
            notes.append(f"warning: {path}: says {unit}; its voxels are taken as cubes, --voxel says more")
            unit = ""
    return TiffFacts(voxel, unit, tuple(notes))


def _series(file: TiffFile) -> list[TiffPageSeries]:
    """The images of a file, but for small ones that are previews of others."""
    whole = [series for series in file.series if not getattr(series.keyframe, "is_reduced", False)]
    return whole or list(file.series)


def _oddities(series: TiffPageSeries) -> Iterator[str]:
    """What of an image is not as it seems."""
    page: Any = series.keyframe
    compression = str(getattr(page.compression, "name", ""))
    if any(each in compression for each in LOSSY):
        yield f"compression {compression} may have changed values: labels should be saved without losses"
    if getattr(page.photometric, "name", "") == "MINISWHITE":
        yield "0 is white in it: values are taken as they are stored"
    turned = page.tags.get("Orientation")
    if turned is not None and turned.value not in (0, 1):
        yield f"its rows or columns are stored in another order ({turned.value!s}): they are taken as stored"
    axes = series.axes.replace("S", "")
    if len(axes) == 3 and axes[0] in "CT" and series.shape[0] > 1:
        yield f"its {series.shape[0]} {LETTERS[axes[0]]} are taken as planes along z"


# --- values


def _has_alpha(series: TiffPageSeries) -> bool:
    """Whether the last of the samples of a pixel is its opacity."""
    extra = tuple(getattr(series.keyframe, "extrasamples", ()) or ())
    return bool(extra) and int(extra[-1]) in (1, 2)


def _planes(values: np.ndarray, axes: str) -> np.ndarray:
    """Values without axes of length 1 but for the last three. Raises Refusal for more axes."""
    while values.ndim > 2 and values.shape[0] == 1:
        values, axes = values[0], axes[1:]
    for place in range(len(axes) - 3, -1, -1):
        if values.ndim > 3 and values.shape[place] == 1:
            values, axes = np.squeeze(values, place), axes[:place] + axes[place + 1 :]
    if values.ndim > 3:
        named = zip(values.shape, axes, strict=True)
        found = ", ".join(f"{size} {LETTERS.get(axis, 'images')}" for size, axis in named)
        raise Refusal(f"planes of one channel and one time were expected, found {found}: save one of them")
    return values


def _by_pillow(path: Path, file: TiffFile) -> list[np.ndarray]:
    """The images of a file by Pillow. Raises Refusal if it cannot read them either."""
    page: Any = file.pages[0]
    try:
        with Image.open(path, formats=("TIFF",)) as image:
            pages = [np.asarray(each) for each in ImageSequence.Iterator(image)]
    except Exception as error:  # codecs raise nearly every kind there is
        named = getattr(page.compression, "name", page.compression)
        raise Refusal(f"compression {named} cannot be read ({error}): {NEEDS}") from None
    if getattr(page.photometric, "name", "") == "MINISWHITE":  # Pillow has turned white into its greatest value
        pages = [~each if each.dtype == bool else np.iinfo(each.dtype).max - each for each in pages]
    found = _series(file)
    if len(found) == len(pages):
        return pages
    if len(found) == 1 and np.stack(pages).size == int(np.prod(found[0].shape)):
        return [np.stack(pages)]
    raise Refusal(f"pages of a stack were expected, found {len(pages)} in {len(found)} images: {NEEDS}")


# --- voxels


def _of_imagej(file: TiffFile, series: TiffPageSeries) -> tuple[Voxel | None, str]:
    """The edges of a voxel and their unit, as ImageJ writes them; in place of edges that are not known what is said of
    pixels, if they are no squares or have a unit."""
    told, tags = file.imagej_metadata or {}, getattr(file.pages[0], "tags", {})
    spacing, unit = float(told.get("spacing") or 0.0), _unit(str(told.get("unit") or ""))
    x, y = (_per_pixel(tags, name) for name in ("XResolution", "YResolution"))
    if not (x > 0 and y > 0):
        return None, ""
    if spacing > 0:
        return (x, y, spacing), unit
    if unit not in ("", "pixel", "inch") and len(series.axes.replace("S", "")) == 2:
        return (x, y, x), unit  # of one plane no edge along z matters
    if unit not in ("", "pixel", "inch"):
        return None, f"pixels of {x:g} x {y:g} {unit}, and nothing of z"
    return None, f"pixels of {x:g} x {y:g}" if abs(x - y) > 1e-3 * x else ""


def _per_pixel(tags: Any, name: str) -> float:
    """The length of a pixel, 0 if the file has none."""
    tag = tags.get(name)
    pixels, length = tag.value if tag is not None else (0, 1)
    return length / pixels if pixels > 0 else 0.0


def _of_ome(text: str) -> tuple[Voxel | None, str]:
    """The edges of a voxel in OME's metadata, in the unit of x."""
    found = [re.search(rf'PhysicalSize{axis}="([0-9.eE+-]+)"', text) for axis in "XYZ"]
    units = [re.search(rf'PhysicalSize{axis}Unit="([^"]*)"', text) for axis in "XYZ"]
    names = [_unit(each[1]) if each else "um" for each in units]
    edges = [float(each[1]) if each else 0.0 for each in found]
    if not edges[2] and 'SizeZ="1"' in text:
        edges[2], names[2] = edges[0], names[0]
    if not any(edges):
        return None, ""
    scales = [METRES.get(name, 0.0) for name in names]
    if min(edges) > 0 and len(set(names)) == 1:
        return (edges[0], edges[1], edges[2]), names[0]
    if min(edges) > 0 and min(scales) > 0:
        x, y, z = (float(f"{edge * scale / scales[0]:.12g}") for edge, scale in zip(edges, scales, strict=True))
        return (x, y, z), names[0]
    return None, "voxels of " + " x ".join(
        f"{edge:g} {name}" if edge else "?" for edge, name in zip(edges, names, strict=True)
    )


def _unit(text: str) -> str:
    """A unit in ASCII."""
    return "um" if text in ("micron", "microns") else re.sub(r"\\u00B5|[µμ]", "u", text)


# --- files


class _Kept(logging.Handler):
    """What tifffile logs, in place of the terminal."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told = list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(re.sub(r"^<[^>]*> ", "", record.getMessage()))


@contextmanager
def _opened(path: Path) -> Iterator[tuple[TiffFile, list[str]]]:
    """A file, of which no others are opened; and what tifffile logs of it. Raises Refusal without tifffile."""
    try:
        import tifffile
    except ImportError:
        raise Refusal("TIFF files need tifffile: pip install 'heatsim[images]'") from None
    kept, logger = _Kept(), logging.getLogger("tifffile")
    spread, logger.propagate = logger.propagate, False
    others, logger.handlers = logger.handlers, [kept]
    try:
        with tifffile.TiffFile(path, _multifile=False) as file:
            yield file, kept.told
    finally:
        logger.handlers, logger.propagate = others, spread
