"""How the results of `heatsim bench convolution` are shown."""

from __future__ import annotations

from typing import Any

from heatsim.bench import report
from heatsim.bench.command import Shown
from heatsim.bench.report import Column, Row, digits, number


def _problem(row: Row) -> str:
    return f"{row['problem']} on {' x '.join(map(str, row['shape'][-2:]))}"


def _rate(row: Row) -> str:
    return "FAILED" if "failed" in row else digits("results_per_second", 1e9)(row)


COLUMNS = (
    Column("problem", _problem),
    Column("precision", lambda row: str(row["precision"])),
    Column("kernel", lambda row: str(row["kernel"])),
    Column("ms", digits("median_seconds", 1e-3)),
    Column("G results/s", _rate),
    Column("best", digits("results_per_second_best", 1e9)),
    Column("GB/s", digits("bytes_per_second", 1e9)),
    Column("of copy", number("of_copy", ".2f")),
    Column("roof", number("roof", ".2f")),
    Column("GFLOP/s", digits("operations_per_second", 1e9)),
    Column("of FMA", number("of_fma_limit", ".2f")),
    Column("time / best", number("times_best", ".2f")),
    Column("saved", number("accesses_saved", ".1f")),
    Column("OP/B asked", number("intensity_asked", ".2f")),
    Column("least", number("intensity_least", ".2f")),
    Column("registers", number("registers", ".0f")),
    Column("spilled B", number("spilled_bytes", ".0f")),
    Column("blocks/SM", report.blocks),
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


SHOWN = Shown(COLUMNS, lambda row: (row["problem"], row["shape"], row["precision"]), flaws, _verified)
