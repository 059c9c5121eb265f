"""What several commands share: arguments, messages on stderr."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from heatsim.errors import Flaw

scenario_file = click.argument("file", type=click.Path(path_type=Path))
run_folder = click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
overrides_option = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, such as time.end=10."
)


def tell(message: str) -> None:
    """An error on stderr, a line for each of its lines."""
    for line in message.splitlines():
        click.echo(f"error: {line}", err=True)


def warn(cautions: Sequence[Flaw]) -> None:
    """What a valid scenario hardly means, on stderr."""
    for caution in cautions:
        click.echo(f"warning: {caution}", err=True)
