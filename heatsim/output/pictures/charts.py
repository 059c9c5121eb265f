"""Curves over time or along a line, with their names beside them, so that none covers a curve; and maps of values.
Panels side by side compare curves with points; images in rows have a scale each.

Of many curves over time, which no eye tells apart, there is a map: a row for each, its values in colour.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, MultipleLocator

from heatsim.output.pictures.curve import ComparisonPanel, Curve, CurveKey
from heatsim.output.pictures.pages import DPI, FAINT, LIGHT, Margins, Page, Theme, label_axes

_WIDTH, _HEIGHT = 5.2, 3.2  # in, a panel
_GAP = 0.35  # in, between panels, beside the height of labels
_NAMES = 2.05  # in, for the names of the curves
_LETTERS = 24  # of a name
_KEY = re.compile(r"[^\s,=]+(?= = )")  # of a value in a legend
_ROW = 0.185  # in, a name
_STYLES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D", "v")  # with the dashes 20 that differ
_MANY = 14  # curves over time, of which more are a map
_MAX_ROWS = 40  # of a map that have their name
_STEPS = {"h": (1, 2, 3, 6, 12, 24, 48, 120, 240), "min": (1, 2, 5, 10, 15, 30, 60, 120)}  # between ticks of a time
_TICKS = 8


class Chart(NamedTuple):
    """A panel: labels with units, curves, values that have a line of their own, and which axes are logarithmic. keys:
    the legend, where the curves have colours and dashes of their own; over_time: whether many curves are a map."""

    x_label: str
    y_label: str
    curves: Sequence[Curve]
    log_x: bool = False
    levels: tuple[float, ...] = ()
    log_y: bool = False
    keys: Sequence[CurveKey] = ()
    over_time: bool = False


def draw_charts(path: Path, charts: Sequence[Chart], title: str, subtitle: str = "", theme: Theme = LIGHT) -> None:
    """Draw charts below each other into the PNG, SVG or PDF file `path`. Raises OSError."""
    pitch = _HEIGHT + _GAP + 0.45
    height = pitch * len(charts) - (pitch - _HEIGHT)
    page = Page((_WIDTH, height), Margins(left=0.95, right=_NAMES), title, subtitle, theme)
    for number, chart in enumerate(charts):
        axes = page.add_axes(bottom=height - _HEIGHT - number * pitch, height=_HEIGHT)
        draw_chart(axes, chart, theme)
    page.save(path, DPI)


def draw_chart(axes: Axes, chart: Chart, theme: Theme) -> None:
    """Draw a chart into axes, with the names of its curves to the right."""
    if chart.over_time and len(chart.curves) > _MANY:
        _draw_rows(axes, chart, theme)
        return
    axes.set(xscale="log" if chart.log_x else "linear", yscale="log" if chart.log_y else "linear")
    for number, curve in enumerate(chart.curves):
        colour = curve.colour or theme.curves[number % len(theme.curves)]
        dash = number // len(theme.curves) if curve.dash is None else curve.dash
        few = len(curve.x) <= 12
        axes.plot(curve.x, curve.y, color=colour, lw=1.5, label=_short(curve.name), **_dashed(dash, few))
    for level in chart.levels:
        axes.axhline(level, color=theme.mark, lw=1.2)
    _finish(axes, chart, theme)
    if chart.keys:
        handles = [
            Line2D([], [], color=key.colour or theme.faint, lw=1.5, **_dashed(key.dash or 0, key.dash is not None))
            if key.colour or key.dash is not None
            else Line2D([], [], ls="")
            for key in chart.keys
        ]
        _add_legend(axes, handles, _all_short([key.name for key in chart.keys]), theme)
    elif any(curve.name for curve in chart.curves):
        _add_legend(axes, axes.get_lines()[: len(chart.curves)], [_short(curve.name) for curve in chart.curves], theme)


def _dashed(number: int, marked: bool) -> dict[str, Any]:
    """The dash of a number, and its marker."""
    marker = _MARKERS[number % len(_MARKERS)] if marked else ""
    return {"ls": _STYLES[number % len(_STYLES)], "marker": marker, "ms": 3.0 if number % len(_MARKERS) == 0 else 4.0}


def _draw_rows(axes: Axes, chart: Chart, theme: Theme) -> None:
    """Many curves over the same times as a map: a row for each, the first at the top, its values in colour."""
    times, count = chart.curves[0].x, len(chart.curves)
    values = np.array([curve.y for curve in chart.curves])
    middles = np.sqrt(times[1:] * times[:-1]) if chart.log_x else 0.5 * (times[1:] + times[:-1])
    edges = np.concatenate([times[:1], middles, times[-1:]])
    axes.set(xscale="log" if chart.log_x else "linear")
    image = axes.pcolormesh(edges, np.arange(count + 1) - 0.5, values, cmap="inferno", shading="flat")
    axes.set(ylim=(count - 0.5, -0.5), xlim=(edges[0], edges[-1]))
    step = -(-count // _MAX_ROWS)
    names = [_short(curve.name) for curve in chart.curves]
    label_axes(axes, chart.x_label, "", theme.ink)
    size = min(8.0, max(4.5, 62.0 * axes.bbox.height / axes.figure.dpi / min(count, _MAX_ROWS)))
    axes.yaxis.tick_right()
    axes.set_yticks(range(0, count, step), names[::step], size=size, color=theme.ink, parse_math=False)
    axes.tick_params(axis="y", length=0, pad=3)
    _set_time_ticks(axes, chart)
    box = axes.get_position()
    width = 0.14 * box.width / (axes.bbox.width / axes.figure.dpi)
    bar = axes.figure.colorbar(image, cax=axes.figure.add_axes((box.x0 - 2.2 * width, box.y0, width, box.height)))
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_ticks_position("left")
    bar.ax.yaxis.set_label_position("left")
    bar.ax.tick_params(labelsize=8, colors=theme.ink)
    bar.ax.set_ylabel(chart.y_label, size=10, color=theme.ink, labelpad=5)


def _set_time_ticks(axes: Axes, chart: Chart) -> None:
    """Ticks of the horizontal axis: hours by 6, 12, 24, minutes by 10, 15, 30."""
    locator: Locator = MaxNLocator(7, steps=[1, 2, 2.5, 5, 10])
    unit = chart.x_label.rpartition("(")[2].rstrip(")")
    low, high = axes.get_xlim()
    if unit in _STEPS and chart.x_label.startswith("Time") and high - low >= 3.0:
        fitting = [step for step in _STEPS[unit] if (high - low) / step <= _TICKS]
        locator = MultipleLocator(fitting[0]) if fitting else locator
    axes.xaxis.set_major_locator(LogLocator(numticks=8) if chart.log_x else locator)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, position: f"{value + 0.0:.6g}"))


def _finish(axes: Axes, chart: Chart, theme: Theme) -> None:
    axes.grid(color=theme.faint, alpha=0.2, lw=0.6)
    axes.set_axisbelow(True)
    label_axes(axes, chart.x_label, chart.y_label, theme.ink)
    plain = FuncFormatter(lambda value, position: f"{value + 0.0:.6g}")
    axes.yaxis.set_major_locator(LogLocator(numticks=8) if chart.log_y else MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(plain)
    if chart.log_x or chart.log_y:
        axes.minorticks_off()
    if not chart.log_x:
        axes.margins(x=0.0)
    _set_time_ticks(axes, chart)
    low, high = axes.get_ylim()
    if not chart.log_y and high - low < 1e-6 * max(abs(low), abs(high)):  # rounding is no structure to show
        axes.set_ylim(0.5 * (low + high) - 0.5, 0.5 * (low + high) + 0.5)


def _add_legend(axes: Axes, handles: Sequence[Line2D], labels: Sequence[str], theme: Theme) -> None:
    count, rows = len(labels), max(2, int(axes.bbox.height / axes.figure.dpi / _ROW))
    handles, labels = handles[:rows], list(labels[:rows])
    if count > rows:
        labels[-1] = f"and {count - rows + 1} more"
    legend = axes.legend(
        handles,
        labels,
        frameon=False,
        fontsize=8.5 if count <= 10 else 8,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.02),
        borderaxespad=0.0,
        handlelength=1.6,
    )
    for text in legend.get_texts():
        text.set_color(theme.ink)
        text.set_parse_math(False)


def _short(name: str) -> str:
    name = f" {name}" if name.startswith("_") else name  # matplotlib hides names that begin so
    if len(name) <= _LETTERS:
        return name
    ends_tell = " = " in name  # a key and its value, which tells curves apart
    return f"…{name[1 - _LETTERS :]}" if ends_tell else f"{name[: _LETTERS - 1]}…"


def _all_short(names: Sequence[str]) -> list[str]:
    """Keys and their values, such as `boundary.z_min.coefficient = 5`: where some are long, all keys lose as many of
    their first parts as needed, unless two of them become one."""
    keys = {key for name in names for key in _KEY.findall(name)}
    shown = list(names)
    for first in range(1, 1 + max((key.count(".") for key in keys), default=0)):
        if max(map(len, shown)) <= _LETTERS or len({_last_parts(key, first) for key in keys}) < len(keys):
            break
        shown = [_without_parts(name, first) for name in names]
    return [_short(name) for name in shown]


def _without_parts(name: str, first: int) -> str:
    return _KEY.sub(lambda found: _last_parts(found[0], first), name)


def _last_parts(key: str, first: int) -> str:
    """The parts of a key from one on; a number, as of a region, does not stand in front."""
    parts = key.split(".")
    left = parts[min(first, len(parts) - 1) :]
    return ".".join(left[1:] if left[0].isdigit() and len(left) > 1 else left)


def sequential_colours(count: int) -> list[str]:
    """So many colours in order, from dark to light but none too light."""
    return [mpl.colors.to_hex(mpl.colormaps["viridis"](0.9 * i / max(count - 1, 1))) for i in range(count)]


_MAP, _BAR_GAP, _BAR = 4.0, 0.25, 0.18  # in, a side of a map, and the colour bar beside it


class ValueMap(NamedTuple):
    """Values (y, x) at all combinations of two series of numbers, and the labels of all three."""

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    labels: tuple[str, str, str]


def draw_map(path: Path, shown: ValueMap, title: str, subtitle: str = "", theme: Theme = LIGHT) -> None:
    """Draw a map of values, a field with its number for each combination, into the file `path`. Raises OSError."""
    page = Page((_MAP + _BAR_GAP + _BAR, _MAP), Margins(left=0.95, right=0.95), title, subtitle, theme)
    axes = page.add_axes(width=_MAP)
    image = axes.imshow(shown.values, origin="lower", aspect="auto", cmap="inferno", interpolation="nearest")
    for axis, numbers in ((axes.xaxis, shown.x), (axes.yaxis, shown.y)):
        step = -(-len(numbers) // 10)  # so that labels have room
        axis.set_ticks(range(0, len(numbers), step), [f"{value:.4g}" for value in numbers[::step]])
    if shown.values.size <= 100:
        shares = np.asarray(image.norm(shown.values))
        for (row, column), value in np.ndenumerate(shown.values):
            if np.isfinite(value):
                ink = "black" if shares[row, column] > 0.6 else "white"
                axes.text(column, row, f"{value:.4g}", ha="center", va="center", size=7, color=ink)
    label_axes(axes, shown.labels[0], shown.labels[1], theme.ink)
    bar = page.figure.colorbar(image, cax=page.add_axes(left=_MAP + _BAR_GAP, width=_BAR))
    bar.outline.set_visible(False)
    bar.ax.set_ylabel(shown.labels[2], size=10, color=theme.ink, labelpad=8)
    page.save(path, DPI)


_PANEL_WIDTH, _PANEL_HEIGHT, _PANEL_GAP = 4.2, 3.1, 1.05  # in, a panel, and between panels
_PANEL_MARGINS = Margins(left=0.95)
_INK_OF_LINES, _INK_OF_POINTS = "#6b7280", "#b5343c"


def draw_panels(
    path: Path, panels: Sequence[ComparisonPanel], *, title: str, subtitle: str = "", dpi: int = 110
) -> None:
    """Draw panels into the PNG file `path`: lines in grey, under points in red. Raises OSError."""
    pitch = _PANEL_WIDTH + _PANEL_GAP
    page = Page((pitch * len(panels) - _PANEL_GAP, _PANEL_HEIGHT), _PANEL_MARGINS, title, subtitle)
    for number, panel in enumerate(panels):
        _draw_panel(page.add_axes(left=number * pitch, width=_PANEL_WIDTH), panel)
    page.save(path, dpi)


def _draw_panel(axes: Axes, panel: ComparisonPanel) -> None:
    if panel.log:
        axes.set(xscale="log", yscale="log")
    styles = iter(["-", "--", ":", "-."] * len(panel.curves))
    for curve in sorted(panel.curves, key=lambda curve: not curve.line):
        if curve.line:
            axes.plot(curve.x, curve.y, color=_INK_OF_LINES, lw=1.3, ls=next(styles), label=curve.name)
        else:
            size = 4.5 if len(curve.x) <= 40 else 2.0
            axes.plot(curve.x, curve.y, color=_INK_OF_POINTS, marker="o", ms=size, ls="", label=curve.name)
    if panel.log:
        axes.minorticks_off()
        left, right = axes.get_xlim()
        many = (1.0, 2.0, 5.0)
        halves = left > 1 / 128 and right < 128 * left  # powers of 2 that read well
        decimal = LogLocator(subs=(1.0,) if right > 50 * left else many)
        axes.xaxis.set_major_locator(LogLocator(base=2.0) if halves else decimal)
        axes.yaxis.set_major_locator(LogLocator(subs=many))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:g}"))
    axes.grid(color=FAINT, alpha=0.2, lw=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=9)
    label_axes(axes, panel.x_label, panel.y_label)


_SIDE, _GAP_X, _GAP_Y = 2.9, 1.25, 0.85  # in, a picture, and between them


class PlanePicture(NamedTuple):
    """title: with a unit; values: (rows, columns), the first row at the bottom, not a number where nothing is; labels:
    of the horizontal and the vertical axis; colours: the name of a colour map."""

    title: str
    values: np.ndarray
    labels: tuple[str, str]
    colours: str = "inferno"


def draw_image_grid(
    path: Path, rows: Sequence[Sequence[PlanePicture]], title: str, subtitle: str = "", theme: Theme = LIGHT
) -> None:
    """Draw rows of pictures into the PNG, SVG or PDF file `path`. Raises OSError."""
    pitch = _SIDE + _GAP_X, _SIDE + _GAP_Y
    columns = max(len(row) for row in rows)
    page = Page((pitch[0] * columns - 0.3, pitch[1] * len(rows) - 0.4), Margins(), title, subtitle, theme)
    for number, row in enumerate(rows):
        for place, picture in enumerate(row):
            axes = page.add_axes(
                left=place * pitch[0], bottom=(len(rows) - 1 - number) * pitch[1], width=_SIDE, height=_SIDE
            )
            colours = mpl.colormaps[picture.colours].with_extremes(bad=theme.paper)
            image = axes.imshow(picture.values, origin="lower", cmap=colours, interpolation="nearest")
            axes.set_title(picture.title, fontsize=9, color=theme.ink, loc="left")
            label_axes(axes, *picture.labels, theme.ink)
            beside = axes.inset_axes((1.03, 0.0, 0.04, 1.0))
            page.figure.colorbar(image, cax=beside).ax.tick_params(labelsize=8, colors=theme.ink)
    page.save(path, DPI)
