"""`heatsim plot` and `heatsim movie`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heatsim.cli.options import (
    LENGTH,
    TEMPERATURE,
    TIME,
    Measure,
    NumberList,
    ParamType,
    progress_bar,
    run_folder,
    to_run_unit,
)
from heatsim.errors import RequestError, RunFolderError

if TYPE_CHECKING:
    from heatsim.output.pictures.movie import KeptSlice
    from heatsim.output.pictures.options import PictureOptions
    from heatsim.output.pictures.planes import PlaneRequest, PlaneSource
    from heatsim.store.field_reader import FieldReader, SnapshotHeader
    from heatsim.store.folder import RunFolder

TABLES = ("probes", "regions", "energy", "melt_pool")
FORMATS = ("png", "svg", "pdf")


class _Range(ParamType):
    """`run`, `frame`, or the two ends."""

    name = "run|frame|LOW,HIGH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value in ("run", "frame") else NumberList(2).convert(value, param, ctx)


_STYLE = (
    click.option("--range", "span", type=_Range(), help="Colours: of all times, a picture, or given [run]."),
    click.option("--level", "levels", multiple=True, type=Measure(TEMPERATURE), help="A value with a line of its own."),
    click.option("--crop", type=NumberList(4, LENGTH), metavar="LEFT,RIGHT,BOTTOM,TOP", help="The part to show, m."),
    click.option("--contours/--no-contours", default=None, help="Lines of equal value [drawn]."),
    click.option("--theme", type=click.Choice(["light", "dark"]), help="Colours of the page [light]."),
)
_PLANE = (
    click.option("--field", metavar="NAME", help="A field of the snapshots [what was solved for]."),
    click.option("--axis", type=click.Choice(["x", "y", "z"]), help="The normal of the plane [the shortest side]."),
    click.option("--at", type=Measure(LENGTH), help="Where the plane cuts the axis, m [the middle]."),
    click.option("--minus-run", type=click.Path(path_type=Path), metavar="RUN", help="Take the values of a run off."),
    click.option("--minus-time", type=Measure(TIME), help="Take the values at a time off, s."),
    click.option("--arrows/--no-arrows", default=True, help="Arrows of heat_flux and gradient."),
)


def plane_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What `plot` and `movie` may say of a plane, and of how it looks."""
    for option in reversed((*_PLANE, *_STYLE)):
        command = option(command)
    return command


@click.command()
@run_folder
@plane_options
@click.option("--time", "times", multiple=True, metavar="S|all", help="A time, s, or all [the last].")
@click.option(
    "--line", nargs=2, type=NumberList(3, LENGTH), metavar="X,Y,Z X,Y,Z", help="A profile between two points."
)
@click.option("--table", "tables", multiple=True, type=click.Choice(TABLES), help="A table to draw over time.")
@click.option("--log", is_flag=True, help="Logarithmic time, of tables.")
@click.option("--overview", is_flag=True, help="The run on one page.")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="Format of pictures [that of --output, or png].")
@click.option("--output", type=click.Path(path_type=Path), metavar="PATH", help="A file, or a folder [RUN/pictures].")
def plot(folder: Path, **asked: Any) -> None:
    """Draw pictures of a RUN folder.

    Without options: the slices that the run kept, with one colour range over all times, its tables, and an overview.
    With --field, --axis, --at, --time or --minus-...: a plane through the snapshots. A length may have a unit, as 5mm.
    Of the folder of a sweep: each result over the parameters.
    """
    from heatsim.store.folder import RunFolder
    from heatsim.studies.sweeps.table import is_sweep

    if is_sweep(folder):
        _plot_sweep(folder, asked)
        return
    request = PlotRequest(RunFolder.open(folder), asked)
    to_file = asked["output"] is not None and asked["output"].suffix != ""
    if asked["line"]:
        request.draw_line()
    if asked["tables"]:
        request.draw_tables(asked["tables"])
    if asked["overview"]:
        request.draw_overview()
    if asked["line"] or asked["tables"] or asked["overview"]:
        return
    if to_file or asked["times"] or any(asked[name] is not None for name in PLANE_KEYS):
        request.draw_planes()
    else:
        request.draw_all()


