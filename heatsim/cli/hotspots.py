"""`heatsim hotspots`."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path

import click

from heatsim.cli.options import as_json_option, run_folder
from heatsim.errors import RunFolderError


@click.command()
@run_folder
@click.option(
    "--scale", "scales", multiple=True, metavar="M", help="A size to look for, m [hotspots.scales of the run]."
)
@click.option("--threshold", metavar="K", help="Least rise over the surroundings [hotspots.threshold of the run].")
@click.option("--frames", metavar="N", help="Search the mean of the last N frames [hotspots.frames of the run].")
@click.option("--slice", "names", multiple=True, metavar="NAME", help="A slice to search [all].")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where to filter.")
@as_json_option
def hotspots(
    folder: Path,
    scales: tuple[str, ...],
    threshold: str | None,
    frames: str | None,
    names: tuple[str, ...],
    device: str,
    as_json: bool,
) -> None:
    """Find the hot spots on the last frames of the slices of a RUN folder, in place of those found before.

    Writes hotspots.csv and a picture of each slice. --scale and --slice may be repeated.
    """
    from heatsim.cli import summary
    from heatsim.output.recorders.hotspots import search_slices
    from heatsim.scenario import load
    from heatsim.simulation import device_selection, run_info
    from heatsim.store.folder import RunFolder

    opened = RunFolder.open(folder)
    given = {"scales": f"[{', '.join(scales)}]" if scales else None, "threshold": threshold, "frames": frames}
    scenario = load(opened.scenario, [f"hotspots.{key}={value}" for key, value in given.items() if value is not None])
    if scenario.hotspots is None:
        raise click.UsageError(f"{folder}: its scenario has no [hotspots]; give --scale and --threshold")
    unknown = sorted(set(names) - set(opened.slice_names()))
    if unknown:
        known = ", ".join(opened.slice_names()) or "none"
        raise click.UsageError(f"{folder}: has no slice {unknown[0]!r}; there are {known}")
    if device == "cuda":
        device_selection.gpu_name()  # or the reason why there is none
    if not any(opened.slice_frame_paths(name) for name in names or opened.slice_names()):
        raise RunFolderError(f"{folder}: the run has no frames of slices; ask for them with [[output.slices]]")
    found = search_slices(opened, scenario.hotspots, names or None, device, scenario.ambients)
    opened.write_info({**opened.read_info(), "hotspots": run_info.describe_hotspots(opened)})
    if as_json:
        click.echo(jsonlib.dumps(run_info.describe_hotspots(opened), indent=2))
    else:
        click.echo(summary.format_hotspots(found, scenario.solved))
