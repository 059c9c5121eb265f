"""`heatsim run` and `heatsim resume`, over one process or all of an `mpiexec`."""

from __future__ import annotations

import ctypes
import gc
import json as jsonlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

from heatsim.cli.options import (
    as_json_option,
    load_file,
    max_time_option,
    overrides_option,
    print_as_json,
    print_warnings,
    report_error,
    run_folder,
    scenario_file,
    trust_option,
)
from heatsim.cli.signals import Interrupted, caught_signals, seconds_of
from heatsim.errors import HeatsimError, NothingLeftError
from heatsim.output.pictures import import_drawing
from heatsim.solve.ranks import environment, join, leave

if TYPE_CHECKING:
    from heatsim.scenario import Scenario
    from heatsim.simulation.run import Run
    from heatsim.simulation.time_loop import Progress, ProgressCallback, Request


@click.command()
@scenario_file
@click.option("--output", type=click.Path(path_type=Path), help="Folder for the results [outputs/<scenario>].")
@overrides_option
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where to compute.")
@click.option("--kernel", metavar="NAME", help="Stencil kernel, such as auto, cpu or basic.")
@max_time_option
@trust_option
@click.option("--untrusted", is_flag=True, help="Run in a child process with limits, for files of strangers.")
@click.option("--force", is_flag=True, help="Replace an earlier run in the folder.")
@click.option("--resume-or-run", is_flag=True, help="Go on with this run in the folder, leave it if done, or begin it.")
@click.option("--dry-run", is_flag=True, help="Say what the run would take, and write nothing.")
@click.option("--resolved", is_flag=True, help="With --dry-run: print the scenario with all defaults, too.")
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
@as_json_option
def run(file: Path, overrides: tuple[str, ...], quiet: bool, as_json: bool, **options: Any) -> None:
    """Run a scenario FILE, or stdin for -, to its results."""
    chosen = [f"compute.{name}={options[name]}" for name in ("device", "kernel") if options[name]]
    if options["resume_or_run"] and options["force"]:
        raise click.UsageError("--force and --resume-or-run exclude each other")
    if options["untrusted"]:
        from heatsim.cli.untrusted import run_in_limited_child

        sys.exit(run_in_limited_child())
    with over_ranks(as_json) as has_run:
        if has_run:
            _run(file, [*overrides, *chosen], quiet, as_json, options)


def _run(file: Path, overrides: list[str], quiet: bool, as_json: bool, options: Mapping[str, Any]) -> None:
    release_large_arrays()
    # Compiling makes a million objects that live; collecting garbage at the usual rate took a tenth of its time.
    gc.set_threshold(50_000, 20, 50)
    scenario = load_file(file, overrides, trust=options["trust"])
    if options["dry_run"]:
        _print_estimate(scenario, as_json, options["resolved"])
        return
    from heatsim.simulation import run as runs

    folder, force = options["output"] or runs.default_folder(scenario), options["force"]

    def start(on_progress: ProgressCallback) -> Run:
        if options["resume_or_run"]:
            return runs.resume_or_run(scenario, folder, on_progress=on_progress, on_warnings=print_warnings)
        return runs.run_scenario(scenario, folder, force=force, on_progress=on_progress, on_warnings=print_warnings)

    with nothing_left_is_no_failure(folder, as_json):
        run_to_its_end(scenario, start, quiet=quiet, as_json=as_json, max_time=options["max_time"])


@contextmanager
def nothing_left_is_no_failure(folder: Path, as_json: bool) -> Iterator[None]:
    """Say that nothing is left to do, and what the run has found: a rebuild goes on."""
    from heatsim.store.folder import RunFolder

    try:
        yield
    except NothingLeftError as error:
        click.echo(f"{error}; nothing is left to do", err=True)
        if as_json:
            click.echo(jsonlib.dumps({"folder": str(folder), **RunFolder.open(folder).read_info()}, indent=2))


