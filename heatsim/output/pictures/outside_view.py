"""A body of cells seen from outside: parallel projection, one colour a material, faces shaded by their direction.

Each pixel is a ray through the cells (Amanatides and Woo, A fast voxel traversal algorithm for ray tracing,
Eurographics 1987): it goes from face to face until it meets a cell that is not void.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_rgb

from heatsim.output.pictures.pages import DPI, Margins, Page, Theme

_TURN, _RISE = -0.3 * pi, 0.16 * pi  # of the eye, around z from x and above the plane
_SHADES = (0.72, 0.86, 1.0)  # of faces normal to x, y, z
_LEAST_SIDE = 0.12  # of the longest; shorter ones are drawn longer
_LEAST_LAYER = 0.012  # of the longest; thinner layers are drawn thicker
_PIXELS = 420  # along the longer side of the picture
_EDGES = "#22262b"
_AWAY = 0.06  # of the box, around it
_VIEW = 4.2  # in, a view of lines
_COLOURS, _BRIGHTEST = "viridis", 0.98  # of lines, and the share of their values that the scale has

# The palette of materials: told apart by most eyes, and from the colours of temperatures.
MATERIALS = (
    "#8ecae6", "#ffb703", "#90be6d", "#c8b6ff", "#f4a261", "#adb5bd", "#e76f7a", "#52b8a8", "#b08968", "#e9d985"
)  # fmt: skip

Camera = tuple[np.ndarray, np.ndarray, np.ndarray]  # unit vectors to the right, up, and away from the eye


class Body(NamedTuple):
    """Cells (nz, ny, nx): numbers of materials; which of the materials are void; places of faces along x, y, z, m."""

    ids: np.ndarray
    void: np.ndarray
    faces: tuple[np.ndarray, np.ndarray, np.ndarray]


def material_colour(number: int) -> str:
    """The colour of a material."""
    return MATERIALS[number % len(MATERIALS)]


def draw_body(axes: Axes, body: Body, names: tuple[str, str, str], theme: Theme) -> str:
    """Draw a body into axes, without a frame; returns what had to be stretched, in words, if anything. names: of the
    axes."""
    sides, thin_sides = _drawn_sides(body.faces)
    faces, thin_layers = [], False
    for axis, (side, places) in enumerate(zip(sides, body.faces, strict=True)):
        drawn, thicker = _widened_layers(body.ids, 2 - axis, side * (places - places[0]) / (places[-1] - places[0]))
        faces.append(drawn)
        thin_layers |= thicker
    right, up, away = _camera()
    corners = np.array([[x, y, z] for x in (0, sides[0]) for y in (0, sides[1]) for z in (0, sides[2])])
    across, tall = corners @ right, corners @ up
    margin = _AWAY * max(np.ptp(across), np.ptp(tall))
    extent = (across.min() - margin, across.max() + margin, tall.min() - margin, tall.max() + margin)
    step = max(extent[1] - extent[0], extent[3] - extent[2]) / _PIXELS
    x = np.arange(extent[0], extent[1], step)
    y = np.arange(extent[2], extent[3], step)
    picture = _render(body, faces, (right, up, away), (x, y))
    axes.imshow(picture, origin="lower", extent=extent, interpolation="bilinear", zorder=1)
    _draw_box(axes, sides, (right, up, away), names, theme)
    axes.set_axis_off()
    axes.set_aspect("equal", anchor="C")
    what = ("sides and layers" if thin_layers else "sides") if thin_sides else "layers"
    return f"thin {what} stretched" if thin_sides or thin_layers else ""


def _widened_layers(ids: np.ndarray, axis: int, faces: np.ndarray) -> tuple[np.ndarray, bool]:
    """Faces along an axis of the cells so that each layer, of planes that are alike, is thick enough to be seen, at the
    cost of the others; and whether any was too thin. Where layers are many they stay as they are."""
    planes, least = np.moveaxis(ids, axis, 0), _LEAST_LAYER
    starts = [0, *(i for i in range(1, len(planes)) if not np.array_equal(planes[i], planes[i - 1])), len(planes)]
    thickness = np.diff(faces[starts])
    thin = thickness < least
    rest = float(thickness[~thin].sum())
    if not thin.any() or len(thin) * least > 0.5 * faces[-1]:
        return faces, False
    wanted = np.where(thin, least, thickness * ((faces[-1] - least * thin.sum()) / rest))
    scale = np.repeat(wanted / thickness, np.diff(starts))
    return np.concatenate([[0.0], np.cumsum(np.diff(faces) * scale)]), True


class LinesInside(NamedTuple):
    """Lines in a box, with values along them: what they are, points (n, 3) of each, m, and values (n,) of each."""

    title: str
    points: Sequence[np.ndarray]
    values: Sequence[np.ndarray]


def draw_lines_inside(path: Path, views: Sequence[LinesInside], sides: np.ndarray, quantity: str, title: str) -> None:
    """Draw lines in a box with these sides (3,), seen from outside, a view beside another, coloured by their values,
    into a PNG, SVG or PDF file. Raises OSError."""
    width = _VIEW * len(views)
    page = Page((width, _VIEW), Margins(left=0.3, right=0.3, bottom=0.75, top=0.4), title, quantity)
    values = np.concatenate([np.zeros(1), *(each for view in views for each in view.values)])
    norm = Normalize(0.0, float(np.quantile(values, _BRIGHTEST)) or 1.0)
    scaled, stretched = _drawn_sides([np.array([0.0, side]) for side in sides])
    for number, view in enumerate(views):
        axes = page.add_axes(left=_VIEW * number, width=_VIEW)
        axes.set_title(view.title + (" (sides are not to scale)" if stretched else ""), size=10, color=page.theme.ink)
        _draw_lines(axes, view, scaled / sides, norm)
        _draw_box(axes, scaled, _camera(), ("x", "y", "z"), page.theme)
        axes.set_axis_off()
        axes.set_aspect("equal", anchor="C")
        axes.autoscale_view()
    scale = page.add_axes(left=0.25 * width, bottom=-0.35, width=0.5 * width, height=0.12)
    page.figure.colorbar(mpl.cm.ScalarMappable(norm, _COLOURS), cax=scale, orientation="horizontal")
    page.save(path, DPI)


def _draw_lines(axes: Axes, view: LinesInside, scale: np.ndarray, norm: Normalize) -> None:
    """The farthest first, so that near ones cover them."""
    right, up, away = _camera()
    segments, values, depths = [], [], []
    for points, along in zip(view.points, view.values, strict=True):
        scaled = points * scale
        flat = np.stack([scaled @ right, scaled @ up], axis=1)
        segments.append(np.stack([flat[:-1], flat[1:]], axis=1))
        values.append(0.5 * (along[:-1] + along[1:]))
        depths.append(0.5 * (scaled[:-1] + scaled[1:]) @ away)
    if segments:
        order = np.argsort(-np.concatenate(depths))
        drawn = LineCollection(list(np.concatenate(segments)[order]), cmap=_COLOURS, norm=norm, linewidths=0.6)
        drawn.set_array(np.concatenate(values)[order])
        axes.add_collection(drawn)


def _drawn_sides(faces: Sequence[np.ndarray]) -> tuple[np.ndarray, bool]:
    sides = np.array([places[-1] - places[0] for places in faces])
    sides = sides / sides.max()
    return np.maximum(sides, _LEAST_SIDE), bool((sides < _LEAST_SIDE).any())


def _camera() -> Camera:
    """Unit vectors to the right, up, and away from the eye."""
    eye = np.array([cos(_RISE) * cos(_TURN), cos(_RISE) * sin(_TURN), sin(_RISE)])
    right = np.array([-sin(_TURN), cos(_TURN), 0.0])
    return right, np.cross(eye, right), -eye


def _render(
    body: Body,
    faces: Sequence[np.ndarray],
    camera: Camera,
    places: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """The picture (rows, columns, 4), transparent beside the body; with lines where material or direction change."""
    material, side, depth = _cast(body, faces, camera, places)
    seen = material >= 0
    colours = np.array([to_rgb(material_colour(i)) for i in range(len(body.void))])
    shades = np.array(_SHADES)
    picture = np.zeros((*material.shape, 4))
    picture[seen, :3] = colours[material[seen]] * shades[side[seen], None]
    picture[seen, 3] = 1.0
    kind = np.where(seen, material * 3 + side, -1)
    edge = np.zeros(material.shape, bool)
    jump = 0.06 * max(each[-1] for each in faces)
    for axis in (0, 1):
        change = np.diff(kind, axis=axis) != 0
        near = np.abs(np.diff(np.where(seen, depth, 0.0), axis=axis)) > jump
        cut = tuple(slice(None, -1) if each == axis else slice(None) for each in (0, 1))
        edge[cut] |= change | near
    picture[edge, :3] = 0.45 * picture[edge, :3] + 0.55 * np.array(to_rgb(_EDGES))
    picture[edge, 3] = 1.0
    return picture


def _cast(
    body: Body,
    faces: Sequence[np.ndarray],
    camera: Camera,
    places: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first material that the ray of each pixel meets, -1 for none; the axis of the face it meets; its depth."""
    right, up, away = camera
    columns, rows = np.meshgrid(*places)
    start = columns.reshape(-1, 1) * right + rows.reshape(-1, 1) * up - 4.0 * away
    low = np.array([each[0] for each in faces])
    high = np.array([each[-1] for each in faces])
    with np.errstate(divide="ignore", invalid="ignore"):
        to_low, to_high = (low - start) / away, (high - start) / away
    enter = np.minimum(to_low, to_high)
    leave = np.maximum(to_low, to_high).min(axis=1)
    side, entry = enter.argmax(axis=1), enter.max(axis=1)
    material = np.full(len(start), -1)
    depth = np.zeros(len(start))
    rays = np.flatnonzero(entry < leave - 1e-12)
    inside = start[rays] + (entry[rays, None] + 1e-9) * away
    cell = np.stack(
        [
            np.clip(np.searchsorted(each, inside[:, i], side="right") - 1, 0, len(each) - 2)
            for i, each in enumerate(faces)
        ],
        axis=1,
    )
    step = np.where(away > 0, 1, -1)
    at, axis = entry[rays], side[rays]
    counts = np.array([len(each) - 1 for each in faces])
    while len(rays):
        met = body.ids[cell[:, 2], cell[:, 1], cell[:, 0]]
        solid = ~body.void[met]
        material[rays[solid]], side[rays[solid]], depth[rays[solid]] = met[solid], axis[solid], at[solid]
        rays, cell = rays[~solid], cell[~solid]
        ahead = np.stack([faces[i][cell[:, i] + (step[i] > 0)] for i in range(3)], axis=1)
        reach = (ahead - start[rays]) / away
        axis, at = reach.argmin(axis=1), reach.min(axis=1)
        cell[np.arange(len(cell)), axis] += step[axis]
        stays = ((cell >= 0) & (cell < counts)).all(axis=1)
        rays, cell, axis, at = rays[stays], cell[stays], axis[stays], at[stays]
    return tuple(each.reshape(columns.shape) for each in (material, side, depth))  # type: ignore[return-value]


