"""The steps of every benchmark: contenders are verified, race in turn, and stand in one kind of table.

`race` makes the rows. `show` prints them, and writes them as JSON. A benchmark of `heatsim bench` is a `Suite`, which
`run_benchmark` runs; its result may also become a section of a document, and a figure. A script in benchmarks/ takes
its options from `options`, and ends by `finish`.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from heatsim.base.atomic import write_atomically
from heatsim.base.tables import Row, TableColumn, Tell, check_folders, markdown, number, print_table, write_section
from heatsim.errors import HeatsimError, RequestError
from heatsim.studies.bench import machine
from heatsim.studies.bench.children import ChildError, Missing, Peer, run_on_all_cores, start_peer
from heatsim.studies.bench.timing import ROUNDS, Clock, Pace, Prepare, Work, host_clock, time_interleaved

PRECISIONS = ("float32", "float64")
MAX_GPU_CELLS = 2**32 - 1  # CUDA kernels count cells in 32 bits
PEERS_PYTHON = Path("peers-venv/bin/python")

Document = dict[str, Any]  # all that was found, fit for JSON: "command", "machine", "rounds", "rows", "notes", ...
Asked = dict[str, Any]  # what the command line was asked for, by the names of the options
Case = TypeVar("Case")


class Skipped(Exception):
    """A contender is not there, or does not do such a thing; the message says why."""


@dataclass(frozen=True)
class Contender:
    """What is timed against others. verify: what is wrong with it, or "" (an exception is a flaw too); prepare: makes
    it ready for a round; about: what its row says beside; after: what it says once it was timed, "failed" perhaps."""

    name: str
    prepare: Prepare
    verify: Callable[[], str] = lambda: ""
    about: Row = field(default_factory=dict)
    after: Callable[[], Row] = dict


def holding(work: Work) -> Prepare:
    """For a contender that is held ready through all rounds."""
    return lambda: work


def start_contenders(
    stack: ExitStack,
    given: argparse.Namespace,
    module: str,
    known: Iterable[str],
    verify: Sequence[object],
    about: Row,
    after: Callable[[Peer], Row] = lambda peer: {},
    words: Sequence[object] = (),
    **environment: Any,
) -> list[Contender]:
    """A contender for each of the `known` peers of a module that is asked for: heatsim in this Python, the others in
    another. given: the options of the script; verify: what its `verify` is given; about: its row; after: what it says
    once it was timed; words and environment: of its process."""
    found = []
    environment = {"threads": given.threads, **environment}
    for name in chosen(given.peer or (), known):
        own, row = name.startswith("heatsim"), dict(about)
        peer = stack.enter_context(start_peer(None if own else given.peers_python, module, name, *words, **environment))
        asking = partial(verified_by, peer, row, *verify)
        found.append(Contender(name, holding(peer.run), asking, row, partial(after, peer)))
    return found


def verified_by(peer: Peer, about: Row, *arguments: object) -> str:
    """What a peer says is wrong with its solution, "" if nothing; what else it says goes into its row."""
    try:
        said = peer.ask("verify", *arguments)
    except Missing as error:
        raise Skipped(str(error)) from None
    except ChildError as error:
        return str(error)
    if isinstance(said, dict):
        about.update(said)
        said = about.pop("failed", "")
    return str(said)


def race(
    contenders: Iterable[Contender],
    against: Callable[[str], bool],
    pace: Pace,
    clock: Clock = host_clock,
) -> list[Row]:
    """A row for each contender, verified first and then timed in turn: see `time_interleaved`.

    "seconds" of a repetition in each round, "median" and "best" of these, "times" the median of the fastest contender
    that others are judged `against`, and "doubt", which says why that is no fair ratio. A contender that fails has
    "failed" in place of these, one that is not there "skipped".
    """
    rows: dict[str, Row] = {}
    fit: dict[str, Contender] = {}
    for each in contenders:
        row = rows[each.name] = {"name": each.name}
        try:
            flaw = each.verify()
        except Skipped as error:
            flaw, row["skipped"] = "", str(error)
        except Exception as error:
            flaw = f"{type(error).__name__}: {error}"
        row |= each.about
        if "skipped" in row:
            continue
        if flaw:
            row["failed"] = flaw
        else:
            fit[each.name] = each
    failures = dict[str, str]()
    timings = time_interleaved({name: each.prepare for name, each in fit.items()}, pace, clock, failures)
    for name, flaw in failures.items():
        rows[name]["failed"] = flaw
    best = min((each for name, each in timings.items() if against(name)), key=lambda each: each.median, default=None)
    for name, timing in timings.items():
        rows[name] |= {
            "seconds": list(timing.seconds),
            "repetitions": timing.repetitions,
            "median": timing.median,
            "best": timing.best,
            "times": None if best is None else timing.median / best.median,
            "doubt": timing.doubt or ("" if best is None else best.doubt),
        }
        try:
            rows[name] |= fit[name].after()
        except Exception as error:
            rows[name]["failed"] = f"{type(error).__name__}: {error}"
    return list(rows.values())


def first_flaw(cases: Iterable[Case], judge: Callable[[Case], str], describe: Callable[[Case], str]) -> str:
    """What is wrong with a kernel in the first case where `judge` finds something, or "". Whatever exception the kernel
    raises is a flaw too: the other kernels are still to be measured."""
    for case in cases:
        try:
            flaw = judge(case)
        except Exception as error:
            flaw = f"{type(error).__name__}: {error}"
        if flaw:
            return f"{describe(case)}: {flaw}"
    return ""


class Verdict(NamedTuple):
    """Whether a kernel agrees, for a family of problems: `flaw` says in words where it does not, "" if all is well."""

    kernel: str
    precision: str
    cases: int
    flaw: str
    family: str = ""


def flaws_of(document: Document) -> list[str]:
    """A line for each kernel that failed the verification, and for each other row that failed."""
    found, told = [], set()
    for kernel, precision, _, flaw, family in (Verdict(**each) for each in document.get("verification", ())):
        if flaw:
            found.append(f"{kernel}{f' ({family})' * bool(family)} in {precision} FAILED the verification: {flaw}")
            told.add((family, kernel, precision))
    for row in (each for each in document["rows"] if "failed" in each):
        name, precision = row["name"], row.get("precision", "")
        if (row.get("family", ""), name, precision) not in told:
            words = ", ".join(filter(None, (name, row.get("problem"))))
            found.append(f"{words}{f' in {precision}' * bool(precision)} FAILED: {row['failed']}")
    return found


def parse_numbers(option: str, text: str, form: str, axes: int, between: str = ",") -> tuple[int, ...]:
    """The numbers of an option, one for each axis or one for all, those of x last. Raises `RequestError`."""
    parts = text.split(between)
    if len(parts) not in (1, axes) or not all(part.isdecimal() for part in parts):
        raise RequestError(f"{option} {text}: expected {form}")
    return tuple(map(int, reversed(parts * (axes // len(parts)))))


def check_count(device: str, text: str, cells: int) -> None:
    """Raise `RequestError` for more cells than CUDA kernels count in 32 bits."""
    if device == "cuda" and cells > MAX_GPU_CELLS:
        raise RequestError(f"--size {text}: CUDA kernels count cells in 32 bits, so {MAX_GPU_CELLS} at most")


class Layout(NamedTuple):
    """How a benchmark is shown.

    columns: of its table; group: what rows have in common between two lines; verified: what is said where nothing is
    wrong, with {cases} for the problems that each kernel was verified on at least; draw: draws the figure into a file,
    and returns False if there is nothing to draw; figure: its title.
    """

    columns: Sequence[TableColumn]
    group: Callable[[Row], Any] = lambda row: 0
    verified: str = ""
    draw: Callable[[Path, Document], bool] = lambda path, document: False
    figure: str = ""


def rate_or_failure(key: str, form: str = ".2f", unit: float = 1e9) -> Callable[[Row], str]:
    """The text of a rate, or why there is none."""

    def text(row: Row) -> str:
        refused = "FAILED" if "failed" in row else "skipped" if "skipped" in row else ""
        return refused or number(key, form, unit)(row)

    return text


def show(document: Document, layout: Layout, tell: Tell, file: Path | None) -> int:
    """Print the table and what was wrong; the exit code is 1 if something was. Raises OSError."""
    if file is not None:
        write_atomically(file, (json.dumps(document, indent=2) + "\n").encode())
    print_table(layout.columns, document["rows"], layout.group)
    flaws = flaws_of(document)
    for line in (*flaws, *document["notes"]):
        tell(line)
    return 1 if flaws else 0


def doubts(rows: Sequence[Row]) -> list[str]:
    """A note on the rows that have no ratio."""
    found = [row["doubt"] for row in rows if row.get("doubt")]
    return [f"{len(found)} rows have no ratio, the first since {found[0]}"] if found else []


# The benchmarks of `heatsim bench`.


class Suite(NamedTuple):
    """A benchmark: the `SUITE` of heatsim/studies/bench/NAME/benchmark.py.

    check: fills in the defaults of what was asked for, and raises `RequestError`; measure: returns "rows", "notes" and
    what else was found; memory: bytes that must fit on the device at once, and what needs them; compile_jobs: calls
    that compile GPU kernels, each in some process.
    """

    check: Callable[[Asked], None]
    measure: Callable[[Asked, Tell], Document]
    layout: Layout
    rounds: int = ROUNDS
    memory: Callable[[Asked], Iterator[tuple[int, str]]] = lambda asked: iter(())
    compile_jobs: Callable[[Asked], list[Callable[[], object]]] = lambda asked: []


def precisions(asked: Asked) -> tuple[str, ...]:
    """The precisions of a request, "float32" or "float64"."""
    return PRECISIONS if asked["precision"] == "both" else (asked["precision"],)


def chosen(asked: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """What was asked for of what is known, in its order; all if nothing was."""
    every = tuple(known)
    return tuple(name for name in every if name in asked) or every


def check_time(option: str, seconds: float) -> None:
    """Raise `RequestError` for a time that is not positive."""
    if not 0 < seconds < inf:
        raise RequestError(f"{option} {seconds:g}: a time above 0 is needed")


def run_benchmark(name: str, asked: Asked, tell: Tell) -> int:
    """Do what `heatsim bench NAME` was asked for; the exit code is 1 if something was wrong.

    Raises `HeatsimError`, also if a field does not fit the device, before anything is allocated there; OSError.
    """
    suite: Suite = import_module(f"heatsim.studies.bench.{name}.benchmark").SUITE
    device = asked["device"] = machine.pick_device(asked["device"])
    files: dict[str, Path | None] = {file: asked.get(file) for file in ("json", "write", "figure")}
    check_folders(files.values())
    suite.check(asked)
    for needed, what in suite.memory(asked):
        machine.require_memory(device, needed, what)
    described = machine.describe_machine(device)  # before the load is our own
    jobs = suite.compile_jobs(asked) if device == "cuda" else []
    if jobs:
        tell("compiling the kernels in all their variants, where they are not on the disk")
        run_on_all_cores(jobs)
    found = suite.measure(asked, tell)
    document = {
        "benchmark": f"heatsim bench {name}",
        "command": command_line(name, asked),
        "machine": described,
        "rounds": suite.rounds,
        **found,
        "notes": [*found["notes"], *doubts(found["rows"])],
    }
    layout, figure, page = suite.layout, files["figure"], files["write"]
    drawn = figure if figure is not None and layout.draw(figure, document) else None
    if page is not None:
        write_section(page, document["benchmark"], described["device_name"], _section(document, layout, page, drawn))
    return show(document, layout, tell, files["json"])


def command_line(benchmark: str, asked: Asked) -> str:
    """The command that asks for the same again, with every default written out; what is None, empty or False is left
    out, but for a switch that is on unless it is switched off."""
    threads = os.environ.get("NUMBA_NUM_THREADS") if asked["device"] == "cpu" else None
    words = [f"NUMBA_NUM_THREADS={threads}"] if threads else []
    words += ["heatsim", "bench", benchmark, "--device", asked["device"]]
    for name, value in asked.items():
        option = "--" + name.replace("_", "-")
        if name == "peers":
            words += [] if value else ["--no-peers"]
        elif name != "device":
            for each in value if isinstance(value, list | tuple) else [value]:
                if each is True:
                    words += [option]
                elif each is not None and each is not False and (each or name == "write"):
                    words += [option, f"{each:g}" if isinstance(each, float) else str(each)]
    return shlex.join(words)


def _section(document: Document, layout: Layout, path: Path, figure: Path | None) -> str:
    """What the document at `path` says of the benchmark on this device."""
    about, flaws = document["machine"], flaws_of(document)
    cases = min((each["cases"] for each in document.get("verification", ())), default=0)
    parts = [
        f"### {about['device_name']}",
        f"    {document['command']}",
        _circumstances(document),
        markdown(layout.columns, document["rows"]),
        "\n".join(f"- {line}" for line in (*flaws, *document["notes"])),
        "" if flaws else layout.verified.format(cases=cases),
    ]
    if figure is not None:
        link = Path(os.path.relpath(figure, path.parent)).as_posix()
        parts.append(f"![{layout.figure} on {about['device_name']}]({link})")
    return "\n\n".join(part for part in parts if part)


def _circumstances(document: Document) -> str:
    """When, how and on what a benchmark was measured, in a sentence."""
    about = document["machine"]
    parts = [about["date"], f"median and best of {document['rounds']} rounds"]
    if about["device"] == "cuda":
        parts.append(f"driver {about.get('driver', 'none')} (CUDA {about.get('driver_cuda', 'none')})")
    else:
        parts.append(f"{about['threads']} threads on {about['cpu_cores']} cores")
    if about["load_average"] is not None:
        parts.append(f"load average before the start {about['load_average']:.2f}")
    return "; ".join([*parts, ", ".join(f"{name} {number}" for name, number in about["versions"].items())]) + "."


def blocks_and_occupancy(row: Row) -> str:
    """Blocks that a multiprocessor holds at once, and the share of its threads that they fill."""
    if "blocks_a_multiprocessor" not in row:
        return ""
    return f"{row['blocks_a_multiprocessor']} ({100 * row['occupancy']:.0f} %)"


# The scripts of benchmarks/.

# Options and what they mean; a script offers those that it names.
MEANINGS = {
    "device": "where to compute",
    "size": "cells along each axis",
    "precision": "of the numbers",
    "problem": "a problem, may be repeated [all]",
    "kernel": "a kernel, may be repeated [all]",
    "peer": "a program, may be repeated [all]",
    "peers_python": "the Python that has the other programs",
    "threads": "threads, on as many cores",
    "rounds": "timed rounds, in turn",
    "seconds": "time for one measurement",
    "steps": "steps of a round [as many as take the time]",
    "json": "write all that was found here as well",
}


class ScriptParser(argparse.ArgumentParser):
    """Ends with one message where a number is not above 0, or a GPU is asked for and missing (exit codes 2 and 4)."""

    def parse_args(self, *given: Any) -> argparse.Namespace:  # type: ignore[override]
        """The options, and the load of the machine before the start."""
        found: argparse.Namespace = super().parse_args(*given)
        for name in ("size", "threads", "rounds", "seconds", "steps"):
            value = getattr(found, name, None)
            if value is not None and not 0 < value < inf:
                self.error(f"--{name} {value}: expected a number above 0")
        try:
            machine.pick_device(getattr(found, "device", "cpu"))
        except HeatsimError as error:
            self.exit(error.exit_code, f"{self.prog}: {error}\n")
        found.load = os.getloadavg()[0]
        return found


def options(doc: str, **offered: Any) -> ScriptParser:
    """The parser of a script, with the options that it offers, and --json: the default of each, or what it may be
    (repeated; all unless asked for)."""
    parser = ScriptParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    allowed = {"device": ["cpu", "cuda"], "precision": [*PRECISIONS, *["both"] * (offered.get("precision") == "both")]}
    for name, default in {**offered, "json": None}.items():
        option, meaning = "--" + name.replace("_", "-"), MEANINGS[name]
        if isinstance(default, Collection) and not isinstance(default, str):
            parser.add_argument(option, action="append", choices=list(default), metavar="NAME", help=meaning)
            continue
        kind = Path if name == "json" else int if name == "steps" else type(default)
        shown = meaning if default is None else f"{meaning.split(', may be')[0]} [{default}]"
        parser.add_argument(option, type=kind, default=default, choices=allowed.get(name), help=shown)
    return parser


def peers_python() -> str:
    """The Python that has other programs, unless one is named: that of peers-venv if it is there, or this one."""
    return str(PEERS_PYTHON.absolute()) if PEERS_PYTHON.exists() else sys.executable


def finish(given: argparse.Namespace, layout: Layout, rows: list[Row], notes: Sequence[str] = ()) -> int:
    """Print what a script found, and write it where --json says; the exit code is 1 if something was wrong."""
    about = machine.describe_machine(getattr(given, "device", None) or "cpu")
    print(f"{about['device_name']}; load before the start {given.load:.1f}; {shlex.join(sys.argv)}")
    skipped = dict.fromkeys(f"{row['name']} was skipped: {row['skipped']}" for row in rows if "skipped" in row)
    said = [*notes, *skipped, *doubts(rows)]
    document = {"command": shlex.join(sys.argv), "machine": about, "rows": rows, "notes": said}
    return show(document, layout, print, given.json)
