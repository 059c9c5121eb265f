"""What several commands share: arguments, messages on stderr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from heatsim.errors import Issue

F = TypeVar("F", bound=Callable[..., Any])

scenario_file = click.argument("file", type=click.Path(path_type=Path))
run_folder = click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
device_option = click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", help="Where to compute."
)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
overrides_option = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, such as time.end=10."
)
trust_option = click.option("--trust", is_flag=True, help="Let FILE name data files outside its own folder.")
max_time_option = click.option(
    "--max-time", metavar="TIME", help="End with a checkpoint before this wall time, such as 8h; exit code 75."
)


def print_error(message: str) -> None:
    """Print an error to stderr, a line for each of its lines."""
    for line in message.splitlines():
        click.echo(f"error: {line}", err=True)


def print_warnings(warnings: Sequence[Issue | str]) -> None:
    """Print warnings about the scenario and the run to stderr."""
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def write_option(document: str, what: str) -> Callable[[F], F]:
    """`--write [FILE]`, of `document` if no file is named."""
    return click.option(
        "--write",
        type=click.Path(path_type=Path),
        is_flag=False,
        flag_value=Path(document),
        metavar="[FILE]",
        help=f"{what} [{document}].",
    )
