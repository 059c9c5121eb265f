"""The page: what a run is, its frames and its probes, put into one HTML file."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from gzip import compress
from html import escape
from math import floor, log10
from pathlib import Path
from typing import Any

import numpy as np

from heatsim.base.atomic import write_atomically
from heatsim.base.grid import AXES
from heatsim.errors import InputFileError, RunFolderError
from heatsim.output.pictures.pages import colour_table
from heatsim.output.pictures.units import axis_symbol, length_unit, time_unit, unit_symbol
from heatsim.output.viewer.encoding import LEVELS
from heatsim.output.viewer.frames import Frame, FrameSource, encode_frames, most_telling
from heatsim.store.tables import read_table

ASSETS = Path(__file__).with_name("assets")
SCRIPTS = ("frames.js", "scales.js", "sections.js", "volume.js", "charts.js", "viewer.js")
MAX_POINTS = 2000  # of a curve
MAX_DIGITS = 9

Tell = Callable[[str], None]


def write_page(path: Path, source: FrameSource, tell: Tell, progress: Callable[[float], None]) -> int:
    """Write the page of a run; returns the number of its frames. Raises OSError; RunFolderError where no snapshot can
    be read."""
    text, count = make_page(source, tell, progress)
    write_atomically(path, text.encode())
    return count


def make_page(source: FrameSource, tell: Tell, progress: Callable[[float], None]) -> tuple[str, int]:
    """The page of a run, and the number of its frames; like `write_page`."""
    frames = encode_frames(source, tell, progress)
    if not frames:
        raise RunFolderError(f"{source.reader.folder.path}: none of its snapshots can be read")
    return compose(describe(source, frames), source, frames), len(frames)


class Embedded:
    """A page inside a notebook, which shows it in a frame of its own."""

    def __init__(self, text: str, height: int) -> None:
        self._text, self._height = text, height

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {self._height}px; border: 0"
        return (
            f'<iframe style="{style}" sandbox="allow-scripts allow-downloads" srcdoc="{escape(self._text)}"></iframe>'
        )


def compose(about: dict[str, Any], source: FrameSource, frames: Sequence[Frame] = ()) -> str:
    """The HTML of a page."""
    materials = source.materials
    data = [_embedded(f"frame-{number}", frame.encoded.data) for number, frame in enumerate(frames)]
    if materials is not None:
        data.append(_embedded("materials", compress(materials.ids.tobytes(), 6, mtime=0)))
    parts = {
        "TITLE": escape(about["title"]),
        "STYLE": (ASSETS / "style.css").read_text(encoding="utf-8"),
        "ABOUT": json.dumps(about).replace("<", "\\u003c"),
        "DATA": "\n".join(data),
        "SCRIPT": "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS),
    }
    text = (ASSETS / "page.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part, 1)
    return text


def describe(source: FrameSource, frames: Sequence[Frame]) -> dict[str, Any]:
    """What the page has to know beside the data of its frames."""
    reader, materials = source.reader, source.materials
    grid, info = reader.grid, reader.require(source.field)
    faces = {axis: source.faces(axis) for axis in AXES}
    round_axis = "y" if grid.coordinates == "cylindrical" else ""  # an angle
    longest = max(float(np.ptp(places)) for axis, places in faces.items() if axis != round_axis)
    last = reader.times[-1] if np.isfinite(reader.times[-1]) else 0.0
    size, length = length_unit(longest)
    sizes = {axis: 1.0 if axis == round_axis else size for axis in AXES}
    seconds, duration = time_unit(last)
    return {
        "title": reader.title or reader.folder.path.resolve().name,
        "field": info.long_name,
        "unit": unit_symbol(info.unit),
        "shape": source.shape,
        "faces": {axis: (places / sizes[axis]).tolist() for axis, places in faces.items()},
        "symbols": [axis_symbol(axis, grid.coordinates) for axis in AXES],
        "cartesian": grid.coordinates == "cartesian",
        "lengths": ["rad" if axis == round_axis else length for axis in AXES],
        "time": {"unit": duration, "seconds": seconds},
        "levels": LEVELS,
        "coarsening": source.coarsening,
        "every": source.every,
        "colours": colour_table(256),
        "materials": None if materials is None else {"names": materials.names, "ambient": materials.ambient},
        "probes": read_curves(reader.folder.probes) if source.field == reader.quantity.name else None,
        "live": False,
        "frames": [about_frame(frame) for frame in frames],
        "opensAt": most_telling([frame.greatest - frame.least for frame in frames]) if frames else 0,
    }


def about_frame(frame: Frame) -> dict[str, Any]:
    """What the page has to know of a frame; its time is None in a steady state."""
    return {
        "time": frame.time if np.isfinite(frame.time) else None,
        "step": frame.step,
        "low": frame.low,
        "high": frame.high,
        "least": frame.least,
        "greatest": frame.greatest,
        "outside": frame.outside,
        "digits": digits_of(frame),
        "fromBefore": frame.encoded.from_before,
    }


def digits_of(frame: Frame) -> int:
    """Digits after the point that a value of a frame is known to."""
    quantum = (frame.high - frame.low) / LEVELS
    return min(MAX_DIGITS, max(0, floor(-log10(quantum)))) if quantum > 0 else 3


def read_curves(path: Path) -> dict[str, Any] | None:
    """The table of the probes, thinned to what a chart shows; None where there is none."""
    try:
        header, rows = read_table(path)
    except InputFileError:
        return None
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < 2:
        return None
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MAX_POINTS)).round().astype(int))]
    names = [name.rpartition(" [")[0] for name in header[1:]]
    return {"names": names, "times": rows[:, 0].tolist(), "values": rows[:, 1:].T.tolist()}


def _embedded(name: str, data: bytes) -> str:
    return f'<script type="application/octet-stream" id="{name}">{b64encode(data).decode()}</script>'
