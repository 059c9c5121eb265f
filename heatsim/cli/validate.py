"""`heatsim validate`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from heatsim.cli.options import load_file, print_error, print_warnings, trust_option
from heatsim.errors import HeatsimError, NoGpuError


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--preview", is_flag=True, help="Draw what each is made of, as <scenario>_preview.png.")
@trust_option
def validate(files: tuple[Path, ...], preview: bool, trust: bool) -> None:
    """Check scenario FILES, or stdin for -, with the data files that they name; all that is wrong is reported."""
    from heatsim.cli.preview import draw
    from heatsim.problem import build_problem
    from heatsim.simulation.device_selection import choose_device
    from heatsim.simulation.growth_warnings import growth_warnings
    from heatsim.simulation.preparing import resolve_auto
    from heatsim.simulation.slow_warnings import slow_warnings

    codes = []
    for file in files:
        try:
            scenario = load_file(file, trust=trust)
            problem = build_problem(scenario)
            warnings = [*problem.warnings(), *growth_warnings(problem)]
            try:
                problem, _, taken = resolve_auto(problem, choose_device(scenario))
            except NoGpuError:  # a device that this machine does not have
                taken = None
            print_warnings([*warnings, *slow_warnings(problem, taken)])
        except HeatsimError as error:
            print_error(str(error))
            codes.append(error.exit_code)
        else:
            steps = "to the steady state" if scenario.time.is_steady else f"step at most {problem.largest_step:.4g} s"
            click.echo(f"{file}: valid, {problem.grid.cells} cells, {steps}")
            if preview:
                draw(Path(f"{file.stem}_preview.png"), problem)
    if codes:
        sys.exit(max(codes))