def run_to_its_end(
    scenario: Scenario, start: Callable[[ProgressCallback], Run], *, quiet: bool, as_json: bool, max_time: str | None
) -> None:
    """Show the progress and the results of a run that `start` begins or goes on with; ends the process with the code of
    a signal that ended the run."""
    from heatsim.cli import progress, summary
    from heatsim.simulation.precompile import prepare_process

    seconds = None if max_time is None else seconds_of(max_time)
    if scenario.output.slices:
        # While kernels are compiled, a second core has time for it. No daemon: one that is in C++ code when Python ends
        # takes the process down with it, and its exit code.
        Thread(target=import_drawing).start()
    prepare_process()
    try:
        with progress.show_progress(scenario, quiet or as_json) as show, caught_signals(seconds) as requests:

            def on_progress(progress: Progress) -> Request:
                show(progress)
                return requests.request(progress)

            result = start(on_progress)
    except Interrupted as end:
        if as_json:
            print_as_json("Interrupted", "a signal came before the first step", end.exit_code)
        sys.exit(end.exit_code)
    if as_json:
        click.echo(jsonlib.dumps({"folder": str(result.path), **result.info}, indent=2))
    elif not quiet:
        click.echo(summary.format_run(result.path, result.info))
    if quiet or as_json:
        print_warnings(result.info["warnings"])
    if requests.exit_code and not result.finished:
        sys.exit(requests.exit_code)


def _print_estimate(scenario: Scenario, as_json: bool, resolved: bool) -> None:
    from heatsim.cli import summary
    from heatsim.problem import build_problem
    from heatsim.simulation import device_selection, estimates, preparing
    from heatsim.simulation.estimates import state_bytes
    from heatsim.simulation.run_warnings import slow_warnings

    choice = device_selection.choose_device(scenario)
    device_selection.require_memory_for(scenario, choice, state_bytes(scenario, device=choice.device))
    built = build_problem(scenario)
    print_warnings(built.warnings())
    problem, choice, taken = preparing.resolve_auto(built, choice, full=True)
    if taken is None and not scenario.time.is_steady:
        taken = preparing.recommend_integrator(problem)
    print_warnings(list(slow_warnings(problem, taken if scenario.time.chosen is None else None)))
    numbers = estimates.estimate_run(problem, choice, taken)
    if as_json:
        numbers |= {"scenario": problem.scenario.to_toml()} if resolved else {}
        click.echo(jsonlib.dumps(numbers, indent=2))
    else:
        click.echo(summary.format_estimate(numbers))
    if resolved and not as_json:
        click.echo(f"\n{problem.scenario.to_toml()}")


# How the process that a command runs in takes memory from the system.

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of glibc's malloc.h
_LARGE = 2**22  # bytes: a plane is less, of which the page faults would take longer than the work
_KEPT = 2**24  # bytes that each of glibc's arenas keeps at its end


def release_large_arrays() -> None:
    """Have large arrays leave the process when they are freed, and planes stay.

    glibc learns to keep freed blocks of up to 32 MiB for later (mallopt(3)); after setting up a grid of 256^3 cells it
    sat on 60 MB. Blocks that it asks the system for anew cost a page fault for each 4 KiB: packing chunks took five
    times as long with a threshold of 1 MiB. Elsewhere, and where the environment sets the threshold, nothing is done.
    """
    if "MALLOC_MMAP_THRESHOLD_" in os.environ or "mmap_threshold" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    try:
        malloc = ctypes.CDLL(None)
        malloc.mallopt(_MMAP_THRESHOLD, _LARGE)
        malloc.mallopt(_TRIM_THRESHOLD, _KEPT)
    except (AttributeError, OSError, TypeError):
        return


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


@contextmanager
def over_ranks(as_json: bool) -> Iterator[bool]:
    """Compute over all processes that this one was started with, if there are several; yields whether it has the run.
    The others have served the one that has it by then, and have nothing left to do. as_json: whether errors are JSON.

    Raises `heatsim.errors.RequestError` where MPI is missing, or the processes have different versions of heatsim.
    """
    if environment.launched_processes() == 1:
        yield True
        return
    comm = environment.world()
    with environment.ending_all(comm, HeatsimError):
        environment.take_threads(comm)
        from heatsim.solve.ranks.parts import Ranks

        ranks = Ranks(comm)
    if not ranks.first:
        ranks.serve()
        yield False
        return
    join(ranks)
    try:
        yield True
    except BaseException as error:
        if ranks.in_call:
            ranks.abort(_told(error, as_json))
        raise
    finally:
        leave()
        ranks.end()


def _told(error: BaseException, as_json: bool) -> int:
    """Say what ended a command, and return the exit code for it."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, HeatsimError):
        return report_error(error, as_json)
    traceback.print_exception(error)
    return 1
