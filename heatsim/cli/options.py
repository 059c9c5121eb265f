"""What several commands share: arguments, messages on stderr."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from heatsim.errors import HeatsimError, Issue, RequestError
from heatsim.solve.ranks import environment

if TYPE_CHECKING:
    from heatsim.scenario import Scenario

    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # click has it generic from 8.4 on

F = TypeVar("F", bound=Callable[..., Any])

scenario_file = click.argument("file", type=click.Path(path_type=Path))
run_folder = click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
device_option = click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", help="Where to compute."
)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
overrides_option = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, such as time.end=10."
)
trust_option = click.option("--trust", is_flag=True, help="Let FILE name data files outside its own folder.")
max_time_option = click.option(
    "--max-time", metavar="TIME", help="End with a checkpoint before this wall time, such as 8h; exit code 75."
)

Units = dict[str, float]
LENGTH: Units = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "µm": 1e-6, "nm": 1e-9}
TIME: Units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86400.0}
TEMPERATURE = ("K", "degC", "°C")  # which are told apart later, by the unit of the run


class Temperature(NamedTuple):
    """A temperature as given, and its unit; "" is that of the run."""

    value: float
    unit: str


class Measure(ParamType):
    """A number with a unit or without one: 0.005 or 5mm. A temperature keeps its unit."""

    def __init__(self, units: Units | tuple[str, ...]) -> None:
        self._units = units
        self.name = "T" if isinstance(units, tuple) else next(iter(units)).upper()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number in m or s, or a `Temperature`."""
        if not isinstance(value, str):
            return value
        found = re.fullmatch(r"\s*([-+0-9.eE]*[0-9.])\s*([^\s0-9.]*)\s*", value)
        try:
            number, unit = float(found[1] if found else value), found[2] if found else ""
        except ValueError:
            self.fail(f"{value!r}: a number was expected, with a unit or without: {', '.join(self._units)}", param, ctx)
        if unit and unit not in self._units:
            self.fail(f"{value!r}: the unit {unit!r} is none of {', '.join(self._units)}", param, ctx)
        if isinstance(self._units, tuple):
            return Temperature(number, unit.replace("°", "deg"))
        return number * self._units.get(unit, 1.0)


class NumberList(ParamType):
    """So many numbers with commas between them, each with a unit or without."""

    def __init__(self, count: int, units: Units | None = None) -> None:
        self._count, self._units = count, units or {"": 1.0}
        self.name = ",".join("N" * count)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """The numbers in SI units."""
        if not isinstance(value, str):
            return tuple(value)
        parts = value.split(",")
        if len(parts) != self._count:
            self.fail(f"{value!r}: {self._count} numbers with commas between them were expected", param, ctx)
        return tuple(Measure(self._units).convert(part, param, ctx) for part in parts)


def to_run_unit(given: Temperature, unit: str) -> float:
    """A temperature in the unit of a run, "K" or "degC"."""
    shift = {("K", "degC"): -273.15, ("degC", "K"): 273.15}.get((given.unit, unit), 0.0)
    return round(given.value + shift, 9)


def print_error(message: str) -> None:
    """Print an error to stderr, a line for each of its lines."""
    for line in message.splitlines():
        click.echo(f"error: {line}", err=True)


def report_error(error: HeatsimError, as_json: bool = False) -> int:
    """Print an error to stderr and, for programs, to stdout; the exit code for it."""
    print_error(str(error))
    if as_json:
        print_as_json(type(error).__name__, str(error), error.exit_code, error.issues)
    return error.exit_code


def print_as_json(kind: str, message: str, exit_code: int, issues: Sequence[Issue] = ()) -> None:
    """Print what went wrong to stdout, the one document there. Of several processes the first one does."""
    if environment.launched_rank() == 0:
        click.echo(json.dumps({"error": in_json(kind, message, exit_code, issues)}, indent=2))


def in_json(kind: str, message: str, exit_code: int, issues: Sequence[Issue] = ()) -> dict[str, Any]:
    """An error for programs: its kind, its message, its exit code, and what is wrong one by one, with its place."""
    told = [asdict(issue) for issue in issues or [Issue(message)]]
    return {"kind": kind, "message": message, "exit_code": exit_code, "issues": told}


def name_of(file: Path) -> str:
    """The name of a scenario file, after which its results are named; that of one from stdin is "run"."""
    return "run" if is_stdin(file) else file.stem


def is_stdin(file: Path) -> bool:
    """Whether the scenario comes from stdin."""
    return str(file) == "-"


def load_file(file: Path, overrides: Sequence[str] = (), *, trust: bool = False) -> Scenario:
    """A scenario file, or what stdin has for "-", whose data files lie in the current folder. Raises HeatsimError."""
    from heatsim.scenario import load, loads

    if not is_stdin(file):
        return load(file, overrides, trust=trust)
    return loads(read_stdin(), None, overrides, trust=trust)


def read_stdin() -> str:
    """The text of the scenario that stdin has. Raises RequestError."""
    from heatsim.scenario.language.toml.document import MAX_FILE_BYTES

    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise RequestError("stdin: expected at most 4 MiB: arrays belong in files of their own")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"stdin: expected UTF-8 text, found byte 0x{data[error.start]:02x}") from None


def print_warnings(warnings: Sequence[Issue | str]) -> None:
    """Print warnings about the scenario and the run to stderr."""
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def write_option(document: str, what: str) -> Callable[[F], F]:
    """`--write [FILE]`, of `document` if no file is named."""
    return click.option(
        "--write",
        type=click.Path(path_type=Path),
        is_flag=False,
        flag_value=Path(document),
        metavar="[FILE]",
        help=f"{what} [{document}].",
    )


def can_redraw() -> bool:
    """Whether stderr is a terminal that takes the cursor back. One called dumb, such as an editor's, does not, nor does
    that which a notebook gives a command after a !, known by the variable that its kernel sets."""
    if not sys.stderr.isatty() or "JPY_PARENT_PID" in os.environ:
        return False
    return os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal, which is given the part that is done; nothing on a pipe."""
    if not can_redraw():
        yield lambda part: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda part: bar.update(task, completed=part)
