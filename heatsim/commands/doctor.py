"""`heatsim doctor`."""

from __future__ import annotations

from collections.abc import Callable

import click

from heatsim.errors import HeatsimError


@click.command()
def doctor() -> None:
    """Say what this machine offers: versions, CPU threads, GPU."""
    from heatsim import devices, runs
    from heatsim.console.summary import table

    rows = [*runs.versions().items(), ("cpu", devices.cpu_name()), ("gpu", _or_reason(devices.gpu_name))]
    click.echo(table(rows))


def _or_reason(name: Callable[[], str]) -> str:
    try:
        return name()
    except HeatsimError as error:
        return str(error)
