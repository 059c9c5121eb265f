"""Pictures of a plane: the field in colour, cells in true proportion, a colour bar as tall as the plane."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.contour import QuadContourSet
from matplotlib.image import AxesImage, PcolorImage
from matplotlib.patches import Circle
from matplotlib.patheffects import Stroke, withStroke

from heatsim.plots.pages import DPI, INK, Margins, Page, PlaneStyle, label_axes, quiet_about_glyphs, space_ticks
from heatsim.plots.profiles import draw_profile
from heatsim.plots.units import length_unit, unit_symbol, value_label

Extent = tuple[float, float, float, float]  # left, right, bottom, top, m
Faces = tuple[np.ndarray, np.ndarray]  # places of the cell faces along rows and columns, m

_WIDTH, _HEIGHT = 6.4, 5.0  # in, the largest box
_LEAST = 0.45  # in, the shortest side of a box
_GAP, _BAR = 0.14, 0.17  # in, between plane and colour bar, and its width
_MARGINS = Margins(right=_GAP + _BAR + 0.9)
_CONTOUR_CELLS = 16  # an axis; on fewer cells the lines are only corners
_CONTOUR_POINTS = 400  # an axis; finer fields are thinned out, which no eye sees


def draw_slice(
    path: Path,
    field: np.ndarray,
    extent: Extent,
    style: PlaneStyle,
    *,
    faces: Faces | None = None,
    page: SlicePage | None = None,
) -> SlicePage | None:
    """Draw `field` (rows, columns), row 0 at the bottom, into the PNG file `path`.

    `extent` is (left, right, bottom, top) in m; `faces` are those of unequal cells. A plane one cell thick is drawn as
    a profile; one too narrow to show in proportion is stretched, which its label says. Returns the page, unless the
    picture is a profile: as `page` it spares work for the next picture of the same plane, of which only the field and
    the subtitle differ. Raises OSError.
    """
    if 1 in field.shape and field.size > 1:
        along = 0 if field.shape[0] == 1 else 1
        ends = extent[2 * along], extent[2 * along + 1]
        draw_profile(path, field.ravel(), ends, style, along=along, faces=None if faces is None else faces[1 - along])
        return None
    if page is None:
        page = SlicePage(field, extent, style, faces)
    else:
        page.show(field, style.subtitle)
    page.save(path, style.dpi)
    return page


class SlicePage:
    """A page with a plane of more than one cell along both axes. Titles, scales and the colour bar are drawn once."""

    def __init__(self, field: np.ndarray, extent: Extent, style: PlaneStyle, faces: Faces | None = None) -> None:
        width, height = _box_size(extent)
        self.page = Page((width, height), _MARGINS, style.title, style.subtitle)
        self.axes = self.page.add_axes()
        self._faces = faces
        self._image = _draw_cells(self.axes, field, extent, style.limits_of(field), faces)
        self._bar = self.page.figure.colorbar(self._image, cax=self.page.add_axes(left=width + _GAP, width=_BAR))
        _finish_bar(self._bar, style.quantity, style.unit, height)
        self._lattice = _lattice(field, extent, faces)
        self._contours = _add_contours(self.axes, field, self._lattice, self._bar)
        _label_lengths(self.axes, extent, style.labels, (width, height))
        self._background: Any = None  # what does not change, drawn

    def show(self, field: np.ndarray, subtitle: str) -> None:
        """Show another field of the same shape."""
        if isinstance(self._image, PcolorImage) and self._faces is not None:
            self._image.set_data(self._faces[1], self._faces[0], field)
        elif isinstance(self._image, AxesImage):
            self._image.set_data(field)
        self.page.subtitle.set_text(subtitle)
        if self._contours is not None:
            self._contours.remove()
        self._contours = _add_contours(self.axes, field, self._lattice, self._bar)

    def save(self, path: Path, dpi: int) -> None:
        """Draw what has changed over the rest, and write the page to a PNG file. Raises OSError."""
        figure, canvas = self.page.figure, self.page.canvas
        # The frame of the plane lies over its cells, so it is drawn after them.
        contours = () if self._contours is None else (self._contours,)
        changing: tuple[Artist, ...] = (self._image, *contours, *self.axes.spines.values(), self.page.subtitle)
        with quiet_about_glyphs():
            if self._background is None:
                figure.set_dpi(dpi)
                for artist in changing:
                    artist.set_visible(False)
                canvas.draw()
                for artist in changing:
                    artist.set_visible(True)
                self._background = canvas.copy_from_bbox(figure.bbox)
            canvas.restore_region(self._background)
            for artist in changing:
                artist.draw(canvas.get_renderer())
        self.page.write(path)


def _draw_cells(
    axes: Axes, field: np.ndarray, extent: Extent, limits: tuple[float, float], faces: Faces | None
) -> AxesImage | QuadMesh:
    low, high = limits
    colours = mpl.colormaps["inferno"].with_extremes(bad="#c9ced6")
    if faces is None:
        nearest = "nearest"  # which loses no cell, where there is a pixel for each
        return axes.imshow(
            field, colours, origin="lower", extent=extent, aspect="auto", vmin=low, vmax=high, interpolation=nearest
        )
    image = axes.pcolorfast(faces[1], faces[0], field, cmap=colours, vmin=low, vmax=high)
    axes.set(xlim=extent[:2], ylim=extent[2:])
    return image


def pixels(extent: Extent, dpi: int = DPI) -> tuple[int, int]:
    """Rows and columns of pixels in which a plane is drawn; of more cells than that some would not be seen."""
    width, height = _box_size(extent)
    return int(height * dpi), int(width * dpi)


def _box_size(extent: Extent) -> tuple[float, float]:
    """Width and height in inches in which the plane is in proportion, if it can be."""
    left, right, bottom, top = extent
    scale = min(_WIDTH / (right - left), _HEIGHT / (top - bottom))
    return max(_LEAST, scale * (right - left)), max(_LEAST, scale * (top - bottom))


def _label_lengths(
    axes: Axes,
    extent: Extent,
    labels: tuple[str, str],
    box: tuple[float, float],
) -> None:
    """Label both axes in the unit that suits the longer one, or each in its own if the plane is stretched."""
    spans = extent[1] - extent[0], extent[3] - extent[2]
    stretch = (box[1] / spans[1]) / (box[0] / spans[0])
    stretched = not 0.99 < stretch < 1.01
    units = [length_unit(span if stretched else max(spans)) for span in spans]
    texts = [f"{label} ({symbol})" for label, (_, symbol) in zip(labels, units, strict=True)]
    if stretched:  # said along the longer side, where there is room
        short = int(stretch > 1)
        texts[1 - short] += f", {labels[short]} stretched"
    label_axes(axes, texts[0], texts[1])
    for axis, length, (scale, _) in zip((axes.xaxis, axes.yaxis), box, units, strict=True):
        space_ticks(axis, length, 0.75 if length > 2 else 0.45, scale)


def _finish_bar(bar: Colorbar, quantity: str, unit: str, height: float) -> None:
    bar.outline.set_visible(False)
    space_ticks(bar.ax.yaxis, height, 0.45)
    if height >= 1.6:
        bar.ax.set_ylabel(value_label(quantity, unit), size=10, color=INK, labelpad=8)
    else:  # no room for the text along the bar
        bar.ax.set_title(unit_symbol(unit), size=9, color=INK, loc="left", pad=5)


def _add_contours(
    axes: Axes, field: np.ndarray, lattice: tuple[np.ndarray, np.ndarray], bar: Colorbar
) -> QuadContourSet | None:
    """Draw thin lines of equal value at the ticks of the colour bar, light on dark and dark on light."""
    finite = field[np.isfinite(field)]
    if finite.size == 0 or min(field.shape) < _CONTOUR_CELLS:
        return None
    levels = [tick for tick in bar.get_ticks() if finite.min() < tick < finite.max()]
    if not levels:
        return None
    thin = tuple(slice(None, None, -(-count // _CONTOUR_POINTS)) for count in field.shape)
    # Edge values are repeated on the faces, so that lines run up to them.
    values = np.pad(field, 1, mode="edge")[thin]
    y, x = (places[part] for places, part in zip(lattice, thin, strict=True))
    colours = [(1, 1, 1, 0.45) if bar.norm(level) < 0.6 else (0, 0, 0, 0.4) for level in levels]
    return axes.contour(x, y, values, levels=levels, colors=colours, linewidths=0.6)


def _lattice(field: np.ndarray, extent: Extent, faces: Faces | None) -> tuple[np.ndarray, np.ndarray]:
    """Cell centres between the end faces, along rows and columns."""
    if faces is None:
        return _with_faces(extent[2], extent[3], field.shape[0]), _with_faces(extent[0], extent[1], field.shape[1])
    vertical, horizontal = (np.concatenate([f[:1], 0.5 * (f[:-1] + f[1:]), f[-1:]]) for f in faces)
    return vertical, horizontal


def _with_faces(low: float, high: float, count: int) -> np.ndarray:
    """Cell centres between the two end faces, (count + 2,)."""
    centres = low + (np.arange(count) + 0.5) * ((high - low) / count)
    return np.concatenate([[low], centres, [high]])


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
    plane = SlicePage(field, extent, style)
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
