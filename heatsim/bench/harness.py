"""A benchmark as the command line calls it: measured, then shown as a table, JSON, a figure, and in a document."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from heatsim.bench import report
from heatsim.bench.interleaved_timing import Tell
from heatsim.bench.report import Row, TableColumn

PARTS = ("options", "benchmark", "table")  # modules of each benchmark
BenchmarkDocument = dict[str, Any]


class ReportLayout(NamedTuple):
    """How a benchmark is shown: the columns of its table, and what rows have in common between two lines.

    `flaws`: a line for all that is wrong; `verified`: what is said where nothing is; `draw`: the figure into a file,
    False if there is nothing to draw; `figure`: its title.
    """

    columns: Sequence[TableColumn]
    group: Callable[[Row], Any]
    flaws: Callable[[BenchmarkDocument], list[str]]
    verified: Callable[[BenchmarkDocument], str] = lambda document: ""
    draw: Callable[[Path, BenchmarkDocument], bool] = lambda path, document: False
    figure: str = ""


def run_benchmark(name: str, asked: dict[str, Any], tell: Tell) -> int:
    """Do what `heatsim bench NAME` was asked for; the exit code is 1 if something was wrong.

    Raises `HeatsimError`, OSError.
    """
    options, benchmark, table = (import_module(f"heatsim.bench.{name}.{part}") for part in PARTS)
    document: BenchmarkDocument = benchmark.benchmark(options.options(**asked), tell)
    shown: ReportLayout = table.SHOWN
    json, write, figure = (asked.get(file) for file in ("json", "write", "figure"))
    if json is not None:
        report.write_json(json, document)
    drawn = figure if figure is not None and shown.draw(figure, document) else None
    if write is not None:
        report.write_section(write, document["benchmark"], _device(document), _section(document, shown, write, drawn))
    report.print_table(shown.columns, document["rows"], shown.group)
    flaws = shown.flaws(document)
    for line in (*flaws, *document["notes"]):
        tell(line)
    return 1 if flaws else 0


def _section(document: BenchmarkDocument, shown: ReportLayout, path: Path, figure: Path | None) -> str:
    """What the document at `path` says of the benchmark on this device."""
    flaws = shown.flaws(document)
    parts = [
        f"### {_device(document)}",
        f"    {document['command']}",
        report.circumstances(document),
        report.markdown(shown.columns, document["rows"]),
        "\n".join(f"- {line}" for line in (*flaws, *document["notes"])),
        "" if flaws else shown.verified(document),
    ]
    if figure is not None:
        link = Path(os.path.relpath(figure, path.parent)).as_posix()
        parts.append(f"![{shown.figure} on {_device(document)}]({link})")
    return "\n\n".join(part for part in parts if part)


def _device(document: BenchmarkDocument) -> str:
    return str(document["machine"]["device_name"])
