"""What a scenario is made of, before it runs: the body from outside, and sections with all that acts on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.patheffects import withStroke

from heatsim.output.pictures.outside_view import Body, draw_body, material_colour
from heatsim.output.pictures.pages import DPI, Margins, Page, Theme
from heatsim.output.pictures.plane_view import Extent, Faces, cells_outline, outline_segments
from heatsim.output.pictures.slices import box_size, label_lengths

_WIDTH = 7.4  # in; the page has 8 in, 800 pixels at 100 a inch
_BODY = 3.3, 2.9  # in
_SECTION = 3.0, 2.6  # in, the largest box of one of several sections
_ALONE = 6.4, 4.2  # in, of a single one
_PITCH = 3.8  # in, between sections beside each other
_ROW = 0.21  # in, of the legend
_COLUMN = 2.0  # in, of the legend

KINDS = {
    "insulated": "#9aa3af",
    "fixed": "#1f6fd6",
    "flux": "#d62839",
    "convection": "#1b9e5a",
    "radiation": "#e67700",
    "periodic": "#8e44ad",
}
_OUTLINE = "#39424e"
_SEEN = 2.0  # points, the least thickness of a layer that is seen
_FACE = 3.2  # points, of the line of a face of the box
_LONG = 6  # times as long as that: a layer, and no speck
_SOURCE, _PROBE, _BEAM, _SLICE = "#c1121f", "#111418", "#d6006c", "#4a5568"


class FaceEdge(NamedTuple):
    """A piece of a face of the box in a section: its ends, x and y in m, and the kind of its condition."""

    ends: np.ndarray
    kind: str


class Marker(NamedTuple):
    """A probe in a section: its name and place, and whether it lies in the plane's cells."""

    name: str
    x: float
    y: float
    inside: bool


@dataclass(frozen=True)
class BodySection:
    """A section through the body.

    ids: materials of the cells (rows, columns); heated: cells with a source; slices: planes that the run keeps, each as
    its two ends; paths: of beams, (n, 2) each.
    """

    caption: str
    labels: tuple[str, str]
    extent: Extent
    places: Faces
    ids: np.ndarray
    heated: np.ndarray
    edges: Sequence[FaceEdge]
    probes: Sequence[Marker]
    slices: Sequence[np.ndarray]
    paths: Sequence[np.ndarray]


class PreviewNames(NamedTuple):
    """The words of a preview: title, subtitle, names of the materials, the kinds of faces that no section cuts, by
    their names, and what the sources without a place are called."""

    title: str
    subtitle: str
    materials: Sequence[str]
    uncut: dict[str, str]
    everywhere: Sequence[str] = ()


