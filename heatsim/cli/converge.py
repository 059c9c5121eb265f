"""`heatsim converge`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from heatsim.cli.options import as_json_option, load_file, overrides_option, scenario_file


@click.command()
@scenario_file
@click.option("--levels", type=click.IntRange(3, 8), help="Grids, and steps, each half of the last [4; 3 in 3-D].")
@click.option(
    "--quantity",
    default="field",
    show_default=True,
    help='"field" or "probe NAME" at the end, or the name of a result.',
)
@click.option("--exact", metavar="EXPR", help="The exact temperature in x, y, z, t; else successive runs are compared.")
@click.option("--refine", type=click.Choice(["grid", "step", "both"]), default="both", show_default=True)
@overrides_option
@click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="Keep the runs there.")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw errors over spacings (PNG).")
@as_json_option
def converge(**asked: Any) -> None:
    """Refine the grid and the step of a scenario FILE, and report the observed orders of convergence.

    The coarsest grid is that of the file. In the grid study the step shrinks with the square of the spacing, where it
    is explicit; in the step study the grid stays.
    """
    from heatsim.studies.verification import convergence

    scenario = load_file(asked["file"], ["compute.precision=float64", *asked["overrides"]])
    sys.exit(convergence.run(scenario, asked, lambda line: click.echo(line, err=True)))