def _draw_box(
    axes: Axes,
    sides: np.ndarray,
    camera: Camera,
    names: tuple[str, str, str],
    theme: Theme,
) -> None:
    """The frame of the box, and the names of the axes at its edges nearest to the eye."""
    right, up, away = camera
    corners = [np.array([x, y, z]) * sides for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    farthest = max(range(8), key=lambda i: corners[i] @ away)
    for i in range(8):
        for bit in (1, 2, 4):
            j = i | bit
            if i & bit or farthest in (i, j):
                continue
            ends = np.array([corners[i], corners[j]])
            axes.plot(ends @ right, ends @ up, color=theme.faint, lw=0.6, alpha=0.8, zorder=2)
    x, y, z = sides
    # The axes at the lower front edges, and up the left side.
    for name, place, moved in (
        (names[0], (0.5 * x, 0.0, 0.0), (0, -9)),
        (names[1], (x, 0.5 * y, 0.0), (6, -9)),
        (names[2], (0.0, 0.0, 0.5 * z), (-9, 0)),
    ):
        at = np.array(place)
        axes.annotate(
            name, (at @ right, at @ up), xytext=moved, textcoords="offset points", ha="center", va="center",
            size=9, color=theme.ink, annotation_clip=False,
        )  # fmt: skip


def colour_patch(number: int) -> mpl.patches.Patch:
    """A patch of a material's colour for a legend."""
    return mpl.patches.Patch(facecolor=material_colour(number), edgecolor="none")
