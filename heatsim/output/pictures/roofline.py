"""Roofline figures: rates over arithmetic intensity, under the roof that the memory's copy rate makes.

After Williams, Waterman and Patterson, Roofline: an insightful visual performance model for multicore architectures,
CACM 52(4), 2009. Both axes are logarithmic, so a bandwidth is a line of slope 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, degrees
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from heatsim.output.pictures.pages import FAINT, INK, Margins, Page, label_axes

_WIDTH, _HEIGHT = 4.4, 3.9  # in, a panel
_NAMES = 2.15  # in, beside a panel, for the names of its points
_GAP = 0.75  # in, between panels
_LINE = 0.2  # in, between names at least
_MARGINS = Margins(left=0.8, right=_NAMES + 0.2, bottom=0.6, top=0.35)
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#444444")  # Okabe and Ito
_FILLED, _HOLLOW = "o", "D"
_ROOF = "#b5343c"


class RooflinePoint(NamedTuple):
    """A measurement: operations a byte, operations a second; points of one `group` share a colour."""

    name: str
    group: str
    intensity: float
    rate: float
    hollow: bool = False


class RooflineGuide(NamedTuple):
    """An intensity that theory gives, OP/B."""

    name: str
    intensity: float


class RooflinePanel(NamedTuple):
    """A roof, bytes a second, and what lies about it."""

    title: str
    bandwidth: float
    points: Sequence[RooflinePoint]
    guides: Sequence[RooflineGuide]


def draw_roofline(
    path: Path, panels: Sequence[RooflinePanel], *, title: str, subtitle: str = "", key: str = "", dpi: int = 150
) -> None:
    """Draw panels side by side into the PNG file `path`; `key` says what the names of points are made of.

    Raises OSError.
    """
    pitch = _WIDTH + _NAMES + _GAP
    page = Page((pitch * len(panels) - _NAMES - _GAP, _HEIGHT), _MARGINS, title, subtitle)
    groups = list(dict.fromkeys(point.group for panel in panels for point in panel.points))
    colours = {group: _COLOURS[number % len(_COLOURS)] for number, group in enumerate(groups)}
    for number, panel in enumerate(panels):
        axes = page.add_axes(left=number * pitch, width=_WIDTH)
        _frame(axes, panel)
        _draw_roof(axes, panel)
        _draw_guides(axes, panel.guides)
        _draw_points(axes, panel.points, colours)
        axes.text(1.03, 1.03, key, transform=axes.transAxes, size=8.5, color=FAINT, parse_math=False)
    page.save(path, dpi)


def _frame(axes: Axes, panel: RooflinePanel) -> None:
    """Log axes around all that is shown, wide enough that a bandwidth is seen as a slope."""
    marks = [point.intensity for point in panel.points] + [guide.intensity for guide in panel.guides]
    left, right = min(marks) / 1.8, max(marks) * 2.2
    rates = [point.rate / 1e9 for point in panel.points]
    roof = panel.bandwidth / 1e9
    axes.set(xscale="log", yscale="log", xlim=(left, right))
    axes.set_ylim(min([left * roof, *rates]) / 2.5, max([right * roof, *rates]) * 1.2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.minorticks_off()
    axes.grid(color=FAINT, alpha=0.15, lw=0.6)
    axes.set_axisbelow(True)
    label_axes(axes, "arithmetic intensity (operations / byte)", "rate (10⁹ operations / s)")
    axes.set_title(panel.title, size=10, color=INK, loc="left", pad=6, parse_math=False)


def _draw_roof(axes: Axes, panel: RooflinePanel) -> None:
    ends = list(axes.get_xlim())
    roof = [panel.bandwidth / 1e9 * end for end in ends]
    axes.plot(ends, roof, color=_ROOF, lw=1.6, zorder=2)
    axes.fill_between(ends, roof, axes.get_ylim()[0], color=_ROOF, alpha=0.05, lw=0, zorder=1)
    (x0, y0), (x1, y1) = axes.transData.transform(list(zip(ends, roof, strict=True)))
    axes.annotate(
        f"copy limit {panel.bandwidth / 1e9:.4g} GB/s",
        (ends[0], roof[0]),
        xytext=(10, 14),
        textcoords="offset points",
        rotation=degrees(atan2(y1 - y0, x1 - x0)),
        rotation_mode="anchor",
        size=9,
        color=_ROOF,
    )


def _draw_guides(axes: Axes, guides: Sequence[RooflineGuide]) -> None:
    """Lines with their names on alternate sides, so that two close together can both be read."""
    for number, guide in enumerate(sorted(guides, key=lambda each: each.intensity)):
        right = number % 2
        axes.axvline(guide.intensity, color=FAINT, lw=0.8, ls=(0, (4, 3)), zorder=1)
        axes.annotate(
            f"{guide.name} {guide.intensity:.2f}",
            (guide.intensity, 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(3 if right else -3, 0),
            textcoords="offset points",
            rotation=90,
            ha="left" if right else "right",
            va="bottom",
            size=8,
            color=FAINT,
        )


def _draw_points(axes: Axes, points: Sequence[RooflinePoint], colours: dict[str, str]) -> None:
    """Markers, and their names in a column at the right, none over another."""
    ordered = sorted(points, key=lambda point: point.rate)
    low, high = axes.get_ylim()
    wanted = [axes.transAxes.inverted().transform(axes.transData.transform((1, p.rate / 1e9)))[1] for p in ordered]
    for point, height in zip(ordered, _spread(wanted, _LINE / _HEIGHT), strict=True):
        colour = colours[point.group]
        axes.plot(
            point.intensity,
            point.rate / 1e9,
            marker=_HOLLOW if point.hollow else _FILLED,
            ms=6,
            mfc="white" if point.hollow else colour,
            mec=colour,
            mew=1.4,
            ls="",
            zorder=4,
        )
        axes.annotate(
            point.name,
            (point.intensity, point.rate / 1e9),
            xytext=(1.03, height),
            textcoords="axes fraction",
            va="center",
            size=8.5,
            color=INK,
            arrowprops={
                "arrowstyle": "-",
                "relpos": (0, 0.5),
                "color": colour,
                "lw": 0.6,
                "alpha": 0.6,
                "shrinkA": 0,
                "shrinkB": 4,
            },
            annotation_clip=False,
        )
    axes.set_ylim(low, high)


def _spread(heights: Sequence[float], least: float) -> list[float]:
    """Ascending heights moved apart to `least` at least, about where they were and within 0 to 1 if there is room."""
    groups = [[height] for height in heights]
    merged: list[list[float]] = []
    for group in groups:
        merged.append(group)
        while len(merged) > 1 and _bottom(merged[-1], least) - _top(merged[-2], least) < least:
            last = merged.pop()
            merged[-1] = merged[-1] + last
    placed = [_bottom(group, least) + least * number for group in merged for number in range(len(group))]
    over = max(0.0, placed[-1] - 1.0) if placed else 0.0
    return [height - over for height in placed]


def _bottom(group: list[float], least: float) -> float:
    return max(0.0, sum(group) / len(group) - least * (len(group) - 1) / 2)


def _top(group: list[float], least: float) -> float:
    return _bottom(group, least) + least * (len(group) - 1)
