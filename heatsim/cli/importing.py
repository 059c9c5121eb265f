"""`heatsim import`."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import click

from heatsim.errors import RequestError, ScenarioError


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--powers", type=click.Path(path_type=Path), help="Power trace of HotSpot's blocks (.ptrace).")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration of HotSpot (.config).")
@click.option("--materials", type=click.Path(path_type=Path), help="Materials of HotSpot (.materials).")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The scenario file [beside FILE].")
@click.option("--cells", type=click.IntRange(4, 1000), help="Cells across the die [48; of a .stk its own].")
@click.option(
    "--sink-coefficient",
    type=click.FloatRange(0.0, min_open=True),
    metavar="H",
    help="W/(m2 K) in place of a heat sink of 3D-ICE that is a program.",
)
@click.option(
    "--sink-temperature",
    type=click.FloatRange(0.0, min_open=True),
    metavar="T",
    help="Its temperature, K [that of the start].",
)
@click.option("--steady", is_flag=True, help="The steady state of the mean powers, in place of the trace.")
@click.option("--force", is_flag=True, help="Replace the scenario file.")
def import_(file: Path, output: Path | None, cells: int | None, steady: bool, force: bool, **options: Any) -> None:
    """Make a scenario of a chip from the files of HotSpot or 3D-ICE.

    FILE is HotSpot's floorplan of a die (.flp) or layers of a stack (.lcf), or a stack of 3D-ICE (.stk).

    Each block is a source by its name, and a region whose mean and highest temperatures go to regions.csv. HotSpot's
    heat spreader and heat sink are in cells, too.
    """
    from heatsim.base.atomic import write_atomically
    from heatsim.scenario import load
    from heatsim.scenario.language.toml.document import require_text
    from heatsim.studies.imports.hotspot import HotspotFiles, import_hotspot
    from heatsim.studies.imports.scenarios import powers_file, start_file
    from heatsim.studies.imports.three_d_ice import Cooling, import_stack

    powers, coefficient = options["powers"], options["sink_coefficient"]
    target = output or file.with_suffix(".toml")
    table = powers_file(target)
    if not force and (target.exists() or table.exists()):
        raise RequestError(f"{target}: is there already, or its powers are; --force replaces them")
    if options["sink_temperature"] is not None and coefficient is None:
        raise click.UsageError("--sink-temperature: give --sink-coefficient, too")
    if coefficient is not None and file.suffix != ".stk":
        raise click.UsageError(f"{file}: --sink-coefficient is for stacks of 3D-ICE (.stk); HotSpot has r_convec")
    if file.suffix == ".stk":
        cooling = None if coefficient is None else Cooling(coefficient, options["sink_temperature"])
        found = import_stack(file, target, cells, steady=steady, cooling=cooling)
    elif powers is None:
        raise click.UsageError(f"{file}: give the powers of its blocks, as --powers gcc.ptrace")
    else:
        files = HotspotFiles(file, powers, options["config"], options["materials"])
        found = import_hotspot(files, target, cells or 48, steady=steady)
    text = found.toml
    try:
        require_text(text, target)
    except ScenarioError as error:
        raise RequestError(
            f"{file}: its blocks with a conductivity of their own are too many for a scenario ({error})"
        ) from None
    for path, powers_of_blocks in found.tables.items():
        write_atomically(path, powers_of_blocks.encode())
    if found.start:
        write_atomically(start_file(target), found.start)
    write_atomically(target, text.encode())
    for note in found.notes:
        click.echo(f"warning: {note}", err=True)
    cells_made = prod(load(target, trust=True).grid.cells)
    within = all(path.resolve().is_relative_to(target.parent.resolve()) for path in found.floorplans)
    command = f"heatsim run {target}{'' if within else ' --trust'}"
    click.echo(f"{target}: {found.blocks} blocks, {cells_made} cells; {command}")
