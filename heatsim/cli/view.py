"""`heatsim view`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from heatsim.cli.options import progress_bar, run_folder
from heatsim.cli.plot import open_reader, warn

if TYPE_CHECKING:
    from heatsim.store.field_reader import FieldReader
    from heatsim.store.folder import RunFolder


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
