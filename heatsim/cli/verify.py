"""`heatsim verify`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from heatsim.cli.options import device_option, write_option


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
