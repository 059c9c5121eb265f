"""Curves and points over each other, in panels side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator

from heatsim.output.plots.curve import ComparisonPanel
from heatsim.output.plots.pages import FAINT, Margins, Page, label_axes

_WIDTH, _HEIGHT, _GAP = 4.2, 3.1, 1.05  # in, a panel, and between panels
_MARGINS = Margins(left=0.95)
_INK_OF_LINES, _INK_OF_POINTS = "#6b7280", "#b5343c"


def draw_panels(
    path: Path, panels: Sequence[ComparisonPanel], *, title: str, subtitle: str = "", dpi: int = 110
) -> None:
    """Draw panels into the PNG file `path`: lines in grey, under points in red. Raises OSError."""
    pitch = _WIDTH + _GAP
    page = Page((pitch * len(panels) - _GAP, _HEIGHT), _MARGINS, title, subtitle)
    for number, panel in enumerate(panels):
        _draw(page.add_axes(left=number * pitch, width=_WIDTH), panel)
    page.save(path, dpi)


def _draw(axes: Axes, panel: ComparisonPanel) -> None:
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
        _name_few_ticks(axes)
    axes.grid(color=FAINT, alpha=0.2, lw=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=9)
    label_axes(axes, panel.x_label, panel.y_label)


def _name_few_ticks(axes: Axes) -> None:
    axes.minorticks_off()
    left, right = axes.get_xlim()
    few, many = (1.0,), (1.0, 2.0, 5.0)
    halves = left > 1 / 128 and right < 128 * left  # powers of 2 that read well
    decimal = LogLocator(subs=few if right > 50 * left else many)
    axes.xaxis.set_major_locator(LogLocator(base=2.0) if halves else decimal)
    axes.yaxis.set_major_locator(LogLocator(subs=many))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, position: f"{value:g}"))