def _plot_sweep(folder: Path, asked: dict[str, Any]) -> None:
    from heatsim.studies.sweeps.table import draw_trends, title_of

    given = [name for name, value in asked.items() if value not in (None, False, ()) and name != "arrows"]
    if given:
        option = {"times": "time", "levels": "level", "span": "range", "kind": "format", "tables": "table"}
        named = option.get(given[0], given[0]).replace("_", "-")
        raise click.UsageError(f"--{named}: {folder} holds a sweep; name one of its runs, such as {folder / '0000'}")
    for path in draw_trends(folder, title_of(folder)):
        click.echo(path)


PLANE_KEYS = ("field", "axis", "at", "minus_run", "minus_time")


@dataclass
class PlotRequest:
    """What is asked of a run, and where pictures go."""

    folder: RunFolder
    asked: dict[str, Any]

    @property
    def style(self) -> PictureOptions:
        """How pictures look."""
        return picture_options(self.folder, self.asked, self._kind())

    def draw_planes(self) -> None:
        """Draw a plane at the times that are asked for."""
        from heatsim.output.pictures.planes import PlaneSource, draw_planes

        reader = open_reader(self.folder, self.asked["field"])
        source = PlaneSource(reader, plane_request(reader, self.asked))
        headers = self._headers(reader)
        name = f"{source.field}_{source.axis}_{source.position:.6g}"
        name += "_difference" if source.minus else ""
        targets = self._targets([f"{name}_{header.path.stem}" for header in headers])
        self._say(draw_planes(source, list(zip(headers, targets, strict=True)), self.style, warn))

    def draw_line(self) -> None:
        """Draw profiles between two points."""
        from heatsim.output.pictures.charts import Chart, draw_charts
        from heatsim.output.pictures.planes import line_curves
        from heatsim.output.pictures.units import format_length, length_unit, value_label

        reader = open_reader(self.folder, self.asked["field"])
        field, ends = self.asked["field"] or reader.quantity.name, self.asked["line"]
        curves = line_curves(reader, field, ends, self._headers(reader))
        info = reader.require(field)
        scale, symbol = length_unit(float(curves[0].x[-1]))
        curves = [curve._replace(x=curve.x / scale) for curve in curves]
        label = value_label(info.long_name[:1].upper() + info.long_name[1:], info.unit)
        chart = Chart(f"Distance ({symbol})", label, curves, levels=self.style.levels)
        places = (", ".join(format_length(place) for place in end) for end in ends)
        (target,) = self._targets([f"{field}_line"])
        draw_charts(target, [chart], reader.title or "Profile", "({}) to ({})".format(*places), self.style.colours)
        self._say([target])

    def draw_tables(self, names: tuple[str, ...]) -> None:
        """Draw tables over time."""
        from heatsim.output.pictures.charts import draw_charts
        from heatsim.output.pictures.tables import table_charts

        title = str(self.folder.read_info().get("title") or "A run")
        drawings = [(name, table_charts(self.folder, name, self.asked["log"])) for name in names]
        targets = self._targets([name for name, _ in drawings])
        for (name, charts), target in zip(drawings, targets, strict=True):
            draw_charts(target, charts, title, name.replace("_", " ").capitalize(), self.style.colours)
            self._say([target])

    def draw_overview(self) -> None:
        """Draw the run on one page."""
        from heatsim.output.pictures.overview import draw_overview

        (target,) = self._targets(["overview"])
        draw_overview(target, self.folder, self.style, warn)
        self._say([target])

    def draw_all(self) -> None:
        """Draw the slices that were kept, the tables that there are, and the overview."""
        from heatsim.output.pictures.frames import draw_frames

        for name in self.folder.slice_names():
            if self.folder.slice_frame_paths(name):
                self._say(draw_frames(self.folder, name, self.style, warn))
        for name in TABLES:
            with suppress(RequestError):  # there is no such table, or it has no second time, as of a steady state
                self.draw_tables((name,))
        try:
            self.draw_overview()
        except RunFolderError as error:  # no snapshots: there are other pictures, or nothing at all
            if not self.folder.slice_names():
                raise
            warn(str(error))

    def _headers(self, reader: FieldReader) -> list[SnapshotHeader]:
        times = self.asked["times"]
        if "all" in times:
            return reader.snapshots
        wanted = [Measure(TIME).convert(time, None, None) for time in times] or [None]
        return sorted({reader.at(time) for time in wanted}, key=lambda header: header.step)

    def _kind(self) -> str:
        output, kind = self.asked["output"], self.asked["kind"]
        if output is None or not output.suffix:
            try:
                return str(kind or self.folder.read_scenario()["output"]["pictures"]["format"])
            except (RunFolderError, KeyError):
                return "png"
        if output.suffix[1:].lower() not in FORMATS or kind not in (None, output.suffix[1:].lower()):
            raise click.UsageError(f"--output {output}: a file ends in .{kind}" if kind else _WHICH.format(output))
        return str(output.suffix[1:].lower())

    def _targets(self, names: list[str]) -> list[Path]:
        """Files for pictures of these names."""
        output, kind = self.asked["output"], self._kind()
        if output is not None and output.suffix:
            if len(names) > 1:
                raise click.UsageError(f"--output {output}: there are {len(names)} pictures; name a folder")
            return [output]
        place = output or self.folder.pictures
        place.mkdir(exist_ok=True)
        return [place / f"{name}.{kind}" for name in names]

    def _say(self, paths: list[Path]) -> None:
        for path in paths:
            click.echo(path)


