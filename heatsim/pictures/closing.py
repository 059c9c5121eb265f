"""What a run draws when it has finished: an overview, and movies of its slices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from heatsim.pictures.options import picture_options

if TYPE_CHECKING:
    from heatsim.pictures.frames import Tell
    from heatsim.scenario import Scenario
    from heatsim.store.folder import RunFolder

MOVIE_DPI = 100  # of a page 8 in wide: 800 pixels
MOVIE_FPS = 8.0


def draw_closing_pictures(folder: RunFolder, scenario: Scenario, tell: Tell) -> None:
    """Draw what `output.pictures` asks for of a run that has finished. Raises OSError; RequestError."""
    wanted, options = scenario.output.pictures, picture_options(scenario)
    if not wanted.overview and wanted.movie is None:
        return
    folder.pictures.mkdir(exist_ok=True)
    if wanted.overview:
        from heatsim.pictures.overview import draw_overview

        draw_overview(folder.pictures / f"overview.{options.kind}", folder, options, tell)
    if wanted.movie is not None:
        from heatsim.pictures.movie import KeptSlice, make_movie

        options = replace(options, dpi=MOVIE_DPI, kind="png")
        for name in folder.slice_names():
            if len(folder.slice_frame_paths(name)) > 1:
                make_movie(
                    folder.pictures / f"{name}.{wanted.movie}", KeptSlice(folder, name), options, MOVIE_FPS, tell
                )
