"""`heatsim pack`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from heatsim.cli.options import progress_bar, run_folder
from heatsim.cli.plot import open_reader


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
