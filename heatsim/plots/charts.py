"""Curves over time or along a line, with their names beside them, so that none covers a curve; and maps of values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from heatsim.plots.curve import Curve
from heatsim.plots.pages import DPI, LIGHT, Margins, Page, Theme, label_axes

_WIDTH, _HEIGHT = 5.2, 3.2  # in, a panel
_GAP = 0.35  # in, between panels, beside the height of labels
_NAMES = 2.05  # in, for the names of the curves
_LETTERS = 24  # of a name
_ROW = 0.185  # in, a name
_STYLES = ("-", "--", ":", "-.")


class Chart(NamedTuple):
    """A panel: labels with units, curves, values that have a line of their own, and which axes are logarithmic."""

    x_label: str
    y_label: str
    curves: Sequence[Curve]
    log_x: bool = False
    levels: tuple[float, ...] = ()
    log_y: bool = False


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
    axes.set(xscale="log" if chart.log_x else "linear", yscale="log" if chart.log_y else "linear")
    for number, curve in enumerate(chart.curves):
        colour = theme.curves[number % len(theme.curves)]
        dash = _STYLES[number // len(theme.curves) % len(_STYLES)]
        few = len(curve.x) <= 12
        axes.plot(
            curve.x, curve.y, color=colour, ls=dash, lw=1.5, marker="o" if few else "", ms=3.0, label=_short(curve.name)
        )
    for level in chart.levels:
        axes.axhline(level, color=theme.mark, lw=1.2)
    _finish(axes, chart, theme)
    if any(curve.name for curve in chart.curves):
        _name_curves(axes, len(chart.curves), theme)


def _finish(axes: Axes, chart: Chart, theme: Theme) -> None:
    axes.grid(color=theme.faint, alpha=0.2, lw=0.6)
    axes.set_axisbelow(True)
    label_axes(axes, chart.x_label, chart.y_label, theme.ink)
    plain = FuncFormatter(lambda value, position: f"{value + 0.0:.6g}")
    axes.yaxis.set_major_locator(LogLocator(numticks=8) if chart.log_y else MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(plain)
    if chart.log_x or chart.log_y:
        axes.minorticks_off()
    if chart.log_x:
        axes.xaxis.set_major_locator(LogLocator(numticks=8))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
        axes.margins(x=0.0)
    axes.xaxis.set_major_formatter(plain)
    low, high = axes.get_ylim()
    if not chart.log_y and high - low < 1e-6 * max(abs(low), abs(high)):  # rounding is no structure to show
        axes.set_ylim(0.5 * (low + high) - 0.5, 0.5 * (low + high) + 0.5)


def _name_curves(axes: Axes, count: int, theme: Theme) -> None:
    names = axes.get_legend_handles_labels()
    rows = max(2, int(axes.bbox.height / axes.figure.dpi / _ROW))
    handles, labels = names[0][:rows], names[1][:rows]
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
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


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
        _write_values(axes, np.asarray(image.norm(shown.values)), shown.values)
    label_axes(axes, shown.labels[0], shown.labels[1], theme.ink)
    bar = page.figure.colorbar(image, cax=page.add_axes(left=_MAP + _BAR_GAP, width=_BAR))
    bar.outline.set_visible(False)
    bar.ax.set_ylabel(shown.labels[2], size=10, color=theme.ink, labelpad=8)
    page.save(path, DPI)


def _write_values(axes: Axes, shares: np.ndarray, values: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            ink = "black" if shares[row, column] > 0.6 else "white"
            axes.text(column, row, f"{value:.4g}", ha="center", va="center", size=7, color=ink)
