"""`heatsim info`."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path

import click

from heatsim.cli.options import as_json_option, run_folder


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
