"""`heatsim bench stencil` as the command line calls it."""

from __future__ import annotations

from typing import Any

from heatsim.bench import report
from heatsim.bench.measure import Tell
from heatsim.bench.stencil import table
from heatsim.bench.stencil.benchmark import benchmark
from heatsim.bench.stencil.options import options


def run(asked: dict[str, Any], tell: Tell) -> int:
    """Do what was asked for; the exit code is 1 if a kernel failed the verification. Raises `HeatsimError`, OSError."""
    wanted = options(**asked)
    document = benchmark(wanted, tell)
    if wanted.json is not None:
        report.write_json(wanted.json, document)
    figure = wanted.figure if any(map(table.is_kernel, document["rows"])) else None
    if figure is not None:
        from heatsim.bench.stencil import picture

        picture.draw(figure, document)
    if wanted.write is not None:
        table.write_section(wanted.write, document, figure)
    table.print_results(document)
    flaws = table.flaws(document)
    for line in (*flaws, *document["notes"]):
        tell(line)
    return 1 if flaws else 0
