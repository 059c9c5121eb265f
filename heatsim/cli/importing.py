"""`heatsim import`."""

from __future__ import annotations

from math import prod
from pathlib import Path

import click

from heatsim.errors import RequestError


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--powers", type=click.Path(path_type=Path), required=True, help="Power trace of the blocks (.ptrace).")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration of HotSpot (.config).")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The scenario file [beside FILE].")
@click.option("--cells", type=click.IntRange(4, 1000), default=48, show_default=True, help="Cells across the die.")
@click.option("--steady", is_flag=True, help="The steady state of the mean powers, in place of the trace.")
@click.option("--force", is_flag=True, help="Replace the scenario file.")
def import_(
    file: Path, powers: Path, config: Path | None, output: Path | None, cells: int, steady: bool,
    force: bool,
) -> None:  # fmt: skip
    """Make a scenario of a chip from the files of HotSpot.

    FILE is the floorplan of a die (.flp), or the layers of a stack (.lcf), which name their floorplans.

    The scenario has the die, the heat spreader and the heat sink in cells. Each block is a source by its name, and a
    region whose mean and highest temperatures go to regions.csv.
    """
    from heatsim.imports.hotspot import HotspotFiles, import_hotspot, powers_file
    from heatsim.scenario import load
    from heatsim.store.atomic import write_atomically

    target = output or file.with_suffix(".toml")
    table = powers_file(target)
    if not force and (target.exists() or table.exists()):
        raise RequestError(f"{target}: is there already, or its powers are; --force replaces them")
    found = import_hotspot(HotspotFiles(file, powers, config), target, cells, steady=steady)
    if found.powers:
        write_atomically(table, found.powers.encode())
    write_atomically(target, found.toml.encode())
    for note in found.notes:
        click.echo(f"warning: {note}", err=True)
    cells_made, blocks = prod(load(target, trust=True).grid.cells), len(found.document["sources"])
    within = all(path.resolve().is_relative_to(target.parent.resolve()) for path in found.floorplans)
    command = f"heatsim run {target}{'' if within else ' --trust'}"
    click.echo(f"{target}: {blocks} blocks, {cells_made} cells; {command}")
