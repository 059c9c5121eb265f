"""`heatsim bench integrators` as the command line calls it."""

from __future__ import annotations

from typing import Any

from heatsim.bench import report
from heatsim.bench.integrators import table
from heatsim.bench.integrators.benchmark import benchmark
from heatsim.bench.integrators.options import options
from heatsim.bench.measure import Tell


def run(asked: dict[str, Any], tell: Tell) -> int:
    """Do what was asked for; the exit code is 1 if a run was less accurate than it had to be. Raises `HeatsimError`,
    OSError."""
    wanted = options(**asked)
    document = benchmark(wanted, tell)
    if wanted.json is not None:
        report.write_json(wanted.json, document)
    if wanted.write is not None:
        table.write_section(wanted.write, document)
    table.print_results(document)
    flaws = table.flaws(document)
    for line in (*flaws, *document["notes"]):
        tell(line)
    return 1 if flaws else 0
