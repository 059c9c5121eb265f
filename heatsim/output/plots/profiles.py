"""Pictures of a field along a line: the curve, and the same values in colour beneath it."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from heatsim.output.plots.pages import Margins, Page, PlaneStyle, label_axes, space_ticks
from heatsim.output.plots.units import length_unit, value_label

_WIDTH, _HEIGHT = 6.4, 3.2  # in
_STRIP, _GAP = 0.16, 0.1  # in, height of the colour strip and the gap above it
_MARGINS = Margins(left=0.95, bottom=0.62 + _STRIP + _GAP)


def draw_profile(
    path: Path,
    values: np.ndarray,
    extent: tuple[float, float],
    style: PlaneStyle,
    *,
    along: int = 0,
    faces: np.ndarray | None = None,
) -> None:
    """Draw cell values (n,) between the faces `extent` (m) of an axis into the PNG file `path`.

    `along` is 0 or 1 for the horizontal or vertical axis of the style's labels; `faces` (n + 1,) are those of unequal
    cells, m. The vertical axis shows a little more than the limits of the colour scale. Raises OSError.
    """
    limits = style.limits_of(values)
    page = Page((_WIDTH, _HEIGHT), _MARGINS, style.title, style.subtitle, style.theme)
    axes = page.add_axes()
    _draw_curve(axes, _centres(extent, len(values), faces), values, limits, style)
    axes.set_xlim(*extent)
    strip = page.add_axes(bottom=-_GAP - _STRIP, height=_STRIP)
    _draw_strip(strip, values, extent, faces, style)

    scale, symbol = length_unit(extent[1] - extent[0])
    for axis in (axes.xaxis, strip.xaxis):
        space_ticks(axis, _WIDTH, 0.75, scale)
    space_ticks(axes.yaxis, _HEIGHT, 0.45)
    label_axes(axes, "", value_label(style.quantity, style.unit), style.theme.ink)
    label_axes(strip, f"{style.labels[along]} ({symbol})", "", style.theme.ink)
    page.save(path, style.dpi)


def _centres(extent: tuple[float, float], count: int, faces: np.ndarray | None) -> np.ndarray:
    """The places of the cells, m."""
    start, end = extent
    if faces is None:
        return start + (np.arange(count) + 0.5) * ((end - start) / count)
    return np.asarray(0.5 * (faces[:-1] + faces[1:]))


def _draw_curve(
    axes: Axes, centres: np.ndarray, values: np.ndarray, limits: tuple[float, float], style: PlaneStyle
) -> None:
    low, high = limits
    axes.plot(centres, values, color=style.theme.curves[0], lw=1.8, marker="o" if len(values) <= 40 else "", ms=3.5)
    for level in style.levels:
        axes.axhline(level, color=style.theme.mark, lw=1.2)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    axes.grid(color=style.theme.faint, alpha=0.2, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", labelbottom=False, length=0)


def _draw_strip(
    strip: Axes,
    values: np.ndarray,
    extent: tuple[float, float],
    faces: np.ndarray | None,
    style: PlaneStyle,
) -> None:
    """The values in colour."""
    low, high = style.limits_of(values)
    colours = mpl.colormaps[style.colours].with_extremes(bad=style.theme.void)
    box = (*extent, 0.0, 1.0)
    if faces is None:
        strip.imshow(values[np.newaxis], extent=box, aspect="auto", cmap=colours, vmin=low, vmax=high)
    else:
        strip.pcolorfast(faces, np.array(box[2:]), values[np.newaxis], cmap=colours, vmin=low, vmax=high)
        strip.set_xlim(*extent)
    strip.set_yticks([])
