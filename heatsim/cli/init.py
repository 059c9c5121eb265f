"""`heatsim init`."""

from __future__ import annotations

import json as jsonlib
import shlex
from contextlib import suppress
from pathlib import Path

import click

from heatsim.errors import RunFolderError


@click.command()
@click.argument("name")
def init(name: str) -> None:
    """Write a commented starter scenario NAME.toml into the current folder, beside it the schema for editors."""
    from heatsim.scenario import json_schema, starter
    from heatsim.scenario.reference.schema import FILE_NAME

    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if path.name == ".toml":
        raise click.UsageError("a name is needed, such as `heatsim init plate`")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(starter(path.stem))
    except FileExistsError:
        raise RunFolderError(f"{path}: exists already; choose another name") from None
    with suppress(FileExistsError), path.with_name(FILE_NAME).open("x", encoding="utf-8") as file:
        file.write(f"{jsonlib.dumps(json_schema(), indent=2)}\n")
    click.echo(f"{path}: written; try `heatsim run {shlex.quote(str(path))}`")
