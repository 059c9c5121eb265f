"""What `heatsim bench NAME` does: check the request, compile, measure, and show what was found.

The result is shown as a table on the terminal, and on request as JSON, as a figure and as a section of a document.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from heatsim.bench import machine
from heatsim.bench.request import CommonRequest
from heatsim.bench.subprocesses import run_on_all_cores
from heatsim.store.atomic import write_atomically
from heatsim.tables import Row, TableColumn, Tell, markdown, print_table, write_section

BenchmarkDocument = dict[str, Any]  # all that was found, fit for JSON


class BenchmarkOptions(Protocol):
    """A request that has been checked, with its defaults filled in."""

    @property
    def common(self) -> CommonRequest:
        """What every benchmark is asked for."""

    def command(self) -> str:
        """The command that asks for the same again, with every default written out."""


OptionsType = TypeVar("OptionsType", bound=BenchmarkOptions)


class MemoryNeed(NamedTuple):
    """Bytes that a benchmark needs on the device at once, and what needs them, in words."""

    bytes: int
    what: str


class ReportLayout(NamedTuple):
    """How a benchmark is shown.

    columns: of its table; group: what rows have in common between two lines; flaws: a line for each thing that is
    wrong; verified: what is said where nothing is; draw: draws the figure into a file, and returns False if there is
    nothing to draw; figure: its title.
    """

    columns: Sequence[TableColumn]
    group: Callable[[Row], Any]
    flaws: Callable[[BenchmarkDocument], list[str]]
    verified: Callable[[BenchmarkDocument], str] = lambda document: ""
    draw: Callable[[Path, BenchmarkDocument], bool] = lambda path, document: False
    figure: str = ""


class BenchmarkSuite(NamedTuple, Generic[OptionsType]):
    """A benchmark: the `SUITE` of heatsim/bench/NAME/benchmark.py.

    check: makes options of what the command line was asked for, and raises `RequestError`; measure: returns "rounds",
    "rows", "notes" and what else was found; memory: what must fit on the device; compile_jobs: calls that compile GPU
    kernels, each in some process; compiling: a line of progress, with {count} for the number of these jobs.
    """

    check: Callable[[dict[str, Any]], OptionsType]
    measure: Callable[[OptionsType, Tell], BenchmarkDocument]
    layout: ReportLayout
    memory: Callable[[OptionsType], Iterable[MemoryNeed]] = lambda options: ()
    compile_jobs: Callable[[OptionsType], list[Callable[[], object]]] = lambda options: []
    compiling: str = "compiling the kernels in all their variants, where they are not on the disk"


def run_benchmark(name: str, asked: dict[str, Any], tell: Tell) -> int:
    """Do what `heatsim bench NAME` was asked for; the exit code is 1 if something was wrong.

    Raises `HeatsimError`, OSError.
    """
    suite: BenchmarkSuite[Any] = import_module(f"heatsim.bench.{name}.benchmark").SUITE
    options = suite.check(asked)
    document = _measure(name, suite, options, tell)
    layout, files = suite.layout, options.common
    if files.json is not None:
        write_atomically(files.json, (json.dumps(document, indent=2) + "\n").encode())
    drawn = files.figure if files.figure is not None and layout.draw(files.figure, document) else None
    if files.write is not None:
        section = _section(document, layout, files.write, drawn)
        write_section(files.write, document["benchmark"], _device(document), section)
    print_table(layout.columns, document["rows"], layout.group)
    flaws = layout.flaws(document)
    for line in (*flaws, *document["notes"]):
        tell(line)
    return 1 if flaws else 0


def _measure(name: str, suite: BenchmarkSuite[OptionsType], options: OptionsType, tell: Tell) -> BenchmarkDocument:
    """Raises `HeatsimError` if a field does not fit the device, before anything is allocated there."""
    device = options.common.device
    for need in suite.memory(options):
        machine.require_memory(device, need.bytes, need.what)
    described = machine.describe_machine(device)  # before the load is our own
    jobs = suite.compile_jobs(options) if device == "cuda" else []
    if jobs:
        tell(suite.compiling.format(count=len(jobs)))
        run_on_all_cores(jobs)
    found = suite.measure(options, tell)
    doubts = [row["doubt"] for row in found["rows"] if row.get("doubt")]
    if doubts:
        found["notes"] = [*found["notes"], f"{len(doubts)} rows have no ratio, the first since {doubts[0]}"]
    return {"benchmark": f"heatsim bench {name}", "command": options.command(), "machine": described, **found}


def _section(document: BenchmarkDocument, layout: ReportLayout, path: Path, figure: Path | None) -> str:
    """What the document at `path` says of the benchmark on this device."""
    flaws = layout.flaws(document)
    parts = [
        f"### {_device(document)}",
        f"    {document['command']}",
        _circumstances(document),
        markdown(layout.columns, document["rows"]),
        "\n".join(f"- {line}" for line in (*flaws, *document["notes"])),
        "" if flaws else layout.verified(document),
    ]
    if figure is not None:
        link = Path(os.path.relpath(figure, path.parent)).as_posix()
        parts.append(f"![{layout.figure} on {_device(document)}]({link})")
    return "\n\n".join(part for part in parts if part)


def _circumstances(document: BenchmarkDocument) -> str:
    """When, how and on what a benchmark was measured, in a sentence."""
    about = document["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    parts = [about["date"], f"median and best of {document['rounds']} rounds"]
    if about["device"] == "cuda":
        parts.append(f"driver {about.get('driver', 'none')} (CUDA {about.get('driver_cuda', 'none')})")
    else:
        parts.append(f"{about['threads']} threads on {about['cpu_cores']} cores")
    if about["load_average"] is not None:
        parts.append(f"load average before the start {about['load_average']:.2f}")
    return "; ".join([*parts, versions]) + "."


def _device(document: BenchmarkDocument) -> str:
    return str(document["machine"]["device_name"])


def blocks_and_occupancy(row: Row) -> str:
    """Blocks that a multiprocessor holds at once, and the share of its threads that they fill."""
    if "blocks_a_multiprocessor" not in row:
        return ""
    return f"{row['blocks_a_multiprocessor']} ({100 * row['occupancy']:.0f} %)"
