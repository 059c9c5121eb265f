"""Pictures of a plane with its hot spots: circles of their size, numbered as in the table, and how far they rise."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.patheffects import Stroke, withStroke

from heatsim.plots.slices import DPI, Extent, slice_page

_MARK, _SHADE = "#5fe0ff", "#101418"
_LEAST_RADIUS = 0.012  # of the longer side of the plane, so that a circle is seen
_MOST_NUMBERS, _MOST_RISES = 40, 12  # what fits beside the circles


class Mark(NamedTuple):
    """A spot to be drawn: place and scale in m, rise in K."""

    x: float
    y: float
    scale: float
    rise: float


def draw_hotspots(
    path: Path,
    field: np.ndarray,
    extent: Extent,
    spots: Sequence[Mark],
    *,
    labels: tuple[str, str],
    unit: str,
    title: str,
    subtitle: str = "",
    dpi: int = DPI,
) -> None:
    """Draw `field` (rows, columns) as `draw_slice` does, and round each spot a circle of sqrt(2) its scale.

    There the Laplacian of a Gaussian spot is zero: outside, the temperature is level again. Spots are numbered in the
    order given, and where they are few their rises stand beside them. Raises OSError.
    """
    limits = float(field.min()), float(field.max())
    page, axes = slice_page(field, extent, labels, unit, limits, title, subtitle)
    least = _LEAST_RADIUS * max(extent[1] - extent[0], extent[3] - extent[2])
    for number, spot in enumerate(spots, 1):
        radius = max(least, sqrt(2.0) * spot.scale)
        circle = Circle((spot.x, spot.y), radius, fill=False, ec=_MARK, lw=1.3, zorder=3)
        circle.set_path_effects([Stroke(linewidth=2.8, foreground=_SHADE, alpha=0.55), withStroke(linewidth=0)])
        axes.add_patch(circle)
        if number <= _MOST_NUMBERS:
            rise = f"  +{spot.rise:.3g} K" if len(spots) <= _MOST_RISES else ""
            _write(axes, extent, spot, radius, f"{number}{rise}")
    axes.set(xlim=extent[:2], ylim=extent[2:])
    page.save(path, dpi)


def _write(axes: Axes, extent: Extent, spot: Mark, radius: float, text: str) -> None:
    """Beside the circle, on the side where there is more room; below its middle if above it would leave the plane."""
    side = 1 if spot.x < 0.5 * (extent[0] + extent[1]) else -1
    level = 1 if spot.y + 1.2 * radius < extent[3] else -1
    written = axes.annotate(
        text,
        (spot.x + side * 0.75 * radius, spot.y + level * 0.75 * radius),
        xytext=(side * 3, level * 2),
        textcoords="offset points",
        ha="left" if side > 0 else "right",
        va="bottom" if level > 0 else "top",
        size=8.5,
        color=_MARK,
        annotation_clip=True,
        zorder=4,
    )
    written.set_path_effects([withStroke(linewidth=2.2, foreground=_SHADE, alpha=0.75)])
