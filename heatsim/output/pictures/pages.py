"""A figure laid out in inches around one box, so that no shape of plate makes an empty or a crowded page."""

from __future__ import annotations

import struct
import textwrap
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from heatsim.output.pictures.units import widen

DPI = 150
FORMATS = ("png", "svg", "pdf")

INK = "#22262b"
FAINT = "#6b7280"


@dataclass(frozen=True)
class Theme:
    """The colours of a page beside those of the values: paper, text, frames, cells without values, outlines of
    materials, and a line of one value among contours."""

    paper: str = "white"
    ink: str = INK
    faint: str = FAINT
    void: str = "#c9ced6"
    outline: str = "#8fa6bd"
    mark: str = "#2fb7ff"
    curves: tuple[str, ...] = ("#b5343c", "#0072b2", "#009e73", "#e69f00", "#7a5195", "#56b4e9", "#d55e00", "#444444")


LIGHT = Theme()
DARK = Theme(
    paper="#15181d",
    ink="#e6e9ee",
    faint="#98a2b0",
    void="#3b424d",
    outline="#8fa6bd",
    curves=("#ff7b72", "#58a6ff", "#3fb950", "#e3b341", "#c297ff", "#79d3ff", "#ffa657", "#c9d1d9"),
)
THEMES = {"light": LIGHT, "dark": DARK}

_LEAST_WIDTH = 3.8  # in, of a page, so that its title has room
_LETTERS_PER_INCH = 10  # of a bold title, on the safe side
_EDGE = 0.22  # in, around the title
_TITLE_LINE = 0.24  # in
_SUBTITLE_LINE = 0.22  # in


@dataclass(frozen=True)
class Margins:
    """Room in inches around the box, for ticks and labels."""

    left: float = 0.85
    right: float = 0.3
    bottom: float = 0.62
    top: float = 0.2


@dataclass(frozen=True)
class PlaneStyle:
    """What a picture of a plane, or of a line in it, says and shows beside the values.

    labels: names of the horizontal and the vertical axis, such as ("x", "y"); unit: of the values; limits: the values
    at the ends of the colour scale; None: the least and the greatest; quantity: of the values, for the scale; colours:
    the name of a colour map; contours: whether there are lines at the ticks of the scale; levels: values with lines of
    their own; labelled: whether lines have their value beside them.
    """

    labels: tuple[str, str]
    unit: str
    title: str
    subtitle: str = ""
    limits: tuple[float, float] | None = None
    quantity: str = "Temperature"
    dpi: int = DPI
    theme: Theme = LIGHT
    colours: str = "inferno"
    contours: bool = True
    levels: tuple[float, ...] = ()
    labelled: bool = True

    def limits_of(self, values: np.ndarray) -> tuple[float, float]:
        """The ends of the colour scale, spread where they are nearly equal; values that are not finite do not count."""
        if self.limits is not None:
            return widen(self.limits)
        finite = values[np.isfinite(values)]
        return widen((float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0))


