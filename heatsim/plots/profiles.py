"""Pictures of a field along a line: the curve, and the same values in colour beneath it."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from heatsim.plots.pages import FAINT, Margins, Page, label_axes, space_ticks
from heatsim.plots.units import length_unit, value_label, widen

_WIDTH, _HEIGHT = 6.4, 3.2  # in
_STRIP, _GAP = 0.16, 0.1  # in, height of the colour strip and the gap above it
_MARGINS = Margins(left=0.95, bottom=0.62 + _STRIP + _GAP)
_CURVE = "#b5343c"


def draw_profile(
    path: Path,
    values: np.ndarray,
    extent: tuple[float, float],
    *,
    label: str,
    unit: str,
    limits: tuple[float, float],
    title: str,
    subtitle: str = "",
    quantity: str = "Temperature",
    dpi: int = 150,
    faces: np.ndarray | None = None,
) -> None:
    """Draw cell values (n,) between the faces `extent` (m) of the axis `label` into the PNG file `path`.

    `faces` (n + 1,) are those of unequal cells, m. `limits` are the values at the ends of the colour scale; the
    vertical axis shows a little more. Raises OSError.
    """
    low, high = widen(limits)
    start, end = extent
    count = len(values)
    if faces is None:
        centres = start + (np.arange(count) + 0.5) * ((end - start) / count)
    else:
        centres = 0.5 * (faces[:-1] + faces[1:])
    page = Page((_WIDTH, _HEIGHT), _MARGINS, title, subtitle)

    axes = page.add_axes()
    axes.plot(centres, values, color=_CURVE, lw=1.8, marker="o" if count <= 40 else "", ms=3.5)
    axes.set_xlim(start, end)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    axes.grid(color=FAINT, alpha=0.2, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", labelbottom=False, length=0)

    strip = page.add_axes(bottom=-_GAP - _STRIP, height=_STRIP)
    colours = mpl.colormaps["inferno"].with_extremes(bad="#c9ced6")
    box = (start, end, 0.0, 1.0)
    if faces is None:
        strip.imshow(values[np.newaxis], extent=box, aspect="auto", cmap=colours, vmin=low, vmax=high)
    else:
        strip.pcolorfast(faces, np.array(box[2:]), values[np.newaxis], cmap=colours, vmin=low, vmax=high)
        strip.set_xlim(start, end)
    strip.set_yticks([])

    scale, symbol = length_unit(end - start)
    for axis in (axes.xaxis, strip.xaxis):
        space_ticks(axis, _WIDTH, 0.75, scale)
    space_ticks(axes.yaxis, _HEIGHT, 0.45)
    label_axes(axes, "", value_label(quantity, unit))
    label_axes(strip, f"{label} ({symbol})", "")
    page.save(path, dpi)
