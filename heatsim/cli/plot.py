"""`heatsim plot`."""

from __future__ import annotations

from pathlib import Path

import click

from heatsim.cli.options import run_folder
from heatsim.errors import RunFolderError


@click.command()
@run_folder
def plot(folder: Path) -> None:
    """Draw the slices of a RUN folder again, with one colour range over all times."""
    from heatsim.recorders.pictures import draw_frames
    from heatsim.store.folder import RunFolder

    opened = RunFolder.open(folder)
    names = opened.slice_names()
    if not names:
        raise RunFolderError(f"{folder}: the run has no slices; ask for them with [[output.slices]] in the scenario")
    for name in names:
        for path in draw_frames(opened, name):
            click.echo(path)
