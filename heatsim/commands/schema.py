"""`heatsim schema`."""

from __future__ import annotations

import json as jsonlib

import click


@click.command()
def schema() -> None:
    """Print the JSON schema of scenario files, for editors."""
    from heatsim.scenario import schema as make_schema

    click.echo(jsonlib.dumps(make_schema(), indent=2))