class Page:
    """A page with a title at the top left, and below it a box of (width, height) inches for the axes.

    The figure belongs to no window and to no pyplot, so any thread may draw it.
    """

    def __init__(
        self, box: tuple[float, float], margins: Margins, title: str, subtitle: str, theme: Theme = LIGHT
    ) -> None:
        self.theme = theme
        taken = margins.left + box[0] + margins.right
        width = max(_LEAST_WIDTH, taken)
        lines = textwrap.wrap(title, int((width - 2 * _EDGE) * _LETTERS_PER_INCH))
        block = _EDGE + _TITLE_LINE * len(lines) + _SUBTITLE_LINE * bool(subtitle)
        self._box = box
        self._corner = margins.left + (width - taken) / 2, margins.bottom
        self._size = width, margins.bottom + box[1] + margins.top + block
        self.figure = Figure(figsize=self._size, facecolor=theme.paper)
        self.canvas = FigureCanvasAgg(self.figure)
        self.subtitle = self._write_title(lines, subtitle)

    def add_axes(
        self, left: float = 0.0, bottom: float = 0.0, width: float | None = None, height: float | None = None
    ) -> Axes:
        """Add axes at an offset in inches from the box's lower left corner; of the box's size if not told."""
        w = self._box[0] if width is None else width
        h = self._box[1] if height is None else height
        across, up = self._size
        x, y = self._corner[0] + left, self._corner[1] + bottom
        axes = self.figure.add_axes((x / across, y / up, w / across, h / up))
        axes.set_facecolor(self.theme.paper)
        axes.tick_params(labelsize=9, color=self.theme.faint, labelcolor=self.theme.ink, width=0.7, length=3.5)
        for spine in axes.spines.values():
            spine.set(color=self.theme.faint, linewidth=0.7)
        return axes

    def save(self, path: Path, dpi: int) -> None:
        """Draw the page and write it to a PNG, SVG or PDF file, as its name says. Raises OSError."""
        self.figure.set_dpi(dpi)
        if is_vector(path):
            self.write(path)
            return
        with quiet_about_glyphs():
            self.canvas.draw()
        self.write(path)

    def write(self, path: Path) -> None:
        """Write the page under a temporary name, then rename it: nobody meets half a picture. A PNG file shows what is
        drawn already; others are drawn now. Raises OSError."""
        temporary = path.with_name(f".{path.name}.tmp")
        try:
            if is_vector(path):
                kind = path.suffix[1:].lower()
                undated = {"Date" if kind == "svg" else "CreationDate": None}  # equal content, equal bytes
                with quiet_about_glyphs(), mpl.rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}):
                    self.figure.savefig(temporary, format=kind, facecolor=self.theme.paper, metadata=undated)
            else:
                temporary.write_bytes(png(self.pixels(), self.figure.dpi))
            temporary.replace(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        finally:
            temporary.unlink(missing_ok=True)

    def pixels(self) -> np.ndarray:
        """What is drawn, (rows, columns, 3) uint8: red, green and blue."""
        return np.asarray(self.canvas.buffer_rgba())[:, :, :3]

    def _write_title(self, lines: list[str], subtitle: str) -> Text:
        y = self._size[1] - _EDGE
        for line in lines:
            self._write(y, line, size=12, weight="bold", color=self.theme.ink)
            y -= _TITLE_LINE
        return self._write(y, subtitle, size=10, color=self.theme.faint)

    def _write(self, y: float, text: str, **style: Any) -> Text:
        # The text is a user's, and a "$" in it no formula.
        x = _EDGE / self._size[0]
        return self.figure.text(x, y / self._size[1], text, va="top", parse_math=False, **style)


def is_vector(path: Path) -> bool:
    """Whether a picture of this name is drawn by lines and not by pixels."""
    return path.suffix.lower() in (".svg", ".pdf")


@contextmanager
def quiet_about_glyphs() -> Iterator[None]:
    """Draw a title in a script that the font lacks without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def png(pixels: np.ndarray, dpi: float) -> bytes:
    """The PNG file of pixels (rows, columns, 3) of red, green and blue, 8 bits each; see https://www.w3.org/TR/png.

    Every row is the difference to the row above (filter 2), and compressed little: 7 ms for a million pixels, where
    Pillow takes 26 ms at its fastest (a quarter of the 80 ms that a frame of quick_start would take), in larger files.
    """
    rows, columns, _ = pixels.shape
    lines = np.empty((rows, 1 + 3 * columns), np.uint8)
    lines[:, 0] = 2
    flat = pixels.reshape(rows, -1)
    lines[0, 1:] = flat[0]
    np.subtract(flat[1:], flat[:-1], out=lines[1:, 1:])
    pixels_a_metre = round(dpi / 0.0254)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"pHYs", struct.pack(">IIB", pixels_a_metre, pixels_a_metre, 1)),
        (b"IDAT", zlib.compress(lines.tobytes(), 1)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def label_axes(axes: Axes, x: str, y: str, ink: str = INK) -> None:
    """Label both axes."""
    axes.set_xlabel(x, size=10, color=ink, parse_math=False)
    axes.set_ylabel(y, size=10, color=ink, parse_math=False)


def space_ticks(axis: Axis, length: float, spacing: float, unit: float = 1.0) -> None:
    """Put ticks about `spacing` inches apart on an axis `length` inches long, at round numbers of `unit`."""
    low, high = (end / unit for end in axis.get_view_interval())
    locator = MaxNLocator(nbins=max(2, int(length / spacing)), steps=[1, 2, 2.5, 5, 10])
    slack = 1e-9 * (high - low)  # 0.6 is not lost for being 0.6000000000000001
    ticks = [tick for tick in locator.tick_values(low, high) if low - slack <= tick <= high + slack]
    axis.set_ticks([tick * unit for tick in ticks], labels=_numbers(ticks))


def _numbers(ticks: list[float]) -> list[str]:
    """Write ticks with the digits that tell neighbours apart, and no more: 0, 2.5, 5 -> 0.0, 2.5, 5.0."""
    for digits in range(13):
        texts = [f"{tick + 0.0:.{digits}f}" for tick in ticks]
        if all(abs(float(text) - tick) < 1e-9 * max(map(abs, ticks)) for text, tick in zip(texts, ticks, strict=True)):
            return texts
    return [f"{tick:g}" for tick in ticks]


def colour_table(count: int, colours: str = PlaneStyle.colours) -> list[str]:
    """Colours of a scale from its lower to its upper end, as "#rrggbb"."""
    shades = mpl.colormaps[colours](np.linspace(0.0, 1.0, count))
    return [mpl.colors.to_hex(shade) for shade in shades]