def draw_preview_page(
    path: Path, names: PreviewNames, body: Body | None, void: np.ndarray, sections: Sequence[BodySection], theme: Theme
) -> None:
    """Draw a preview into the PNG, SVG or PDF file `path`; void: (n,) which materials are ambients. Raises OSError."""
    single = len(sections) == 1
    boxes = [box_size(section.extent, _ALONE if single else _SECTION) for section in sections]
    entries = _legend_entries(names, void, sections, theme)
    columns = 1 if body else 3
    tall = max(_BODY[1] if body else 0.0, -(-len(entries) // columns) * _ROW + 0.1)
    rows = [boxes[i : i + 2] for i in range(0, len(boxes), 2)]
    heights = [max(height for _, height in row) + 0.95 for row in rows]
    height = tall + sum(heights)
    page = Page((_WIDTH, height), Margins(left=0.3, right=0.3, bottom=0.1, top=0.15), *names[:2], theme)
    if body is not None:
        axes = page.add_axes(0.0, height - _BODY[1], *_BODY)
        if stretched := draw_body(axes, body, ("x", "y", "z"), theme):
            axes.text(0.0, 1.01, stretched, transform=axes.transAxes, size=8, color=theme.faint)
    _draw_legend(page, entries, (3.9 if body else 0.1, height - tall, tall), columns)
    top = height - tall
    for number, (section, box) in enumerate(zip(sections, boxes, strict=True)):
        if number and number % 2 == 0:
            top -= heights[number // 2 - 1]
        axes = page.add_axes(0.7 + number % 2 * _PITCH, top - 0.3 - box[1], *box)
        draw_section(axes, section, void, box, theme)
    page.save(path, DPI)


def draw_section(axes: Axes, section: BodySection, void: np.ndarray, box: tuple[float, float], theme: Theme) -> None:
    """Draw a section into axes of the size `box`, in."""
    y, x = section.places
    colours = _colours(void, theme)
    shown = ListedColormap(colours)
    axes.pcolorfast(x, y, section.ids.astype(float), cmap=shown, vmin=-0.5, vmax=len(colours) - 0.5)
    axes.set(xlim=section.extent[:2], ylim=section.extent[2:])
    axes.add_collection(
        LineCollection(list(outline_segments(section.ids, section.places)), colors="#39424e", linewidths=0.5),
        autolim=False,
    )
    for layer in thin_layers(section.ids, section.places, box):
        for width, colour in ((_SEEN + 0.8, _OUTLINE), (_SEEN, colours[layer.material])):
            axes.plot(*layer.ends.T, color=colour, lw=width, solid_capstyle="butt", scalex=False, scaley=False)
    if section.heated.any():
        patch = PathPatch(
            cells_outline(section.heated, section.places), facecolor="none", hatch="//////", edgecolor=_SOURCE, lw=0.0
        )
        axes.add_patch(patch)
        # With a cell of no size more at either end, so that sources at the faces of the box have outlines.
        rows, columns = (np.concatenate([each[:1], each, each[-1:]]) for each in section.places)
        outline = list(outline_segments(np.pad(section.heated, 1), (rows, columns)))
        axes.add_collection(LineCollection(outline, colors=_SOURCE, linewidths=0.9), autolim=False)
        for layer in thin_layers(section.heated.astype(np.uint8), section.places, box):
            if layer.material:  # heated
                axes.plot(*layer.ends.T, color=_SOURCE, lw=0.6 * _SEEN, ls=(0, (1.5, 1)), scalex=False, scaley=False)
    for line in section.slices:
        axes.plot(line[:, 0], line[:, 1], color=_SLICE, lw=0.9, ls=(0, (5, 3)), scalex=False, scaley=False)
    for beam in section.paths:
        axes.plot(beam[:, 0], beam[:, 1], color=_BEAM, lw=1.3, scalex=False, scaley=False, zorder=4.5)
        axes.plot(*beam[0], color=_BEAM, marker=">", ms=4, clip_on=False, zorder=4.5)
    for edge in section.edges:
        axes.plot(
            *edge.ends.T,
            color=KINDS.get(edge.kind, "#000000"),
            lw=_FACE,
            solid_capstyle="butt",
            clip_on=False,
            zorder=4,
        )
    _mark_probes(axes, section, box)
    for spine in axes.spines.values():
        spine.set_visible(False)
    label_lengths(axes, section.extent, section.labels, box, theme)
    axes.set_title(section.caption, size=9, color=theme.ink, loc="left", pad=6, parse_math=False)


class LayerLine(NamedTuple):
    """A layer that is too thin to be seen: the ends of its middle line, x and y in m, and its material."""

    ends: np.ndarray
    material: int


def thin_layers(ids: np.ndarray, places: Faces, box: tuple[float, float]) -> list[LayerLine]:
    """The layers of one material, along either axis of a section (rows, columns) drawn into a box, in, that are thinner
    than a line of `_SEEN` points, and long: a line of that width stands for each, in the middle between its faces, or
    beside the line of the face of the box."""
    found = []
    for axis, size in ((0, box[1]), (1, box[0])):
        across, along = places[axis], places[1 - axis]
        seen = _SEEN / 72.0 / size * (across[-1] - across[0])
        cells = ids if axis == 0 else ids.T
        inner = 0.5 * (_FACE + _SEEN + 0.8) / _SEEN * seen
        long = _LONG * _SEEN / 72.0 / box[axis] * (along[-1] - along[0])
        changes = np.diff(cells, axis=0) != 0
        rows = np.arange(len(cells))[:, None]
        first = np.maximum.accumulate(np.where(np.pad(changes, ((1, 0), (0, 0)), constant_values=True), rows, 0))
        reversed_last = np.where(np.pad(changes, ((0, 1), (0, 0)), constant_values=True), rows, len(cells))[::-1]
        last = np.minimum.accumulate(reversed_last)[::-1]
        thin = (across[last + 1] - across[first] < seen) & (first == rows)
        for row in np.flatnonzero(thin.any(axis=1)).tolist():
            kind = np.where(thin[row], (cells[row].astype(np.int64) + 1) * len(cells) + last[row], 0)
            starts = np.flatnonzero(np.diff(kind, prepend=-1))
            for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(kind)], strict=True):
                if kind[start] == 0 or along[end] - along[start] < long:
                    continue
                middle = 0.5 * (across[row] + across[last[row, start] + 1])
                middle = min(max(middle, across[0] + inner), across[-1] - inner)
                ends = np.array([[along[start], middle], [along[end], middle]])
                found.append(LayerLine(ends if axis == 0 else ends[:, ::-1], int(cells[row, start])))
    return found


def _colours(void: np.ndarray, theme: Theme) -> list[str]:
    """Colours of the materials; ambients are greys, each of its own shade."""
    grey = np.array(to_rgb(theme.void))
    shades = [to_hex(grey * (1.0 - 0.14 * (number % 4))) for number in range(int(void.sum()))]
    ambients = iter(shades)
    return [next(ambients) if hidden else material_colour(number) for number, hidden in enumerate(void)]


def _mark_probes(axes: Axes, section: BodySection, box: tuple[float, float]) -> None:
    left, right, bottom, top = section.extent
    few = len(section.probes) <= 8
    taken: list[tuple[float, float]] = []
    for probe in section.probes:
        fill = _PROBE if probe.inside else "white"
        axes.plot(probe.x, probe.y, marker="o", ms=4.5, mfc=fill, mec=_PROBE, mew=0.9, clip_on=False, zorder=5)
        at = (probe.x - left) / (right - left) * box[0], (probe.y - bottom) / (top - bottom) * box[1]
        if not (few and probe.inside) or any(abs(at[0] - x) < 1.0 and abs(at[1] - y) < 0.16 for x, y in taken):
            continue
        taken.append(at)
        side = 1 if at[0] < 0.55 * box[0] else -1
        text = axes.annotate(
            probe.name[:22],
            (probe.x, probe.y),
            xytext=(5 * side, 0),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center" if 0.1 < at[1] < box[1] - 0.1 else "bottom" if at[1] <= 0.1 else "top",
            size=7.5,
            color=_PROBE,
            zorder=6,
            parse_math=False,
        )
        text.set_path_effects([withStroke(linewidth=2.0, foreground="white", alpha=0.8)])


_Entry = tuple[Patch | Line2D, str]


def _legend_entries(
    names: PreviewNames, void: np.ndarray, sections: Sequence[BodySection], theme: Theme
) -> list[_Entry]:
    used = {int(number) for section in sections for number in np.unique(section.ids)}
    colours = _colours(void, theme)
    entries: list[_Entry] = [
        (Patch(facecolor=colours[i], edgecolor=_OUTLINE, lw=0.5), names.materials[i]) for i in sorted(used)
    ]
    if any(section.heated.any() for section in sections):
        entries.append((Patch(facecolor="none", hatch="//////", edgecolor=_SOURCE, lw=0.9), "source"))
    entries += [(Line2D([], [], ls="", marker="*", ms=7, color=_SOURCE), text) for text in names.everywhere]
    kinds = {edge.kind for section in sections for edge in section.edges}
    entries += [
        (Line2D([], [], color=colour, lw=_FACE), f"face: {kind}") for kind, colour in KINDS.items() if kind in kinds
    ]
    entries += [(Line2D([], [], color=KINDS[kind], lw=_FACE), f"{face}: {kind}") for face, kind in names.uncut.items()]
    probes = [probe for section in sections for probe in section.probes]
    ring: dict[str, Any] = {"marker": "o", "ms": 4.5, "mec": theme.ink, "ls": ""}
    if any(probe.inside for probe in probes):
        entries.append((Line2D([], [], mfc=_PROBE, **ring), "probe in the plane"))
    if any(not probe.inside for probe in probes):
        entries.append((Line2D([], [], mfc="white", **ring), "probe before or behind it"))
    if any(len(section.slices) for section in sections):
        entries.append((Line2D([], [], color=theme.faint, lw=0.9, ls=(0, (5, 3))), "slice"))
    if any(len(section.paths) for section in sections):
        entries.append((Line2D([], [], color=_BEAM, lw=1.3), "path of a beam"))
    return entries


def _draw_legend(page: Page, entries: Sequence[_Entry], box: tuple[float, float, float], columns: int) -> None:
    left, bottom, height = box
    axes = page.add_axes(left, bottom, _COLUMN * columns, height)
    axes.set_axis_off()
    with mpl.rc_context({"hatch.linewidth": 0.8}):
        legend = axes.legend(
            [handle for handle, _ in entries],
            [text[:34] for _, text in entries],
            frameon=False,
            fontsize=8.5,
            loc="upper left",
            bbox_to_anchor=(0.0, 1.0),
            borderaxespad=0.0,
            ncols=columns,
        )
    for text in legend.get_texts():
        text.set_color(page.theme.ink)
        text.set_parse_math(False)
