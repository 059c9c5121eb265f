"""`heatsim run`."""

from __future__ import annotations

import json as jsonlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from heatsim.commands.allocation import give_back_large_arrays
from heatsim.commands.shared import as_json_option, overrides_option, scenario_file, warn
from heatsim.commands.signals import caught_signals

if TYPE_CHECKING:
    from heatsim.scenario import Scenario
    from heatsim.simulation import Progress


@click.command()
@scenario_file
@click.option("--output", type=click.Path(path_type=Path), help="Folder for the results [outputs/<scenario>].")
@overrides_option
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where to compute.")
@click.option("--kernel", metavar="NAME", help="Stencil kernel, such as auto, cpu or basic.")
@click.option("--force", is_flag=True, help="Replace an earlier run in the folder.")
@click.option("--dry-run", is_flag=True, help="Say what the run would take, and write nothing.")
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
@as_json_option
def run(
    file: Path,
    output: Path | None,
    overrides: tuple[str, ...],
    device: str | None,
    kernel: str | None,
    force: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run a scenario FILE to its results."""
    chosen = [f"compute.{name}={value}" for name, value in (("device", device), ("kernel", kernel)) if value]
    from heatsim.scenario import load

    give_back_large_arrays()
    scenario = load(file, [*overrides, *chosen])
    if dry_run:
        _estimate(scenario, as_json)
        return
    from heatsim import runs
    from heatsim.console import progress, summary

    with progress.shown(quiet or as_json) as show, caught_signals() as caught:

        def watch(progress: Progress) -> bool:
            show(progress)
            return not caught

        result = runs.run(scenario, output, force=force, watch=watch, warn=warn)
    if as_json:
        click.echo(jsonlib.dumps({"folder": str(result.path), **result.info}, indent=2))
    elif not quiet:
        click.echo(summary.of_run(result.path, result.info))
    if quiet or as_json:
        warn(result.info["cautions"])
    if caught and not result.finished:
        sys.exit(128 + caught[0])


def _estimate(scenario: Scenario, as_json: bool) -> None:
    from heatsim import devices, runs
    from heatsim.console import summary
    from heatsim.memory import state_bytes
    from heatsim.problem import build

    choice = devices.choose(scenario)
    devices.require_memory_for(scenario, choice, state_bytes(scenario))
    built = build(scenario)
    warn(built.cautions())
    problem, choice, taken = runs.settle(built, choice, full=True)
    if taken is None and scenario.time.integrator != "steady":
        taken = runs.advised(problem)
    numbers = summary.estimate(problem, choice.device_name, choice.kernel, taken)
    if as_json:
        click.echo(jsonlib.dumps(numbers, indent=2))
    else:
        click.echo(problem.scenario.to_toml())
        click.echo(summary.of_estimate(numbers))
