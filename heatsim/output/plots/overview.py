"""A run on one page: the body from outside, its hottest plane, curves over time, and facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heatsim.output.plots.charts import Chart, draw_chart
from heatsim.output.plots.outside_view import Body, colour_patch, draw_body
from heatsim.output.plots.pages import DPI, Margins, Page, PlaneStyle
from heatsim.output.plots.planes import Extent, Faces, PlaneView
from heatsim.output.plots.slices import PlaneOverlay, add_bar, box_size, label_lengths

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
