"""`heatsim init`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from heatsim.errors import RunFolderError


@click.command()
@click.argument("name")
def init(name: str) -> None:
    """Write a commented starter scenario NAME.toml into the current folder."""
    from heatsim.scenario import starter

    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if path.name == ".toml":
        raise click.UsageError("a name is needed, such as `heatsim init plate`")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(starter(path.stem))
    except FileExistsError:
        raise RunFolderError(f"{path}: exists already; choose another name") from None
    click.echo(f"{path}: written; try `heatsim run {shlex.quote(str(path))}`")
