"""A run on one page: its geometry, its hottest plane, probes and energy over time, and the facts of the run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heatsim.base.grid import AXES
from heatsim.errors import InputFileError, RequestError
from heatsim.output.pictures.charts import Chart, draw_chart
from heatsim.output.pictures.frames import (
    Tell,
    fit_to_page,
    plane_materials,
    plane_style,
    position_text,
    time_text,
)
from heatsim.output.pictures.options import PictureOptions
from heatsim.output.pictures.outside_view import Body, colour_patch, draw_body
from heatsim.output.pictures.pages import DPI, Margins, Page, PlaneStyle
from heatsim.output.pictures.plane_view import Extent, Faces, PlaneView
from heatsim.output.pictures.planes import PlaneRequest, PlaneSource, line_curves
from heatsim.output.pictures.slices import PlaneOverlay, add_bar, box_size, label_lengths
from heatsim.output.pictures.tables import table_charts
from heatsim.output.pictures.units import axis_symbol, format_length, format_time, length_unit, unit_symbol, value_label
from heatsim.store.field_reader import FieldReader, SnapshotHeader
from heatsim.store.folder import RunFolder
from heatsim.store.snapshots import read_geometry_block, unsolved_names

_SEARCHED_CELLS = 2**25  # of all snapshots; of more, the last one is searched alone
_PROFILES = 6  # along a line
_VIEW_CELLS = 72  # an axis, from which the body is drawn


def draw_overview(path: Path, folder: RunFolder, options: PictureOptions, tell: Tell) -> None:
    """Draw a run on one page. Raises OSError, RunFolderError where there is no snapshot."""
    reader = FieldReader(folder)
    for message in reader.skipped:
        tell(message)
    info = folder.read_info()
    hottest, last = find_hottest(reader, tell)
    charts = _profile(reader)
    for name in ("probes", "energy"):
        with suppress(RequestError):  # it was not asked for, or has one time as yet
            charts += table_charts(folder, name)
    plane = _plane(reader, hottest.header, hottest.cell, options)
    style = PlaneStyle(("", ""), "", "", theme=options.colours)
    title = str(info.get("title") or folder.path.name)
    state = str(info.get("state", "running"))
    titles, facts = (title, state[:1].upper() + state[1:]), _facts(reader, info, last)
    draw_overview_page(path, titles, _body(reader), plane, charts, facts, style)


class Hottest(NamedTuple):
    """The highest temperature of a snapshot outside ambients, with its snapshot and cell (k, j, i); and the lowest."""

    value: float
    header: SnapshotHeader
    cell: tuple[int, int, int]
    lowest: float


def find_hottest(reader: FieldReader, tell: Tell) -> tuple[Hottest, Hottest]:
    """Find the hottest of all snapshots but that of the start, and the last one; of a large run, the last one as both.

    Each is read once. Those whose data are damaged are left out of the reader, and reported. Raises InputFileError
    where none can be read.
    """
    few = reader.grid.cells * len(reader.snapshots) <= _SEARCHED_CELLS
    found: list[Hottest] = []
    for header in reversed(reader.snapshots[1:] or reader.snapshots):
        if found and not few:
            break
        try:
            found.append(_hottest_of(reader, header))
        except InputFileError as error:
            reader.snapshots.remove(header)
            if not reader.snapshots:
                raise
            tell(f"{error}; it is left out")
    if not found:  # the start is all that is left
        found.append(_hottest_of(reader, reader.snapshots[-1]))
    return max(found, key=lambda each: each.value), found[0]


def _hottest_of(reader: FieldReader, header: SnapshotHeader) -> Hottest:
    geometry = reader.folder.geometry
    unsolved = unsolved_names(reader.folder.read_scenario()) if geometry.is_file() else []
    best, cell, lowest = -np.inf, (0, 0, 0), np.inf
    for z, values in reader.blocks(header, reader.quantity.name):
        free: np.ndarray | bool = True
        if unsolved:
            ids, names = read_geometry_block(geometry, (slice(z, z + len(values)), slice(None), slice(None)))
            free = ~np.isin(names, unsolved)[ids]
        lowest = min(lowest, float(values.min(where=free, initial=np.inf)))
        top = float(values.max(where=free, initial=-np.inf))
        if top > best:
            k, j, i = (int(each[0]) for each in np.nonzero((values == top) & free))
            best, cell = top, (z + k, j, i)
    return Hottest(best, header, cell, lowest)


def _plane(
    reader: FieldReader, header: SnapshotHeader, cell: tuple[int, int, int], options: PictureOptions
) -> OverviewPlane | None:
    """The plane through the hottest cell in which the most cells lie; None of a run in one dimension."""
    shape = reader.grid.shape
    if sum(n > 1 for n in shape) < 2:
        return None

    def seen_area(axis: str) -> float:
        """The area of a plane normal to an axis, as far as it is resolved."""
        if reader.grid.coordinates == "cylindrical":
            return float(axis == "y")
        others = [other for other in AXES if other != axis]
        return float(np.prod([np.ptp(reader.grid.span(o)) if shape[2 - AXES.index(o)] > 1 else 0.0 for o in others]))

    best = max(AXES[::-1], key=seen_area)
    at = float(reader.grid.centres(best)[cell[2 - AXES.index(best)]])
    source = PlaneSource(reader, PlaneRequest(axis=best, at=at))
    frame, _ = source.frame(header)
    materials = plane_materials(reader.folder, source.axis, source.position)
    cut, field, faces, overlay = fit_to_page(frame, replace(options, crop=None), materials)
    style = plane_style(cut, "", None, options)
    visible = field if overlay.materials is None else np.where(overlay.materials.void, np.nan, field)
    style = replace(style, limits=style.limits_of(visible))
    caption = f"Hottest plane, {time_text(header.time, header.time)}{position_text(frame)}"
    return OverviewPlane(field, cut.extent, style, faces, overlay, caption)


def _body(reader: FieldReader) -> OverviewBody | None:
    grid = reader.grid
    if grid.coordinates == "cylindrical":
        return None
    geometry = reader.folder.geometry
    z, y, x = (slice(None, None, max(1, n // _VIEW_CELLS)) for n in grid.shape)
    thinned = (
        np.append(grid.faces(axis)[:-1][part], grid.faces(axis)[-1]) for axis, part in zip(AXES, (x, y, z), strict=True)
    )
    faces = next(thinned), next(thinned), next(thinned)
    if geometry.is_file():
        ids, names = read_geometry_block(geometry, (z, y, x))
        unsolved = np.isin(names, unsolved_names(reader.folder.read_scenario()))
        return OverviewBody(Body(ids, unsolved, faces), names, AXES)
    ids = np.zeros((len(faces[2]) - 1, len(faces[1]) - 1, len(faces[0]) - 1), np.uint8)
    return OverviewBody(Body(ids, np.zeros(1, bool), faces), (), AXES)


def _profile(reader: FieldReader) -> list[Chart]:
    """The temperature along the line of a run in one dimension, at the start, in between and at the end."""
    grid = reader.grid
    resolved = [axis for axis in AXES if grid.shape[2 - AXES.index(axis)] > 1]
    if len(resolved) != 1:
        return []
    middle = {axis: 0.5 * sum(grid.span(axis)) for axis in AXES}
    ends = ({**middle, resolved[0]: end} for end in grid.span(resolved[0]))
    start, end = ((point["x"], point["y"], point["z"]) for point in ends)
    shown = reader.snapshots[:: max(1, len(reader.snapshots) // _PROFILES)]
    solved = reader.quantity
    curves = line_curves(reader, solved.name, (start, end), shown)
    scale, symbol = length_unit(float(np.ptp(grid.span(resolved[0]))))
    name = axis_symbol(resolved[0], grid.coordinates)
    origin = grid.span(resolved[0])[0]
    curves = [curve._replace(x=(origin + curve.x) / scale) for curve in curves]
    return [Chart(f"{name} ({symbol})", value_label(solved.in_own_words("Temperature"), solved.unit), curves)]


def _facts(reader: FieldReader, info: dict[str, Any], last: Hottest) -> list[tuple[str, str]]:
    grid = reader.grid
    solved = reader.quantity
    unit, moved = unit_symbol(solved.unit), solved.stored
    sides = " x ".join(format_length(float(np.ptp(grid.span(axis)))) for axis in AXES)
    units = info.get("result_units", {})
    results = {
        name[:24]: "not reached" if value is None else f"{value:.5g} {unit_symbol(units.get(name, ''))}".rstrip()
        for name, value in info.get("results", {}).items()
    }
    facts = [
        *results.items(),
        ("grid", " x ".join(map(str, grid.shape[::-1])) + " cells"),
        ("box", sides if grid.coordinates == "cartesian" else "cylindrical"),
        ("last snapshot", time_text(last.header.time, last.header.time)),
        (solved.in_own_words("temperatures"), f"{last.lowest:.4g} to {last.value:.4g} {unit}"),
        ("integrator", str(info.get("integrator", ""))),
        ("device", f"{info.get('device', '')}, {info.get('precision', '')}"),
    ]
    if "timings" in info:
        facts += [
            ("steps", str(info["steps"])),
            ("wall time", format_time(round(info["timings"]["total_seconds"], 2))),
            ("residual", f"{info['energy']['relative_residual']:.1e} of the {moved} moved"),
            ("warnings", str(len(_warnings(reader.folder.log)) or "none")),
        ]
    return [(name, value) for name, value in facts if value]


def _warnings(log: Path) -> set[str]:
    """What a run warned of, in its log: the scenario before it began, and itself."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return {line.partition(" WARNING ")[2] for line in lines if " WARNING " in line}


