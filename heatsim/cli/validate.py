"""`heatsim validate`."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heatsim.cli.options import as_json_option, in_json, load_file, name_of, print_warnings, report_error, trust_option
from heatsim.errors import HeatsimError, Issue, NoGpuError

if TYPE_CHECKING:
    from heatsim.problem import Problem


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--preview", is_flag=True, help="Draw what each is made of, as <scenario>_preview.png.")
@trust_option
@as_json_option
def validate(files: tuple[Path, ...], preview: bool, trust: bool, as_json: bool) -> None:
    """Check scenario FILES, or stdin for -, with the data files that they name; all that is wrong is reported."""
    from heatsim.cli.preview import draw

    codes, found = [], []
    for file in files:
        try:
            problem, warnings = _build(file, trust)
        except HeatsimError as error:
            codes.append(report_error(error))
            told = in_json(type(error).__name__, str(error), error.exit_code, error.issues)
            found.append({"file": str(file), "valid": False, "error": told})
            continue
        print_warnings(warnings)
        steady = problem.scenario.time.is_steady
        longest = None if steady else problem.largest_step
        about = {"file": str(file), "valid": True, "cells": problem.grid.cells, "largest_step [s]": longest}
        found.append({**about, "warnings": [_described(each) for each in warnings]})
        if not as_json:
            steps = "to the steady state" if steady else f"step at most {problem.largest_step:.4g} s"
            click.echo(f"{file}: valid, {problem.grid.cells} cells, {steps}")
        if preview:
            draw(Path(f"{name_of(file)}_preview.png"), problem, tell=not as_json)
    if as_json:
        click.echo(jsonlib.dumps({"files": found}, indent=2))
    if codes:
        sys.exit(max(codes))


def _build(file: Path, trust: bool) -> tuple[Problem, Sequence[Issue | str]]:
    """The problem of a scenario, and all that can be warned of before it runs."""
    from heatsim.problem import build_problem
    from heatsim.simulation.device_selection import choose_device
    from heatsim.simulation.growth_warnings import growth_warnings
    from heatsim.simulation.preparing import resolve_auto
    from heatsim.simulation.slow_warnings import slow_warnings

    scenario = load_file(file, trust=trust)
    problem = build_problem(scenario)
    warnings = [*problem.warnings(), *growth_warnings(problem)]
    try:
        problem, _, taken = resolve_auto(problem, choose_device(scenario))
    except NoGpuError:  # a device that this machine does not have
        taken = None
    return problem, [*warnings, *slow_warnings(problem, taken)]


def _described(warning: Issue | str) -> dict[str, Any]:
    return asdict(warning if isinstance(warning, Issue) else Issue(warning))
