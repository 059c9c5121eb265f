"""`heatsim schema`."""

from __future__ import annotations

import json as jsonlib

import click


@click.command()
@click.option("--markdown", is_flag=True, help="Print the reference of all keys instead, docs/reference/scenario.md.")
def schema(markdown: bool) -> None:
    """Print the JSON schema of scenario files, for editors."""
    if markdown:
        from heatsim.scenario.reference.schema import markdown as make_reference

        click.echo(make_reference(), nl=False)
        return
    from heatsim.scenario import json_schema as make_schema

    click.echo(jsonlib.dumps(make_schema(), indent=2))
