"""`heatsim verify` and `heatsim converge`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from heatsim.cli.options import as_json_option, device_option, load_file, overrides_option, scenario_file, write_option


@click.command()
@click.argument("names", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Name the problems, and run none.")
@click.option("--quick", is_flag=True, help="The quick problems only, a minute in all.")
@device_option
@click.option("--precision", type=click.Choice(["float32", "float64"]), default="float64", show_default=True)
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="DIR", help="Keep the runs there, and a figure each."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@write_option(
    "docs/reports/verification.md", "Put table and figures into a document, in place of this device's last ones"
)
def verify(**asked: Any) -> None:
    """Run problems with published or exact answers, all or those of NAMES, and judge them.

    Exit code 5 if one is out of tolerance. A problem that needs float64 is neither passed nor failed in float32;
    demanded by name it ends with exit code 2.
    """
    from heatsim.studies.verification import command

    sys.exit(command.run(asked, lambda line: click.echo(line, err=True)))


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
