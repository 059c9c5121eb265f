"""Layers of chip layouts, from GDSII and OASIS files, and the cells of a plane that outlines cover.

Files are read by gdstk, which takes paths and references to other cells as the polygons that they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatsim.errors import InputFileError

MAX_BYTES, MAX_POLYGONS = 2**30, 500_000
MAX_UNITED = 20_000  # polygons of which the area of all together is found
NANOMETRE = 1e-9  # in which it is: gdstk cuts at a thousandth of a unit
GDSII, OASIS = b"\x00\x06\x00\x02", b"%SEMI-OASIS"  # how files begin


class LayerName(NamedTuple):
    """A layer of a file: its number; its datatype, None for all; its cell, None for the one on top."""

    layer: int
    datatype: int | None = None
    cell: str | None = None


def encloses(points: np.ndarray, u: np.ndarray | float, v: np.ndarray | float) -> np.ndarray:
    """Whether an outline with these corners (n, 2) encloses places an odd number of times: a ray along the first axis
    from a place inside crosses it as often."""
    odd = np.zeros(np.broadcast_shapes(np.shape(u), np.shape(v)), bool)
    for (a, b), (c, d) in zip(points, np.roll(points, -1, axis=0), strict=True):
        if b != d:
            odd ^= ((b <= v) != (d <= v)) & (u < a + (c - a) * (v - b) / (d - b))
    return odd


def covered(outlines: Sequence[np.ndarray], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(ny, nx) whether one of the outlines encloses the points of a plane; x and y: increasing."""
    inside = np.zeros((len(y), len(x)), bool)
    for points in outlines:
        left, right = np.searchsorted(x, (points[:, 0].min(), points[:, 0].max()))
        bottom, top = np.searchsorted(y, (points[:, 1].min(), points[:, 1].max()))
        if left < right and bottom < top:
            inside[bottom:top, left:right] |= encloses(points, x[left:right], y[bottom:top, None])
    return inside


def read_layer(path: Path, name: LayerName) -> tuple[np.ndarray, ...]:
    """The outlines (n, 2) of a layer, m. Raises `InputFileError` for a file that is no layout, and for a layer or cell
    that it has not."""
    try:
        stamp = path.stat().st_mtime_ns
    except OSError:
        raise InputFileError(path, "no such file") from None
    return _read(path, name, stamp)


def layer_area(path: Path, name: LayerName, lower: Sequence[float], upper: Sequence[float]) -> float | None:
    """The area that a layer covers between two corners x, y, m2; None of more than MAX_UNITED polygons. Raises
    `InputFileError` as `read_layer` does."""
    outlines = read_layer(path, name)
    if len(outlines) > MAX_UNITED:
        return None
    import gdstk

    polygons = [gdstk.Polygon(points / NANOMETRE) for points in outlines]
    within = gdstk.rectangle(*((end[0] / NANOMETRE, end[1] / NANOMETRE) for end in (lower, upper)))
    return float(sum(each.area() for each in gdstk.boolean(polygons, within, "and"))) * NANOMETRE**2


@lru_cache(maxsize=16)
def _read(path: Path, name: LayerName, stamp: int) -> tuple[np.ndarray, ...]:
    library = _library(path, stamp)
    cell = _cell(path, library, name.cell)
    datatypes = [kind for layer, kind in library.layers_and_datatypes() if layer == name.layer]
    wanted = [kind for kind in datatypes if name.datatype in (None, kind)]
    found = [polygon.points for kind in wanted for polygon in cell.get_polygons(layer=name.layer, datatype=kind)]
    if not found:
        layers = ", ".join(f"{layer}/{kind}" for layer, kind in sorted(library.layers_and_datatypes())[:24])
        wished = f"{name.layer}/{'*' if name.datatype is None else name.datatype}"
        raise InputFileError(
            path, f"has no polygons of layer {wished} in cell {cell.name!r}; it has {layers or 'none'}"
        )
    if len(found) > MAX_POLYGONS:
        raise InputFileError(path, f"has {len(found)} polygons in this layer; {MAX_POLYGONS} are expected at most")
    return tuple(np.asarray(points) * library.unit for points in found)


@lru_cache(maxsize=2)
def _library(path: Path, stamp: int) -> Any:
    """The library that gdstk reads from a file; cached, since layers are asked for one by one."""
    try:
        import gdstk
    except ImportError:
        raise InputFileError(path, 'layouts need one more package: pip install "heatsim[gds]"') from None
    if path.stat().st_size > MAX_BYTES:
        raise InputFileError(path, f"holds more than the {MAX_BYTES} bytes expected at most")
    with path.open("rb") as file:
        start = file.read(len(OASIS))
    if not (start.startswith(GDSII) or start == OASIS):
        raise InputFileError(path, "is neither GDSII nor OASIS")
    try:
        return gdstk.read_gds(path) if start.startswith(GDSII) else gdstk.read_oas(path)
    except (OSError, RuntimeError, ValueError) as error:
        raise InputFileError(path, f"cannot be read: {error}") from None


def _cell(path: Path, library: Any, name: str | None) -> Any:
    cells = library.top_level() if name is None else [cell for cell in library.cells if cell.name == name]
    if len(cells) == 1:
        return cells[0]
    names = [cell.name for cell in (cells or library.cells)]
    told = f"{', '.join(names[:12])}{', ...' if len(names) > 12 else ''}" or "none"
    wished = "one cell on top" if name is None else f"a cell {name!r}"
    raise InputFileError(path, f"expected {wished}, found {told}{'; say which by cell' if cells else ''}")
