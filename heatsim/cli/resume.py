"""`heatsim resume`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from heatsim.cli.options import as_json_option, max_time_option, overrides_option, print_warnings, run_folder
from heatsim.cli.ranks import over_ranks
from heatsim.cli.run import nothing_left_is_no_failure, release_large_arrays, run_to_its_end

if TYPE_CHECKING:
    from heatsim.simulation.run import Run
    from heatsim.simulation.time_loop import ProgressCallback


@click.command()
@run_folder
@overrides_option
@max_time_option
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
@as_json_option
def resume(folder: Path, overrides: tuple[str, ...], max_time: str | None, quiet: bool, as_json: bool) -> None:
    """Go on with a RUN that was stopped or killed, from its last checkpoint; --set time.end=20 extends it."""
    with over_ranks(as_json) as has_run:
        if not has_run:
            return
        from heatsim.simulation import run as runs

        release_large_arrays()
        scenario = runs.load_changed(folder, overrides)

        def start(on_progress: ProgressCallback) -> Run:
            return runs.resume_run(folder, overrides, on_progress=on_progress, on_warnings=print_warnings)

        with nothing_left_is_no_failure(folder, as_json):
            run_to_its_end(scenario, start, quiet=quiet, as_json=as_json, max_time=max_time)
