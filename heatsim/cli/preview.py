"""`heatsim preview`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from heatsim.cli.options import load_file, name_of, overrides_option, print_warnings, scenario_file

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
    draw(target, problem, theme)


def draw(target: Path, problem: Any, theme: Any = "light", *, tell: bool = True) -> None:
    """Draw a problem into a file, and name it."""
    from heatsim.output.pictures.options import PictureOptions
    from heatsim.output.pictures.preview import draw_preview

    draw_preview(target, problem, PictureOptions(theme))
    if tell:
        click.echo(target)
