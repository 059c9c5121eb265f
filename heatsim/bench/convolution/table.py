"""How the results of `heatsim bench convolution` are shown."""

from __future__ import annotations

from typing import Any

from heatsim.bench import report
from heatsim.bench.harness import ReportLayout
from heatsim.bench.report import Row, TableColumn, digits, number


def _problem(row: Row) -> str:
    return f"{row['problem']} on {' x '.join(map(str, row['shape'][-2:]))}"


def _rate(row: Row) -> str:
    return "FAILED" if "failed" in row else digits("results_per_second", 1e9)(row)


COLUMNS = (
    TableColumn("problem", _problem),
    TableColumn("precision", lambda row: str(row["precision"])),
    TableColumn("kernel", lambda row: str(row["kernel"])),
    TableColumn("ms", digits("median_seconds", 1e-3)),
    TableColumn("G results/s", _rate),
    TableColumn("best", digits("results_per_second_best", 1e9)),
    TableColumn("GB/s", digits("bytes_per_second", 1e9)),
    TableColumn("of copy", number("of_copy", ".2f")),
    TableColumn("roof", number("roof", ".2f")),
    TableColumn("GFLOP/s", digits("operations_per_second", 1e9)),
    TableColumn("of FMA", number("of_fma_limit", ".2f")),
    TableColumn("time / best", number("times_best", ".2f")),
    TableColumn("saved", number("accesses_saved", ".1f")),
    TableColumn("OP/B asked", number("intensity_asked", ".2f")),
    TableColumn("least", number("intensity_least", ".2f")),
    TableColumn("registers", number("registers", ".0f")),
    TableColumn("spilled B", number("spilled_bytes", ".0f")),
    TableColumn("blocks/SM", report.blocks),
)


def flaws(document: dict[str, Any]) -> list[str]:
    """What the verification found, a line for each kernel and peer that failed."""
    found = [
        f"{each['kernel']} ({each['family']}) in {each['precision']} FAILED the verification: {each['flaw']}"
        for each in document["verification"]
        if each["flaw"]
    ]
    told = {(each["family"], each["kernel"], each["precision"]) for each in document["verification"]}
    for row in document["rows"]:
        if "failed" in row and (row["family"], row["kernel"], row["precision"]) not in told:
            found.append(f"{row['kernel']}, {row['problem']} in {row['precision']} FAILED: {row['failed']}")
    return found


def _verified(document: dict[str, Any]) -> str:
    cases = sum(verdict["cases"] for verdict in document["verification"])
    return f"Before they were timed, the kernels gave the right results on {cases} problems."


SHOWN = ReportLayout(COLUMNS, lambda row: (row["problem"], row["shape"], row["precision"]), flaws, _verified)
