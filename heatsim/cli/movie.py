"""`heatsim movie`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heatsim.cli.options import progress_bar, run_folder
from heatsim.cli.plot import PLANE_KEYS, open_reader, picture_options, plane_options, plane_request, warn
from heatsim.errors import RequestError

if TYPE_CHECKING:
    from heatsim.output.pictures.movie import KeptSlice
    from heatsim.output.pictures.planes import PlaneSource
    from heatsim.store.folder import RunFolder

FORMATS = ("gif", "webp", "mp4")


@click.command()
@run_folder
@plane_options
@click.option("--slice", "kept", metavar="NAME", help="A slice that the run kept [the first, if there is one].")
@click.option("--fps", type=click.FloatRange(0.1, 50.0), default=8.0, show_default=True, help="Frames a second.")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="MP4 needs heatsim\\[movie] [of --output, or gif].")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="The movie [RUN/pictures/...].")
def movie(folder: Path, kept: str | None, fps: float, output: Path | None, **asked: Any) -> None:
    """Make a movie of a RUN folder: of a slice that it kept, or of a plane through its snapshots.

    With --field, --axis, --at or --minus-... the plane goes through the snapshots, one frame each. The colours have one
    range over all times.
    """
    from heatsim.output.pictures.movie import make_movie
    from heatsim.output.pictures.options import MOVIE_DPI
    from heatsim.store.folder import RunFolder

    opened = RunFolder.open(folder)
    kind = _format(output, asked["kind"])
    shown, name = _shown(opened, kept, asked)
    if output is None:
        opened.pictures.mkdir(exist_ok=True)
    target = output or opened.pictures / f"{name}.{kind}"
    options = replace(picture_options(opened, asked), dpi=MOVIE_DPI)
    with progress_bar("movie") as progress:
        make_movie(target, shown, options, fps, warn, progress)
    click.echo(target)


def _shown(folder: RunFolder, kept: str | None, asked: dict[str, Any]) -> tuple[KeptSlice | PlaneSource, str]:
    """What the movie shows, and a name for it."""
    from heatsim.output.pictures.movie import KeptSlice
    from heatsim.output.pictures.planes import PlaneSource

    names = [name for name in folder.slice_names() if folder.slice_frame_paths(name)]
    if kept is not None and kept not in names:
        raise RequestError(f"{folder.path}: has no slice {kept!r}; there are {', '.join(names) or 'none'}")
    if (kept is None and any(asked[key] is not None for key in PLANE_KEYS)) or not names:
        reader = open_reader(folder, asked["field"])
        source = PlaneSource(reader, plane_request(reader, asked))
        return source, f"{source.field}_{source.axis}_{source.position:.6g}"
    name = kept or names[0]
    return KeptSlice(folder, name), name


def _format(output: Path | None, kind: str | None) -> str:
    if output is None:
        return kind or "gif"
    found = output.suffix[1:].lower()
    if found not in FORMATS or kind not in (None, found):
        raise click.UsageError(f"--output {output}: a file ends in {' or '.join(f'.{each}' for each in FORMATS)}")
    return found
