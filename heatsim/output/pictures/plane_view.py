"""The field in a plane, drawn into axes: cells in colour, isotherms, outlines of materials, arrows of a flux.

Cells of ambients have one grey colour and no isotherms. Where the temperature may jump, at an ambient or a contact, an
isotherm ends: each part of the plane has lines of its own, which are cut off at the part's cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.contour import QuadContourSet
from matplotlib.image import AxesImage, PcolorImage
from matplotlib.path import Path as Outline
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from heatsim.output.pictures.pages import PlaneStyle
from heatsim.output.pictures.units import unit_symbol

Extent = tuple[float, float, float, float]  # left, right, bottom, top, m
Faces = tuple[np.ndarray, np.ndarray]  # places of the cell faces along rows and columns, m
Arrows = tuple[np.ndarray, np.ndarray]  # components along columns and rows, (rows, columns) each

_CONTOUR_CELLS = 3  # an axis; fewer cells have no lines
_PART_CELLS = 6  # of a part; smaller ones have no lines
_CONTOUR_POINTS = 400  # an axis; finer fields are thinned out, which no eye sees
_MAX_PARTS = 24  # of a plane; a foam has thousands, and then lines end at ambients only
_FLAT = 1e-4  # of the colour scale; smaller differences are rounding
_ARROWS = 26  # along the longer side of a plane
_LABEL_SIZE = 7.5
_MARK_HALO = "#0b6fa8"


@dataclass(frozen=True)
class PlaneMaterials:
    """What the cells of a plane are made of, (rows, columns) each.

    ids: numbers of materials, between which an outline is drawn; void: cells without values of their own, of ambients;
    parts: numbers of the parts between which values may jump.
    """

    ids: np.ndarray
    void: np.ndarray
    parts: np.ndarray


class PlaneView:
    """The field (rows, columns), row 0 at the bottom, in axes; another field of the same shape may follow."""

    def __init__(
        self,
        axes: Axes,
        field: np.ndarray,
        extent: Extent,
        style: PlaneStyle,
        faces: Faces | None = None,
        materials: PlaneMaterials | None = None,
    ) -> None:
        self.axes, self.extent, self._style, self._faces = axes, extent, style, faces
        self._materials = materials
        self.limits = style.limits_of(self._visible(field).filled(np.nan))
        self.image = _draw_cells(axes, self._visible(field), extent, self.limits, style, faces)
        self._lattice = _lattice(field, extent, faces)
        self._places = extent_faces(field.shape, extent) if faces is None else faces
        self._outlines = None if materials is None else _draw_outlines(axes, materials.ids, self._places, style)
        self._clips: dict[int, Outline] = {}
        self._lines: list[Artist] = []
        self._texts: list[Text] = []
        self._arrows: Artist | None = None

    @property
    def changing(self) -> tuple[Artist, ...]:
        """The artists that another field changes, in drawing order; the frame of the plane lies over its cells."""
        outlines = () if self._outlines is None else (self._outlines,)
        arrows = () if self._arrows is None else (self._arrows,)
        return (self.image, *self._lines, *outlines, *arrows, *self.axes.spines.values(), *self._texts)

    def show(self, field: np.ndarray, ticks: Sequence[float], arrows: Arrows | None = None) -> None:
        """Show a field, with isotherms at the ticks of the colour scale."""
        visible = self._visible(field)
        if isinstance(self.image, PcolorImage) and self._faces is not None:
            self.image.set_data(self._faces[1], self._faces[0], visible)
        elif isinstance(self.image, AxesImage):
            self.image.set_data(visible)
        for artist in (*self._lines, *([self._arrows] if self._arrows else [])):  # labels go with their lines
            artist.remove()
        self._lines, self._texts, self._arrows = [], [], None
        self._add_contours(visible, ticks)
        if arrows is not None:
            self._arrows = _draw_arrows(self.axes, visible, arrows, self._places, self._style)

    def drop_crowded_labels(self, renderer: RendererBase) -> None:
        """Take away labels of isotherms that leave the plane, or lie over each other or over a part of the void."""
        box = self.axes.get_window_extent(renderer).padded(-3.0)
        kept: list[Text] = []
        for text in self._texts:
            place = text.get_window_extent(renderer)
            inside = box.x0 <= place.x0 and place.x1 <= box.x1 and box.y0 <= place.y0 and place.y1 <= box.y1
            taken = any(place.overlaps(other.get_window_extent(renderer).padded(6.0)) for other in kept)
            if inside and not taken and not self._is_hidden(*text.get_position()):
                kept.append(text)
            else:
                text.set_visible(False)
        self._texts = kept

    def _is_hidden(self, x: float, y: float) -> bool:
        """Whether a place lies in a cell without a value."""
        if self._materials is None:
            return False
        row, column = (
            int(np.clip(np.searchsorted(places, at, side="right") - 1, 0, len(places) - 2))
            for places, at in zip(self._places, (y, x), strict=True)
        )
        return bool(self._materials.void[row, column])

    def _visible(self, field: np.ndarray) -> np.ma.MaskedArray:
        hidden = ~np.isfinite(field)
        return np.ma.masked_array(field, hidden if self._materials is None else hidden | self._materials.void)

    def _add_contours(self, field: np.ma.MaskedArray, ticks: Sequence[float]) -> None:
        if field.count() == 0 or min(field.shape) < _CONTOUR_CELLS:
            return
        low, high = float(field.min()), float(field.max())
        marked = [level for level in sorted(set(self._style.levels)) if low < level < high]
        plain = [tick for tick in ticks if low < tick < high and tick not in marked] if self._style.contours else []
        for part, inside in self._parts(field):
            values = field if inside is None else _dilated(field, inside)
            if inside is not None and part not in self._clips:
                self._clips[part] = cells_outline(inside, self._places)
            for levels, is_mark in ((plain, False), (marked, True)):
                found = self._draw_lines(values, levels, is_mark)
                if found is not None and inside is not None:
                    found.set_clip_path(self._clips[part], self.axes.transData)

    def _parts(self, field: np.ma.MaskedArray) -> list[tuple[int, np.ndarray | None]]:
        """The parts with isotherms of their own: a number, and which cells; None for all."""
        if self._materials is None:
            return [(0, None)]
        parts, void = self._materials.parts, self._materials.void
        numbers, counts = np.unique(parts[~void], return_counts=True)
        if len(numbers) > _MAX_PARTS:
            parts, numbers, counts = np.zeros_like(parts), np.zeros(1, parts.dtype), np.array([parts.size])
        if len(numbers) == 1 and not void.any():
            return [(0, None)]
        large = numbers[counts >= _PART_CELLS].tolist()
        return [(number, (parts == number) & ~void & ~np.ma.getmaskarray(field)) for number in large]

    def _draw_lines(self, field: np.ma.MaskedArray, levels: list[float], is_mark: bool) -> QuadContourSet | None:
        """Thin lines, light on dark and dark on light, or thick ones of the levels that are asked for."""
        if not levels:
            return None
        thin = tuple(slice(None, None, -(-count // _CONTOUR_POINTS)) for count in field.shape)
        # Edge values are repeated on the faces, so that lines run up to them.
        masked = np.pad(np.ma.getmaskarray(field), 1, mode="edge")[thin]
        values = np.ma.masked_array(self._levelled(np.pad(field.filled(0.0), 1, mode="edge")[thin], levels), masked)
        if values.count() == 0 or not float(values.min()) < levels[-1] or not float(values.max()) > levels[0]:
            return None
        y, x = (places[part] for places, part in zip(self._lattice, thin, strict=True))
        dark = [self._is_dark(level) for level in levels]
        theme = self._style.theme
        colours = [theme.mark if is_mark else (1, 1, 1, 0.45) if each else (0, 0, 0, 0.4) for each in dark]
        width = 1.6 if is_mark else 0.6
        lines = self.axes.contour(
            x, y, values, levels=levels, colors=colours, linewidths=width, negative_linestyles="solid"
        )
        self._lines.append(lines)
        if self._style.labelled:
            self._label(lines, dark, is_mark)
        return lines

    def _is_dark(self, level: float) -> bool:
        """Whether the colour of a level is dark, so that light lines are seen on it."""
        low, high = self.limits
        red, green, blue, _ = self.image.get_cmap()((level - low) / (high - low))
        return 0.3 * red + 0.59 * green + 0.11 * blue < 0.55

    def _levelled(self, values: np.ndarray, levels: list[float]) -> np.ndarray:
        """Values with those next to a level made equal: in a field that is level but for rounding, lines would wind
        through all of it."""
        slack = _FLAT * (self.limits[1] - self.limits[0])
        for level in levels:
            values = np.where(np.abs(values - level) < slack, level + slack, values)
        return values

    def _label(self, lines: QuadContourSet, dark: list[bool], is_mark: bool) -> None:
        unit = f" {unit_symbol(self._style.unit)}" if is_mark else ""
        before = set(lines.labelTexts)
        lines.clabel(fontsize=_LABEL_SIZE, inline=False, fmt=_number_with(unit))
        for text in lines.labelTexts:
            if text in before:
                continue
            level = next(i for i, each in enumerate(lines.levels) if _number_with(unit)(each) == text.get_text())
            ink, halo, strength = ("white", "black", 0.35) if dark[level] else ("black", "white", 0.35)
            if is_mark:
                ink, halo, strength = "white", _MARK_HALO, 1.0
            text.set(color=ink, clip_on=True)
            text.set_path_effects([withStroke(linewidth=2.4 if is_mark else 1.6, foreground=halo, alpha=strength)])
            self._texts.append(text)


def extent_faces(shape: tuple[int, int], extent: Extent) -> Faces:
    """The faces of equal cells along rows and columns, m."""
    left, right, bottom, top = extent
    return np.linspace(bottom, top, shape[0] + 1), np.linspace(left, right, shape[1] + 1)


def _number_with(unit: str) -> Callable[[float], str]:
    return lambda level: f"{level + 0.0:.6g}{unit}"


def _draw_cells(
    axes: Axes,
    field: np.ma.MaskedArray,
    extent: Extent,
    limits: tuple[float, float],
    style: PlaneStyle,
    faces: Faces | None,
) -> AxesImage | QuadMesh:
    low, high = limits
    colours = mpl.colormaps[style.colours].with_extremes(bad=style.theme.void)
    image: AxesImage | QuadMesh
    if faces is None:
        nearest = "nearest"  # which loses no cell, where there is a pixel for each
        image = axes.imshow(
            field, colours, origin="lower", extent=extent, aspect="auto", vmin=low, vmax=high, interpolation=nearest
        )
    else:
        image = axes.pcolorfast(faces[1], faces[0], field, cmap=colours, vmin=low, vmax=high)
    axes.set(xlim=extent[:2], ylim=extent[2:])  # and isotherms do not widen them
    return image


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


def _dilated(field: np.ma.MaskedArray, inside: np.ndarray) -> np.ma.MaskedArray:
    """The values of a part, and around it two rows of cells that repeat them, so that lines run up to its border."""
    values, known = np.where(inside, field.filled(0.0), 0.0), inside
    for _ in range(2):
        total, count = np.zeros(values.shape), np.zeros(values.shape)
        for axis in (0, 1):
            for step in (-1, 1):
                beside = _shifted(known, axis, step)
                total += np.where(beside, _shifted(values, axis, step), 0.0)
                count += beside
        new = ~known & (count > 0)
        values = np.where(new, total / np.maximum(count, 1), values)
        known = known | new
    return np.ma.masked_array(values, ~known)


def _shifted(values: np.ndarray, axis: int, step: int) -> np.ndarray:
    """Values of the neighbours along an axis; none beyond the border."""
    moved = np.zeros_like(values)
    to, of = (slice(1, None), slice(None, -1)) if step > 0 else (slice(None, -1), slice(1, None))
    cut = (slice(None),) * axis
    moved[(*cut, to)] = values[(*cut, of)]
    return moved


def cells_outline(inside: np.ndarray, places: Faces) -> Outline:
    """The cells of a part as rectangles, one for each run in a row."""
    padded = np.pad(inside.astype(np.int8), ((0, 0), (1, 1)))
    row, first = np.nonzero(np.diff(padded, axis=1) == 1)
    _, last = np.nonzero(np.diff(padded, axis=1) == -1)
    y, x = places
    corners = np.empty((len(row), 5, 2))
    corners[:, :, 0] = np.stack([x[first], x[last], x[last], x[first], x[first]], axis=1)
    corners[:, :, 1] = np.stack([y[row], y[row], y[row + 1], y[row + 1], y[row]], axis=1)
    codes = np.tile([Outline.MOVETO, Outline.LINETO, Outline.LINETO, Outline.LINETO, Outline.CLOSEPOLY], len(row))
    return Outline(corners.reshape(-1, 2), codes)


def outline_segments(ids: np.ndarray, places: Faces) -> np.ndarray:
    """Segments (n, 2, 2) of points x, y between neighbouring cells of different number; runs of cells are joined."""
    y, x = places
    found = []
    row, first, last = _runs(ids[1:] != ids[:-1])
    found.append(np.stack([np.stack([x[first], y[row + 1]], 1), np.stack([x[last], y[row + 1]], 1)], 1))
    column, first, last = _runs((ids[:, 1:] != ids[:, :-1]).T)
    found.append(np.stack([np.stack([x[column + 1], y[first]], 1), np.stack([x[column + 1], y[last]], 1)], 1))
    return np.concatenate(found)


def _runs(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, first and one past the last column of each run of True."""
    steps = np.diff(np.pad(mask.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    row, first = np.nonzero(steps == 1)
    return row, first, np.nonzero(steps == -1)[1]


def _draw_outlines(axes: Axes, ids: np.ndarray, places: Faces, style: PlaneStyle) -> LineCollection:
    segments = outline_segments(ids, places)
    fine = len(segments) > 2000  # a foam: thin lines, lest they cover the field
    lines = LineCollection(
        list(segments),
        colors=style.theme.outline,
        linewidths=0.4 if fine else 0.9,
        alpha=0.5 if fine else 0.9,
        zorder=2.1,
    )
    axes.add_collection(lines, autolim=False)
    return lines


def _draw_arrows(axes: Axes, field: np.ma.MaskedArray, arrows: Arrows, places: Faces, style: PlaneStyle) -> Artist:
    """Arrows of a vector, a square lattice of them; the longest is as long as they are apart."""
    y, x = places
    spacing = max(x[-1] - x[0], y[-1] - y[0]) / _ARROWS
    columns, rows = (_spread(faces, spacing) for faces in (x, y))
    at = np.ix_(rows, columns)
    u, v = (np.asarray(each)[at] for each in arrows)
    length = np.hypot(u, v)
    seen = ~np.ma.getmaskarray(field)[at] & (length > 0.01 * length.max(initial=0.0))
    grid_x, grid_y = np.meshgrid(0.5 * (x[columns] + x[columns + 1]), 0.5 * (y[rows] + y[rows + 1]))
    if not seen.any():
        seen = np.zeros_like(seen)
    # Short arrows are drawn longer than in proportion, so that their direction is seen.
    scale = np.divide(1.0, np.sqrt(length * length.max(initial=1e-300)), out=np.zeros_like(length), where=length > 0)
    return axes.quiver(
        grid_x[seen],
        grid_y[seen],
        (u * scale)[seen],
        (v * scale)[seen],
        angles="uv",
        units="inches",
        scale=4.8,
        width=0.014,
        color="white",
        edgecolor=(0, 0, 0, 0.55),
        linewidth=0.4,
        pivot="mid",
        zorder=2.2,
    )


def _spread(faces: np.ndarray, spacing: float) -> np.ndarray:
    """Cells about so far apart, the first half of that from the border."""
    count = max(1, round((faces[-1] - faces[0]) / spacing))
    places = faces[0] + (np.arange(count) + 0.5) * (faces[-1] - faces[0]) / count
    return np.unique(np.clip(np.searchsorted(faces, places, side="right") - 1, 0, len(faces) - 2))
