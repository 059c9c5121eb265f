"""What is said of a scenario file before it runs: `heatsim init`, `schema`, `validate` and `preview`."""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heatsim.cli.options import (
    as_json_option,
    in_json,
    load_file,
    name_of,
    overrides_option,
    print_warnings,
    report_error,
    scenario_file,
    trust_option,
)
from heatsim.errors import HeatsimError, Issue, NoGpuError, RunFolderError

if TYPE_CHECKING:
    from heatsim.problem import Problem


@click.command()
@click.argument("name")
def init(name: str) -> None:
    """Write a commented starter scenario NAME.toml into the current folder, beside it the schema for editors."""
    from heatsim.scenario import json_schema, starter
    from heatsim.scenario.reference.schema import FILE_NAME

    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if path.name == ".toml":
        raise click.UsageError("a name is needed, such as `heatsim init plate`")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(starter(path.stem))
    except FileExistsError:
        raise RunFolderError(f"{path}: exists already; choose another name") from None
    with suppress(FileExistsError), path.with_name(FILE_NAME).open("x", encoding="utf-8") as file:
        file.write(f"{jsonlib.dumps(json_schema(), indent=2)}\n")
    click.echo(f"{path}: written; try `heatsim run {shlex.quote(str(path))}`")


@click.command()
@click.option("--markdown", is_flag=True, help="Print the reference of all keys instead, docs/reference/scenario.md.")
def schema(markdown: bool) -> None:
    """Print the JSON schema of scenario files, for editors."""
    if markdown:
        from heatsim.scenario.reference.schema import markdown as make_reference

        click.echo(make_reference(), nl=False)
        return
    from heatsim.scenario import json_schema as make_schema

    click.echo(jsonlib.dumps(make_schema(), indent=2))


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--preview", is_flag=True, help="Draw what each is made of, as <scenario>_preview.png.")
@trust_option
@as_json_option
def validate(files: tuple[Path, ...], preview: bool, trust: bool, as_json: bool) -> None:
    """Check scenario FILES, or stdin for -, with the data files that they name; all that is wrong is reported."""
    codes, found = [], []
    for file in files:
        try:
            problem, warnings = _build_and_warn(file, trust)
        except HeatsimError as error:
            codes.append(report_error(error))
            told = in_json(type(error).__name__, str(error), error.exit_code, error.issues)
            found.append({"file": str(file), "valid": False, "error": told})
            continue
        print_warnings(warnings)
        steady = problem.scenario.time.is_steady
        longest = None if steady else problem.largest_step
        about = {"file": str(file), "valid": True, "cells": problem.grid.cells, "largest_step [s]": longest}
        issues = (each if isinstance(each, Issue) else Issue(each) for each in warnings)
        found.append({**about, "warnings": [asdict(each) for each in issues]})
        if not as_json:
            steps = "to the steady state" if steady else f"step at most {problem.largest_step:.4g} s"
            click.echo(f"{file}: valid, {problem.grid.cells} cells, {steps}")
        if preview:
            _draw_preview(Path(f"{name_of(file)}_preview.png"), problem, tell=not as_json)
    if as_json:
        click.echo(jsonlib.dumps({"files": found}, indent=2))
    if codes:
        sys.exit(max(codes))


def _build_and_warn(file: Path, trust: bool) -> tuple[Problem, Sequence[Issue | str]]:
    """The problem of a scenario, and all that can be warned of before it runs."""
    from heatsim.problem import build_problem
    from heatsim.simulation.device_selection import choose_device
    from heatsim.simulation.preparing import resolve_auto
    from heatsim.simulation.run_warnings import growth_warnings, slow_warnings

    scenario = load_file(file, trust=trust)
    problem = build_problem(scenario)
    warnings = [*problem.warnings(), *growth_warnings(problem)]
    try:
        problem, _, taken = resolve_auto(problem, choose_device(scenario))
    except NoGpuError:  # a device that this machine does not have
        taken = None
    return problem, [*warnings, *slow_warnings(problem, taken)]


FORMATS = (".png", ".svg", ".pdf")


@click.command()
@scenario_file
@overrides_option
@click.option("--theme", type=click.Choice(["light", "dark"]), default="light", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="The picture [<scenario>_preview.png].")
def preview(file: Path, overrides: tuple[str, ...], theme: Any, output: Path | None) -> None:
    """Draw what a scenario FILE is made of, before it runs.

    Three sections and a view from outside show materials, kinds of faces, sources, probes, slices and paths of beams.
    """
    from heatsim.problem import build_problem

    target = output or Path(f"{name_of(file)}_preview.png")
    if target.suffix.lower() not in FORMATS:
        raise click.UsageError(f"--output {target}: a file ends in .png, .svg or .pdf")
    problem = build_problem(load_file(file, overrides))
    print_warnings(problem.warnings())
    _draw_preview(target, problem, theme)


def _draw_preview(target: Path, problem: Any, theme: Any = "light", *, tell: bool = True) -> None:
    """Draw a problem into a file, and name it."""
    from heatsim.output.pictures.options import PictureOptions
    from heatsim.output.pictures.preview import draw_preview

    draw_preview(target, problem, PictureOptions(theme))
    if tell:
        click.echo(target)
