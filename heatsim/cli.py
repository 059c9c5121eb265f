"""The command line. Results go to stdout, progress and messages to stderr.

Exit codes: 0 done; 1 failed; 2 usage or invalid scenario; 3 not finite; 4 GPU demanded and missing; 130, 143 after a
signal, with everything kept that was reached.
"""

from __future__ import annotations

import json as jsonlib
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heatsim import __version__
from heatsim.errors import HeatsimError, RunFolderError

if TYPE_CHECKING:
    from types import FrameType

    from heatsim.scenario import Scenario
    from heatsim.simulation import Progress


class _Commands(click.Group):
    """Commands that tell errors in one message, without a traceback."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except HeatsimError as error:
            _tell(str(error))
            sys.exit(error.exit_code)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)
        except MemoryError:
            _tell("not enough memory; make the grid smaller or use precision float32")
            sys.exit(1)
        except OSError as error:
            _tell(f"{error.filename or 'the system'}: {error.strerror or error}")
            sys.exit(1)


def _tell(message: str) -> None:
    for line in message.splitlines():
        click.echo(f"error: {line}", err=True)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="heatsim")
def main() -> None:
    """Heat conduction in a box: a scenario file in, temperatures, pictures and ParaView-ready snapshots out."""


_scenario_file = click.argument("file", type=click.Path(path_type=Path))
_run_folder = click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@main.command()
@_scenario_file
@click.option("--output", type=click.Path(path_type=Path), help="Folder for the results [outputs/<scenario>].")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, such as time.end=10.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where to compute.")
@click.option("--kernel", metavar="NAME", help="Stencil kernel, such as auto, cpu or basic.")
@click.option("--force", is_flag=True, help="Replace an earlier run in the folder.")
@click.option("--dry-run", is_flag=True, help="Say what the run would take, and write nothing.")
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
@_json
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

    scenario = load(file, [*overrides, *chosen])
    _warn(scenario)
    if dry_run:
        _estimate(scenario, as_json)
        return
    from heatsim import runs
    from heatsim.console import progress, summary

    with progress.shown(quiet or as_json) as show, _signals() as caught:

        def watch(progress: Progress) -> bool:
            show(progress)
            return not caught

        result = runs.run(scenario, output, force=force, watch=watch)
    if as_json:
        click.echo(jsonlib.dumps({"folder": str(result.path), **result.info}, indent=2))
    elif not quiet:
        click.echo(summary.of_run(result.path, result.info))
    if caught and not result.finished:
        sys.exit(128 + caught[0])


def _warn(scenario: Scenario) -> None:
    from heatsim.scenario import cautions

    for caution in cautions(scenario):
        click.echo(f"warning: {caution}", err=True)


def _estimate(scenario: Scenario, as_json: bool) -> None:
    from heatsim import devices, runs
    from heatsim.console import summary
    from heatsim.problem import build

    choice = devices.choose(scenario)
    devices.require_memory(choice, runs.state_bytes(scenario))
    problem = build(scenario)
    numbers = summary.estimate(problem, choice.device_name, choice.kernel)
    if as_json:
        click.echo(jsonlib.dumps(numbers, indent=2))
    else:
        click.echo(scenario.to_toml())
        click.echo(summary.of_estimate(numbers))


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of dying of them; a second one ends the process at once."""
    caught: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if caught:
            os._exit(128 + number)
        caught.append(number)

    earlier: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in earlier:
        signal.signal(number, note)
    try:
        yield caught
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def validate(files: tuple[Path, ...]) -> None:
    """Check scenario FILES, with the data files that they name; all that is wrong is told."""
    from heatsim.problem import build
    from heatsim.scenario import load

    codes = []
    for file in files:
        try:
            scenario = load(file)
            _warn(scenario)
            problem = build(scenario)
        except HeatsimError as error:
            _tell(str(error))
            codes.append(error.exit_code)
        else:
            steady = scenario.time.integrator == "steady"
            steps = "to the steady state" if steady else f"step at most {problem.largest_step:.4g} s"
            click.echo(f"{file}: valid, {problem.grid.cells} cells, {steps}")
    if codes:
        sys.exit(max(codes))


@main.command()
def schema() -> None:
    """Print the JSON schema of scenario files, for editors."""
    from heatsim.scenario import schema as make_schema

    click.echo(jsonlib.dumps(make_schema(), indent=2))


@main.command()
@click.argument("name")
def init(name: str) -> None:
    """Write a commented starter scenario NAME.toml into the current folder."""
    from heatsim.scenario import starter

    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if path.name == ".toml":
        raise click.UsageError("a name is needed, such as `heatsim init plate`")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(starter(path.stem))
    except FileExistsError:
        raise RunFolderError(f"{path}: exists already; choose another name") from None
    click.echo(f"{path}: written; try `heatsim run {shlex.quote(str(path))}`")


@main.command()
@_run_folder
@_json
def info(folder: Path, as_json: bool) -> None:
    """Say what a RUN folder holds and how the run went."""
    from heatsim.console import summary
    from heatsim.store.folder import RunFolder

    opened = RunFolder.open(folder)
    found = opened.read_info()
    if as_json:
        click.echo(jsonlib.dumps(found, indent=2))
        return
    click.echo(summary.of_folder(opened, found))
    if "timings" in found:
        click.echo(summary.of_run(folder, found))


