"""How pictures look, as commands or `output.pictures` choose; and which pictures a run draws when it has finished."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from heatsim.output.pictures.frames import Tell
    from heatsim.output.pictures.pages import Theme
    from heatsim.scenario import Scenario
    from heatsim.store.folder import RunFolder

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
        from heatsim.output.pictures.pages import THEMES

        return THEMES[self.theme]


def picture_options(scenario: Scenario) -> PictureOptions:
    """How a scenario wants the pictures of its slices to look."""
    wanted = scenario.output.pictures
    return PictureOptions(wanted.theme, wanted.range, wanted.levels, wanted.contours, kind=wanted.format)


MOVIE_DPI = 100  # of a page 8 in wide: 800 pixels
MOVIE_FPS = 8.0


def overview_picture(folder: RunFolder) -> bytes:
    """The overview of a run, a PNG: that in its folder, else drawn for this.

    Raises OSError, and RunFolderError where there is no snapshot.
    """
    kept = folder.pictures / "overview.png"
    if kept.is_file():
        return kept.read_bytes()
    from heatsim.output.pictures.overview import draw_overview

    with TemporaryDirectory() as place:
        path = Path(place) / "overview.png"
        draw_overview(path, folder, PictureOptions(), lambda message: None)
        return path.read_bytes()


def draw_closing_pictures(folder: RunFolder, scenario: Scenario, tell: Tell) -> None:
    """Draw what `output.pictures` asks for of a run that has finished. Raises OSError; RequestError."""
    wanted, options = scenario.output.pictures, picture_options(scenario)
    if not wanted.overview and wanted.movie is None:
        return
    folder.pictures.mkdir(exist_ok=True)
    if wanted.overview:
        from heatsim.output.pictures.overview import draw_overview

        draw_overview(folder.pictures / f"overview.{options.kind}", folder, options, tell)
    if wanted.movie is not None:
        from heatsim.output.pictures.movie import KeptSlice, make_movie

        options = replace(options, dpi=MOVIE_DPI, kind="png")
        for name in folder.slice_names():
            if len(folder.slice_frame_paths(name)) > 1:
                make_movie(
                    folder.pictures / f"{name}.{wanted.movie}", KeptSlice(folder, name), options, MOVIE_FPS, tell
                )
