"""`heatsim doctor`."""

from __future__ import annotations

from collections.abc import Callable

import click

from heatsim.errors import HeatsimError


@click.command()
def doctor() -> None:
    """Say what this machine offers: versions, CPU threads, GPU."""
    from heatsim.cli.summary import format_table
    from heatsim.simulation import device_selection, run_info

    rows = [
        *run_info.list_versions().items(),
        ("cpu", device_selection.cpu_name()),
        ("gpu", _or_reason(device_selection.gpu_name)),
    ]
    click.echo(format_table(rows))


def _or_reason(name: Callable[[], str]) -> str:
    try:
        return name()
    except HeatsimError as error:
        return str(error)