_WHICH = "--output {}: a file ends in .png, .svg or .pdf; a folder has no dot in its name"


def warn(message: str) -> None:
    """Tell something on stderr."""
    click.echo(f"warning: {message}", err=True)


def open_reader(folder: RunFolder, field: str | None = None) -> FieldReader:
    """The snapshots of a run; those that are damaged are reported. A heat flux or gradient that they do not hold, if
    it is the `field` that is asked for, follows from the temperature."""
    from heatsim.output.pictures.planes import vector_name
    from heatsim.store.field_reader import FieldReader

    reader = FieldReader(folder)
    for message in reader.skipped:
        warn(message)
    if field and field not in reader.fields and vector_name(reader, field) is not None:
        from heatsim.output.pictures.planes import add_vector

        add_vector(reader, field)
    return reader


def plane_request(reader: FieldReader, asked: dict[str, Any]) -> PlaneRequest:
    """The plane that options ask for."""
    from heatsim.output.pictures.planes import PlaneRequest
    from heatsim.store.folder import RunFolder

    run, time = asked["minus_run"], asked["minus_time"]
    minus = None
    if run is not None or time is not None:
        minus = (reader if run is None else open_reader(RunFolder.open(run), asked["field"]), time)
    return PlaneRequest(asked["field"] or "", asked["axis"], asked["at"], minus, asked["arrows"])


def picture_options(folder: RunFolder, asked: dict[str, Any], kind: str = "png") -> PictureOptions:
    """How options ask pictures to look; what they leave out is as the scenario has it in `output.pictures`."""
    from heatsim.output.pictures.options import PictureOptions

    solved = folder.read_quantity()
    unit = solved.unit
    try:
        own = folder.read_scenario().get("output", {}).get("pictures", {})
    except RunFolderError:  # a run of old, or one without its scenario
        own = {}
    levels = tuple(to_run_unit(level, unit) for level in asked["levels"])
    if not levels and asked.get("field") in (None, solved.name):
        levels = tuple(own.get("levels", ()))

    def chosen(option: str, key: str, default: Any) -> Any:
        return own.get(key, default) if asked[option] is None else asked[option]

    span, theme = chosen("span", "range", "run"), chosen("theme", "theme", "light")
    if isinstance(span, list):
        span = tuple(span) if asked.get("field") in (None, solved.name) else "run"
    contours = chosen("contours", "contours", True)
    return PictureOptions(theme, span, levels, contours, asked["crop"], kind)  # type: ignore[arg-type]


MOVIE_FORMATS = ("gif", "webp", "mp4")


@click.command()
@run_folder
@plane_options
@click.option("--slice", "kept", metavar="NAME", help="A slice that the run kept [the first, if there is one].")
@click.option("--fps", type=click.FloatRange(0.1, 50.0), default=8.0, show_default=True, help="Frames a second.")
@click.option(
    "--format", "kind", type=click.Choice(MOVIE_FORMATS), help="MP4 needs heatsim\\[movie] [of --output, or gif]."
)
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
    kind = _movie_format(output, asked["kind"])
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


def _movie_format(output: Path | None, kind: str | None) -> str:
    if output is None:
        return kind or "gif"
    found = output.suffix[1:].lower()
    if found not in MOVIE_FORMATS or kind not in (None, found):
        raise click.UsageError(f"--output {output}: a file ends in {' or '.join(f'.{each}' for each in MOVIE_FORMATS)}")
    return found
