"""Values on planes as pictures in rows, each with a scale of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np

from heatsim.output.plots.pages import DPI, LIGHT, Margins, Page, Theme, label_axes

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
