"""What is asked of a run folder, pictures aside: `heatsim info`, `pack`, `view` and `hotspots`."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heatsim.cli.options import as_json_option, progress_bar, run_folder
from heatsim.cli.plot import open_reader, warn
from heatsim.errors import RunFolderError

if TYPE_CHECKING:
    from heatsim.store.field_reader import FieldReader
    from heatsim.store.folder import RunFolder


@click.command()
@run_folder
@as_json_option
def info(folder: Path, as_json: bool) -> None:
    """Say what a RUN folder holds and how the run went; or what the folder of a sweep holds."""
    from heatsim.cli import summary
    from heatsim.store.folder import RunFolder
    from heatsim.studies.sweeps import table

    if table.is_sweep(folder):
        about = table.describe_sweep(folder)
        click.echo(jsonlib.dumps(about, indent=2) if as_json else summary.format_sweep(folder, about))
        return
    opened = RunFolder.open(folder)
    found = opened.read_info()
    if as_json:
        click.echo(jsonlib.dumps(found, indent=2))
        return
    click.echo(summary.format_folder(opened, found))
    if "timings" in found:
        click.echo(summary.format_run(folder, found))


@click.command()
@run_folder
@click.option(
    "--for",
    "order",
    type=click.Choice(["fields", "series"]),
    default="fields",
    show_default=True,
    help="Chunks for whole fields, or for time series at points.",
)
@click.option("--field", "fields", multiple=True, metavar="NAME", help="A field to keep; may be repeated [all].")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="The file [RUN/packed.vtkhdf].")
def pack(folder: Path, order: Any, fields: tuple[str, ...], output: Path | None) -> None:
    """Write the snapshots of a RUN folder as one ordinary file: (time, z, y, x), for xarray (CF) and ParaView (VTKHDF).

    The snapshots stay. Those that are damaged are left out, and reported.
    """
    from heatsim.store.folder import RunFolder
    from heatsim.store.packing import pack_run

    opened = RunFolder.open(folder)
    target = output or opened.path / "packed.vtkhdf"
    with progress_bar("packing") as progress:
        pack_run(open_reader(opened), target, order, fields, progress)
    click.echo(target)


@click.command()
@run_folder
@click.option("--field", default="", metavar="NAME", help="A field of the snapshots [what was solved for].")
@click.option("--coarsen", type=click.IntRange(1), metavar="N", help="Means of N cells along each axis [as fits].")
@click.option("--every", type=click.IntRange(1), metavar="N", help="Each Nth snapshot [as fits].")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="The page [RUN/pictures/view.html].")
@click.option("--serve", is_flag=True, help="Show a run that still goes on, at an address of this machine alone.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port of that address [any that is free].")
def view(
    folder: Path, field: str, coarsen: int | None, every: int | None, output: Path | None, serve: bool, port: int
) -> None:
    """Write a RUN folder as one HTML page: sections, a volume, probes over time.

    The page needs no network and no other file. It opens in any browser of 2023 or later.
    """
    from heatsim.output.viewer.frames import FrameSource
    from heatsim.output.viewer.page import write_page
    from heatsim.store.folder import RunFolder

    if serve:
        _serve(folder, field, coarsen, every, port)
        return
    opened = RunFolder.open(folder)
    reader = open_reader(opened, field)
    reader.require(field or reader.quantity.name)
    target = output or opened.pictures / "view.html"
    if output is None:
        opened.pictures.mkdir(exist_ok=True)
    with progress_bar("view") as progress:
        write_page(target, FrameSource(reader, field, coarsen, every), warn, progress)
    click.echo(target)


def _serve(folder: Path, field: str, coarsen: int | None, every: int | None, port: int) -> None:
    """Answer a browser until Ctrl-C."""
    from heatsim.output.viewer.server import HOST, LiveRun, make_server

    def make_reader(opened: RunFolder) -> FieldReader:
        reader = open_reader(opened, field)
        reader.require(field or reader.quantity.name)
        return reader

    run = LiveRun(folder, make_reader, field, coarsen, every)
    with make_server(run, port) as server:
        click.echo(f"http://{HOST}:{server.server_port}/")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


@click.command()
@run_folder
@click.option(
    "--scale", "scales", multiple=True, metavar="M", help="A size to look for, m [hotspots.scales of the run]."
)
@click.option("--threshold", metavar="K", help="Least rise over the surroundings [hotspots.threshold of the run].")
@click.option("--frames", metavar="N", help="Search the mean of the last N frames [hotspots.frames of the run].")
@click.option("--slice", "names", multiple=True, metavar="NAME", help="A slice to search [all].")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where to filter.")
@as_json_option
def hotspots(
    folder: Path,
    scales: tuple[str, ...],
    threshold: str | None,
    frames: str | None,
    names: tuple[str, ...],
    device: str,
    as_json: bool,
) -> None:
    """Find the hot spots on the last frames of the slices of a RUN folder, in place of those found before.

    Writes hotspots.csv and a picture of each slice. --scale and --slice may be repeated.
    """
    from heatsim.cli import summary
    from heatsim.output.recorders.hotspots import search_slices
    from heatsim.scenario import load
    from heatsim.simulation import device_selection, run_info
    from heatsim.store.folder import RunFolder

    opened = RunFolder.open(folder)
    given = {"scales": f"[{', '.join(scales)}]" if scales else None, "threshold": threshold, "frames": frames}
    scenario = load(opened.scenario, [f"hotspots.{key}={value}" for key, value in given.items() if value is not None])
    if scenario.hotspots is None:
        raise click.UsageError(f"{folder}: its scenario has no [hotspots]; give --scale and --threshold")
    unknown = sorted(set(names) - set(opened.slice_names()))
    if unknown:
        known = ", ".join(opened.slice_names()) or "none"
        raise click.UsageError(f"{folder}: has no slice {unknown[0]!r}; there are {known}")
    if device == "cuda":
        device_selection.gpu_name()  # or the reason why there is none
    if not any(opened.slice_frame_paths(name) for name in names or opened.slice_names()):
        raise RunFolderError(f"{folder}: the run has no frames of slices; ask for them with [[output.slices]]")
    found = search_slices(opened, scenario.hotspots, names or None, device, scenario.ambients)
    opened.write_info({**opened.read_info(), "hotspots": run_info.describe_hotspots(opened)})
    if as_json:
        click.echo(jsonlib.dumps(run_info.describe_hotspots(opened), indent=2))
    else:
        click.echo(summary.format_hotspots(found, scenario.solved))
