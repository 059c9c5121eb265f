"""Pictures of a plane: the field in colour, cells in true proportion, a colour bar as tall as the plane; of a line: its
curve, and the same values in colour beneath; of a plane with hot spots: a circle round each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.patches import Circle
from matplotlib.patheffects import Stroke, withStroke

from heatsim.output.pictures.pages import (
    DPI,
    Margins,
    Page,
    PlaneStyle,
    Theme,
    label_axes,
    quiet_about_glyphs,
    space_ticks,
)
from heatsim.output.pictures.plane_view import Arrows, Extent, Faces, PlaneMaterials, PlaneView
from heatsim.output.pictures.units import length_unit, unit_symbol, value_label

_WIDTH, _HEIGHT = 6.4, 5.0  # in, the largest box
_LEAST = 0.45  # in, the shortest side of a box
_GAP, _BAR = 0.14, 0.17  # in, between plane and colour bar, and its width
_MARGINS = Margins(right=_GAP + _BAR + 0.9)


class PlaneOverlay(NamedTuple):
    """What a picture shows beside the field: the materials of the cells, and arrows of a vector."""

    materials: PlaneMaterials | None = None
    arrows: Arrows | None = None


def draw_slice(
    path: Path,
    field: np.ndarray,
    extent: Extent,
    style: PlaneStyle,
    *,
    faces: Faces | None = None,
    overlay: PlaneOverlay = PlaneOverlay(),  # noqa: B008 (it does not change)
    page: SlicePage | None = None,
) -> SlicePage | None:
    """Draw `field` (rows, columns), row 0 at the bottom, into the PNG, SVG or PDF file `path`.

    `extent` is (left, right, bottom, top) in m; `faces` are those of unequal cells. A plane one cell thick is drawn as
    a profile; one too narrow to show in proportion is stretched, which its label says. Returns the page, unless the
    picture is a profile: as `page` it spares work for the next picture of the same plane, of which only the field, the
    arrows and the subtitle differ. Raises OSError.
    """
    if 1 in field.shape and field.size > 1:
        along = 0 if field.shape[0] == 1 else 1
        ends = extent[2 * along], extent[2 * along + 1]
        values = field if overlay.materials is None else np.where(overlay.materials.void, np.nan, field)
        draw_profile(path, values.ravel(), ends, style, along=along, faces=None if faces is None else faces[1 - along])
        return None
    if page is None:
        page = SlicePage(field, extent, style, faces, overlay)
    else:
        page.show(field, style.subtitle, overlay.arrows)
    page.save(path, style.dpi)
    return page


class SlicePage:
    """A page with a plane of more than one cell along both axes. Titles, scales and the colour bar are drawn once."""

    def __init__(
        self,
        field: np.ndarray,
        extent: Extent,
        style: PlaneStyle,
        faces: Faces | None = None,
        overlay: PlaneOverlay = PlaneOverlay(),  # noqa: B008
    ) -> None:
        width, height = box_size(extent)
        self.page = Page((width, height), _MARGINS, style.title, style.subtitle, style.theme)
        self.page.figure.set_dpi(style.dpi)  # labels of isotherms are placed by pixels
        self.axes = self.page.add_axes()
        self._view = PlaneView(self.axes, field, extent, style, faces, overlay.materials)
        self._bar = add_bar(self.page, self._view, (width + _GAP, 0.0, _BAR, height), style)
        label_lengths(self.axes, extent, style.labels, (width, height), style.theme)
        self._view.show(field, self._bar.get_ticks().tolist(), overlay.arrows)
        self._background: Any = None  # what does not change, drawn

    def show(self, field: np.ndarray, subtitle: str, arrows: Arrows | None = None) -> None:
        """Show another field of the same shape."""
        self.page.subtitle.set_text(subtitle)
        self._view.show(field, self._bar.get_ticks().tolist(), arrows)

    def save(self, path: Path, dpi: int) -> None:
        """Draw what has changed over the rest, and write the page to a file. Raises OSError."""
        self.draw(dpi)
        self.page.write(path)

    def draw(self, dpi: int) -> np.ndarray:
        """Draw what has changed over the rest; returns the pixels, (rows, columns, 3) uint8."""
        figure, canvas = self.page.figure, self.page.canvas
        if self._background is None:
            figure.set_dpi(dpi)
        self._view.drop_crowded_labels(canvas.get_renderer())
        changing = (*self._view.changing, self.page.subtitle)
        with quiet_about_glyphs():
            if self._background is None:
                for artist in changing:
                    artist.set_visible(False)
                canvas.draw()
                for artist in changing:
                    artist.set_visible(True)
                self._background = canvas.copy_from_bbox(figure.bbox)
            canvas.restore_region(self._background)
            for artist in changing:
                artist.draw(canvas.get_renderer())
        return self.page.pixels()


def pixels(extent: Extent, dpi: int = DPI) -> tuple[int, int]:
    """Rows and columns of pixels in which a plane is drawn; of more cells than that some would not be seen."""
    width, height = box_size(extent)
    return int(height * dpi), int(width * dpi)


def box_size(extent: Extent, largest: tuple[float, float] = (_WIDTH, _HEIGHT)) -> tuple[float, float]:
    """Width and height in inches in which the plane is in proportion, if it can be."""
    left, right, bottom, top = extent
    scale = min(largest[0] / (right - left), largest[1] / (top - bottom))
    return max(_LEAST, scale * (right - left)), max(_LEAST, scale * (top - bottom))


def label_lengths(axes: Axes, extent: Extent, labels: tuple[str, str], box: tuple[float, float], theme: Theme) -> None:
    """Label both axes in the unit that suits the longer one, or each in its own if the plane is stretched."""
    spans = extent[1] - extent[0], extent[3] - extent[2]
    stretch = (box[1] / spans[1]) / (box[0] / spans[0])
    stretched = not 0.99 < stretch < 1.01
    units = [length_unit(span if stretched else max(spans)) for span in spans]
    texts = [f"{label} ({symbol})" for label, (_, symbol) in zip(labels, units, strict=True)]
    if stretched:  # said along the longer side, where there is room
        short = int(stretch > 1)
        texts[1 - short] += f", {labels[short]} stretched"
    label_axes(axes, texts[0], texts[1], theme.ink)
    for axis, length, (scale, _) in zip((axes.xaxis, axes.yaxis), box, units, strict=True):
        space_ticks(axis, length, 0.75 if length > 2 else 0.45, scale)


def add_bar(page: Page, view: PlaneView, box: tuple[float, float, float, float], style: PlaneStyle) -> Colorbar:
    """Add the colour bar of a view, in a box (left, bottom, width, height) in inches."""
    left, bottom, width, height = box
    bar = page.figure.colorbar(view.image, cax=page.add_axes(left, bottom, width, height))
    bar.outline.set_visible(False)
    space_ticks(bar.ax.yaxis, height, 0.45)
    if height >= 1.6:
        bar.ax.set_ylabel(value_label(style.quantity, style.unit), size=10, color=style.theme.ink, labelpad=8)
    else:  # no room for the text along the bar
        bar.ax.set_title(unit_symbol(style.unit), size=9, color=style.theme.ink, loc="left", pad=5)
    return bar


# Pictures of a plane with its hot spots: circles of their size, numbered as in the table, and how far they rise.

_MARK, _SHADE = "#5fe0ff", "#101418"
_LEAST_RADIUS = 0.012  # of the longer side of the plane, so that a circle is seen
_MOST_NUMBERS, _MOST_RISES = 40, 12  # what fits beside the circles


class HotspotMark(NamedTuple):
    """A spot to be drawn: place and scale in m, rise in K."""

    x: float
    y: float
    scale: float
    rise: float


def draw_hotspots(
    path: Path, field: np.ndarray, extent: Extent, spots: Sequence[HotspotMark], style: PlaneStyle
) -> None:
    """Draw `field` (rows, columns) as `draw_slice` does, and round each spot a circle of sqrt(2) its scale.

    There the Laplacian of a Gaussian spot is zero: outside, the temperature is level again. Spots are numbered in the
    order given, and where they are few their rises stand beside them. Raises OSError.
    """
    plane = SlicePage(field, extent, replace(style, labelled=False))  # spots have labels enough
    page, axes = plane.page, plane.axes
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
    page.save(path, style.dpi)


def _write(axes: Axes, extent: Extent, spot: HotspotMark, radius: float, text: str) -> None:
    """Write a text beside a circle, where there is more room; below its middle if it would leave the plane above."""
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


_LINE_WIDTH, _LINE_HEIGHT = 6.4, 3.2  # in
_STRIP, _STRIP_GAP = 0.16, 0.1  # in, height of the colour strip and the gap above it
_LINE_MARGINS = Margins(left=0.95, bottom=0.62 + _STRIP + _STRIP_GAP)


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
    page = Page((_LINE_WIDTH, _LINE_HEIGHT), _LINE_MARGINS, style.title, style.subtitle, style.theme)
    axes = page.add_axes()
    low, high = style.limits_of(values)
    if faces is None:
        centres = extent[0] + (np.arange(len(values)) + 0.5) * ((extent[1] - extent[0]) / len(values))
    else:
        centres = 0.5 * (faces[:-1] + faces[1:])
    axes.plot(centres, values, color=style.theme.curves[0], lw=1.8, marker="o" if len(values) <= 40 else "", ms=3.5)
    for level in style.levels:
        axes.axhline(level, color=style.theme.mark, lw=1.2)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    axes.grid(color=style.theme.faint, alpha=0.2, lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", labelbottom=False, length=0)
    axes.set_xlim(*extent)
    strip = page.add_axes(bottom=-_STRIP_GAP - _STRIP, height=_STRIP)
    _draw_strip(strip, values, extent, faces, style)

    scale, symbol = length_unit(extent[1] - extent[0])
    for axis in (axes.xaxis, strip.xaxis):
        space_ticks(axis, _LINE_WIDTH, 0.75, scale)
    space_ticks(axes.yaxis, _LINE_HEIGHT, 0.45)
    label_axes(axes, "", value_label(style.quantity, style.unit), style.theme.ink)
    label_axes(strip, f"{style.labels[along]} ({symbol})", "", style.theme.ink)
    page.save(path, style.dpi)


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
