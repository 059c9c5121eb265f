"""`heatsim sweep`."""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heatsim.cli.options import (
    as_json_option,
    is_stdin,
    name_of,
    overrides_option,
    print_error,
    read_stdin,
    scenario_file,
    trust_option,
)

if TYPE_CHECKING:
    from heatsim.studies.sweeps.table import Row


@click.command()
@scenario_file
@click.option(
    "--vary", multiple=True, metavar="NAME=VALUES", help="A parameter's values: h=5,10,20 or thickness=1mm:5mm:5."
)
@click.option("--method", type=click.Choice(["product", "zip", "latin_hypercube"]), help="How values are combined.")
@click.option("--samples", type=click.IntRange(1), help="Runs of a Latin hypercube.")
@click.option("--seed", type=click.IntRange(0), help="Seed of a Latin hypercube [0].")
@click.option("--output", type=click.Path(path_type=Path), help="Folder for the runs [outputs/<scenario>-sweep].")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that share the runs.")
@click.option("--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler whose workers take the runs.")
@click.option("--resume", is_flag=True, help="Do what is missing of a sweep that was stopped.")
@click.option("--force", is_flag=True, help="Begin a sweep anew in its folder.")
@overrides_option
@trust_option
@as_json_option
def sweep(file: Path, overrides: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Run a scenario FILE with other parameters each time.

    Exit code 1 if a run has failed; the others are done then.
    """
    from heatsim.scenario.sweep import axis_of_text
    from heatsim.studies.sweeps import runs, table

    axes = [axis_of_text(each) for each in options["vary"]]
    chosen = {name: options[name] for name in ("method", "samples", "seed", "trust")}
    family = runs.make_sweep(file, axes, overrides, **chosen, text=read_stdin() if is_stdin(file) else None)
    folder = options["output"] or Path("outputs") / f"{name_of(file)}-sweep"
    count = len(family.points)

    def show(number: int, row: Row) -> None:
        given = ", ".join(f"{name} = {value}" for name, value in family.points[number].items())
        click.echo(f"{number + 1:>{len(str(count))}}/{count}  {given}: {_in_words(row)}", err=True)

    how = {name: options[name] for name in ("workers", "scheduler", "resume", "force")}
    done = []

    def note(number: int, row: Row) -> None:
        done.append(number)
        if not as_json:
            show(number, row)

    try:
        rows = runs.run_sweep(family, folder, on_row=note, **how)
    except KeyboardInterrupt:
        words = [*(word for word in sys.argv[1:] if word not in ("--force", "--resume")), "--resume"]
        click.echo(f"stopped after {len(done)} of {count} runs; to go on: heatsim {shlex.join(words)}", err=True)
        raise
    pictures = table.draw_trends(folder, family.title)
    failed = {number: row for number, row in rows.items() if row[table.STATE] != "finished"}
    if as_json:
        found = [{"run": n, "parameters": family.points[n], **rows[n]} for n in sorted(rows)]
        click.echo(jsonlib.dumps({"folder": str(folder), "runs": found}, indent=2))
    else:
        click.echo(f"{count - len(failed)} of {count} runs finished; {folder / table.TABLE}, {len(pictures)} pictures")
    if failed:
        print_error(f"{len(failed)} of {count} runs failed; --resume tries them again")
        sys.exit(1)


def _in_words(row: Row) -> str:
    if row["state"] != "finished":
        return f"{row['state']}: {row.get('error', '')}"
    values = [(name, value) for name, value in row.items() if isinstance(value, float)]
    return ", ".join(f"{name.partition(' [')[0]} {value:.5g}" for name, value in values[:3])
