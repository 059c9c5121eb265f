"""How pictures look: what commands and the table `output.pictures` of a scenario may choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from heatsim.output.plots.pages import Theme
    from heatsim.scenario import Scenario

Span = tuple[float, float]
Range = Literal["run", "frame"] | Span


@dataclass(frozen=True)
class PictureOptions:
    """How pictures of planes look.

    range: of the colours: over all times that are drawn, of each picture by itself, or given; levels: values with lines
    of their own; contours: whether there are isotherms at the ticks of the scale; crop: what is shown of the plane,
    (left, right, bottom, top) in m; kind: the format, "png", "svg" or "pdf"; dpi: pixels an inch.
    """

    theme: Literal["light", "dark"] = "light"
    range: Range = "run"
    levels: tuple[float, ...] = ()
    contours: bool = True
    crop: tuple[float, float, float, float] | None = None
    kind: Literal["png", "svg", "pdf"] = "png"
    dpi: int = 150

    @property
    def colours(self) -> Theme:
        """The colours of the page."""
        from heatsim.output.plots.pages import THEMES

        return THEMES[self.theme]


def picture_options(scenario: Scenario) -> PictureOptions:
    """How a scenario wants the pictures of its slices to look."""
    wanted = scenario.output.pictures
    return PictureOptions(wanted.theme, wanted.range, wanted.levels, wanted.contours, kind=wanted.format)
