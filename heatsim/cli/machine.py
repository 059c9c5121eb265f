"""What this machine offers, and kernels compiled ahead: `heatsim doctor` and `heatsim warm`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from heatsim.cli.options import print_error
from heatsim.errors import HeatsimError


@click.command()
def doctor() -> None:
    """Say what this machine offers: versions, CPU threads, GPU."""
    from heatsim.cli.summary import format_table
    from heatsim.simulation import device_selection, run_info

    rows = [
        *run_info.list_versions().items(),
        ("cpu", device_selection.cpu_name()),
    ]
    try:
        rows.append(("gpu", device_selection.gpu_name()))
    except HeatsimError as error:
        rows.append(("gpu", str(error)))
    click.echo(format_table(rows))


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--quiet", is_flag=True, help="No line for each scenario.")
def warm(files: tuple[Path, ...], quiet: bool) -> None:
    """Compile the kernels that scenario FILES use, so that their runs start at once.

    Without FILES, those of common runs: one and several materials, k(T), small and large grids, all integrators. What
    is compiled already is not compiled again. Nothing is computed to its end, and no results are kept.
    """
    from heatsim.simulation.precompile import common_scenarios, precompile_all

    count, failed = 0, False
    with TemporaryDirectory(prefix="heatsim-warm-") as folder:
        for name, kernels, error in precompile_all(files or common_scenarios(Path(folder))):
            count += len(kernels)
            if error:
                failed = True
                print_error(f"{name}: {error}")
            elif not quiet:
                click.echo(f"{name}: {_count_in_words(len(kernels))} compiled", err=True)
    click.echo(f"{_count_in_words(count)} compiled" if count else "nothing to compile")
    if failed:
        sys.exit(1)


def _count_in_words(kernels: int) -> str:
    return f"{kernels or 'no'} kernel{'s' if kernels != 1 else ''}"