_WIDTH = 7.4  # in; the page has 8 in, 800 pixels at 100 a inch
_PLANE = 3.5, 2.9  # in, the largest box of the plane
_BODY = 2.3, 2.3  # in
_CHART, _GAP = 1.7, 0.75  # in
_NAMES = 2.0  # in, beside charts
_FACT = 0.2  # in, a line of facts


@dataclass(frozen=True)
class OverviewPlane:
    """The plane that an overview shows: its field, and how it is drawn. A field along a line has none."""

    field: np.ndarray
    extent: Extent
    style: PlaneStyle
    faces: Faces | None
    overlay: PlaneOverlay
    caption: str


@dataclass(frozen=True)
class OverviewBody:
    """The body that an overview shows, and the names of its materials and axes."""

    body: Body
    materials: Sequence[str]
    axes: tuple[str, str, str]


def draw_overview_page(
    path: Path,
    titles: tuple[str, str],
    body: OverviewBody | None,
    plane: OverviewPlane | None,
    charts: Sequence[Chart],
    facts: Sequence[tuple[str, str]],
    style: PlaneStyle,
) -> None:
    """Draw an overview into the PNG, SVG or PDF file `path`; what is None or empty takes no room. Raises OSError."""
    top = max(_BODY[1] + 0.55 if body else 0.0, box_size(plane.extent, _PLANE)[1] + 0.95 if plane else 0.0)
    rows = -(-len(facts) // 2)
    height = top + len(charts) * (_CHART + _GAP) + rows * _FACT + 0.1
    page = Page((_WIDTH, height), Margins(left=0.3, right=0.3, bottom=0.2, top=0.15), *titles, style.theme)
    if body is not None:
        _place_body(page, body, height - top, top)
    if plane is not None:
        _place_plane(page, plane, height - top, top, beside=body is not None)
    bottom = height - top
    for chart in charts:
        axes = page.add_axes(left=0.75, bottom=bottom - _CHART, width=_WIDTH - 0.75 - _NAMES, height=_CHART)
        draw_chart(axes, chart, style.theme)
        bottom -= _CHART + _GAP
    _write_facts(page, facts, rows)
    page.save(path, DPI)


def _place_body(page: Page, shown: OverviewBody, bottom: float, height: float) -> None:
    theme = page.theme
    axes = page.add_axes(left=0.0, bottom=bottom + height - _BODY[1], width=_BODY[0], height=_BODY[1])
    stretched = draw_body(axes, shown.body, shown.axes, theme)
    present = np.unique(shown.body.ids).tolist()
    solid = [number for number in present if not shown.body.void[number]]
    if len(shown.materials) and solid:
        few = solid[:6]
        axes.legend(
            [colour_patch(number) for number in few],
            [f"{shown.materials[number][:16]}" for number in few],
            frameon=False,
            fontsize=8,
            labelcolor=theme.ink,
            loc="upper left",
            bbox_to_anchor=(0.0, -0.02),
            ncols=2,
            columnspacing=1.0,
            handlelength=1.0,
        )
    if stretched:
        axes.text(0.0, 1.03, stretched, transform=axes.transAxes, size=8, color=theme.faint)


def _place_plane(page: Page, plane: OverviewPlane, bottom: float, height: float, beside: bool) -> None:
    width, tall = box_size(plane.extent, _PLANE if beside else (_WIDTH - 1.7, _PLANE[1]))
    left = _WIDTH - 0.95 - width
    axes = page.add_axes(left=left, bottom=bottom + height - tall - 0.3, width=width, height=tall)
    view = PlaneView(axes, plane.field, plane.extent, plane.style, plane.faces, plane.overlay.materials)
    bar = add_bar(page, view, (left + width + 0.12, bottom + height - tall - 0.3, 0.14, tall), plane.style)
    label_lengths(axes, plane.extent, plane.style.labels, (width, tall), plane.style.theme)
    page.figure.set_dpi(DPI)
    view.show(plane.field, bar.get_ticks().tolist(), plane.overlay.arrows)
    view.drop_crowded_labels(page.canvas.get_renderer())
    axes.set_title(plane.caption, size=9, color=page.theme.ink, loc="left", pad=5, parse_math=False)


def _write_facts(page: Page, facts: Sequence[tuple[str, str]], rows: int) -> None:
    axes = page.add_axes(left=0.0, bottom=0.0, width=_WIDTH, height=max(rows * _FACT, 0.1))
    axes.set_axis_off()
    axes.set(xlim=(0, _WIDTH), ylim=(rows, 0))
    indent = 1.05 if all(len(name) <= 14 for name, _ in facts) else 1.75  # in, of what they are
    for number, (name, value) in enumerate(facts):
        column, row = divmod(number, rows)
        left = column * _WIDTH / 2
        axes.text(left, row + 0.5, name, size=8.5, color=page.theme.faint, va="center", parse_math=False)
        axes.text(left + indent, row + 0.5, value, size=8.5, color=page.theme.ink, va="center", parse_math=False)