@main.command()
@_run_folder
def plot(folder: Path) -> None:
    """Draw the slices of a RUN folder again, with one colour range over all times."""
    from heatsim.recorders.pictures import draw_frames
    from heatsim.store.folder import RunFolder

    opened = RunFolder.open(folder)
    names = opened.slice_names()
    if not names:
        raise RunFolderError(f"{folder}: the run has no slices; ask for them with [[output.slices]] in the scenario")
    for name in names:
        for path in draw_frames(opened, name):
            click.echo(path)


@main.command()
@_run_folder
@click.option(
    "--scale", "scales", multiple=True, metavar="M", help="A size to look for, m [hotspots.scales of the run]."
)
@click.option("--threshold", metavar="K", help="Least rise over the surroundings [hotspots.threshold of the run].")
@click.option("--frames", metavar="N", help="Search the mean of the last N frames [hotspots.frames of the run].")
@click.option("--slice", "names", multiple=True, metavar="NAME", help="A slice to search [all].")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where to filter.")
@_json
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
    from heatsim import devices, runs
    from heatsim.console import summary
    from heatsim.recorders.hotspots import search
    from heatsim.scenario import load
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
        devices.gpu_name()  # or the reason why there is none
    if not any(opened.slice_frame_paths(name) for name in names or opened.slice_names()):
        raise RunFolderError(f"{folder}: the run has no frames of slices; ask for them with [[output.slices]]")
    found = search(opened, scenario.hotspots, names or None, device)
    opened.write_info({**opened.read_info(), "hotspots": runs.hotspots_json(opened)})
    if as_json:
        click.echo(jsonlib.dumps(runs.hotspots_json(opened), indent=2))
    else:
        click.echo(summary.of_hotspots(found, scenario.temperature_unit))


@main.command()
def doctor() -> None:
    """Say what this machine offers: versions, CPU threads, GPU."""
    from heatsim import devices, runs
    from heatsim.console.summary import table

    rows = [*runs.versions().items(), ("cpu", devices.cpu_name()), ("gpu", _or_reason(devices.gpu_name))]
    click.echo(table(rows))


@main.group()
def bench() -> None:
    """Verify the kernels on this machine, then time them."""


@bench.command()
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", help="Where to compute.")
@click.option("--size", "sizes", multiple=True, metavar="N|NX,NY,NZ", help="Cells an axis [256; 512 on a GPU].")
@click.option("--precision", type=click.Choice(["float32", "float64", "both"]), default="float32", show_default=True)
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="A kernel of the device [all].")
@click.option("--materials", multiple=True, type=int, metavar="N", help="Number of materials [1 and 3].")
@click.option("--seconds", default=0.2, show_default=True, help="Time for one measurement; each has five rounds.")
@click.option("--tune", is_flag=True, help="Time all tiles first and keep the fastest for later runs (GPU).")
@click.option("--compile", "compile_times", is_flag=True, help="Time compiling too, cold and from the disk cache.")
@click.option("--counters", is_flag=True, help="Have ncu count bytes and operations (NVIDIA GPUs).")
@click.option("--json", type=click.Path(path_type=Path), metavar="FILE", help="Write all that was found.")
@click.option(
    "--write",
    type=click.Path(path_type=Path),
    is_flag=False,
    flag_value=Path("docs/performance.md"),
    metavar="[FILE]",
    help="Put the table into a document, in place of this device's last one [docs/performance.md].",
)
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw a roofline (PNG).")
def stencil(**asked: Any) -> None:
    """Verify the stencil kernels against the reference, then time them against the copy limit.

    --size, --kernel and --materials may be repeated. Exit code 1 if a kernel fails the verification; it is not timed
    then.
    """
    from heatsim.bench.stencil import command

    sys.exit(command.run(asked, lambda line: click.echo(line, err=True)))


@bench.command()
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", help="Where to compute.")
@click.option("--size", "sizes", multiple=True, metavar="N|NX,NY", help="Cells an axis [4096; 8192 on a GPU].")
@click.option("--precision", type=click.Choice(["float32", "float64", "both"]), default="float32", show_default=True)
@click.option(
    "--problem",
    "problems",
    multiple=True,
    type=click.Choice(["planes", "lines", "separable", "banks", "relu", "pool"]),
    help="What to verify and time [all].",
)
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="A kernel of the device [all].")
@click.option("--mask", "masks", multiple=True, metavar="M|XxY", help="A 2-D mask, in cells [3, 5, 7 and 9].")
@click.option("--seconds", default=0.05, show_default=True, help="Time for one measurement; each has five rounds.")
@click.option("--peers/--no-peers", default=True, help="Time SciPy, OpenCV, PyTorch and CuPy too, where they are.")
@click.option("--peers-python", type=click.Path(path_type=Path), metavar="FILE", help="The Python that has them.")
@click.option("--json", type=click.Path(path_type=Path), metavar="FILE", help="Write all that was found.")
@click.option(
    "--write",
    type=click.Path(path_type=Path),
    is_flag=False,
    flag_value=Path("docs/performance.md"),
    metavar="[FILE]",
    help="Put the table into a document, in place of this device's last one [docs/performance.md].",
)
def convolution(**asked: Any) -> None:
    """Verify the smoothing, filter bank and pooling kernels, then time them against the copy limit and other programs.

    --size, --problem, --kernel and --mask may be repeated. Exit code 1 if a kernel or another program fails the
    verification; it is not timed then.
    """
    from heatsim.bench.convolution import command

    sys.exit(command.run(asked, lambda line: click.echo(line, err=True)))


def _or_reason(name: Callable[[], str]) -> str:
    try:
        return name()
    except HeatsimError as error:
        return str(error)
