"""How the results of `heatsim bench stencil` are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heatsim.bench import copying, report
from heatsim.bench.command import Shown
from heatsim.bench.report import Column, Row, number


def _grid(row: Row) -> str:
    nx, ny, nz = row["cells"]
    return f"{nx}^3" if nx == ny == nz else f"{nx} x {ny} x {nz}"


def _rate(row: Row) -> str:
    return "FAILED" if "failed" in row else number("cells_per_second", ".2f", 1e9)(row)


def _compile(row: Row) -> str:
    if "compile_cold_seconds" not in row:
        return ""
    return f"{row['compile_cold_seconds']:.1f} / {row['compile_warm_seconds']:.1f}"


COLUMNS = (
    Column("grid", _grid),
    Column("precision", lambda row: str(row["precision"])),
    Column("materials", lambda row: str(row["materials"])),
    Column("kernel", lambda row: str(row["kernel"])),
    Column("G cells/s", _rate),
    Column("best", number("cells_per_second_best", ".2f", 1e9)),
    Column("T_eff GB/s", number("bytes_per_second", ".1f", 1e9)),
    Column("of copy", number("of_copy", ".2f")),
    Column("OP/B asked", number("intensity_asked", ".2f")),
    Column("least", number("intensity_least", ".2f")),
    Column("measured", number("intensity_measured", ".2f")),
    Column("registers", number("registers", ".0f")),
    Column("spilled B", number("spilled_bytes", ".0f")),
    Column("shared B", number("shared_bytes", ".0f")),
    Column("threads", number("threads", ".0f")),
    Column("blocks/SM", report.blocks),
    Column("compile s", _compile),
)


def flaws(document: dict[str, Any]) -> list[str]:
    """What the verification found, a line for each kernel that failed."""
    failed = (verdict for verdict in document["verification"] if verdict["flaw"])
    return [f"{each['kernel']} in {each['precision']} FAILED the verification: {each['flaw']}" for each in failed]


def _verified(document: dict[str, Any]) -> str:
    cases = min(verdict["cases"] for verdict in document["verification"])
    return f"Before it was timed, every kernel gave the bits of the reference on {cases} problems."


def is_kernel(row: Row) -> bool:
    """Whether a row is of a kernel that was timed."""
    return "failed" not in row and not copying.is_copy(row["kernel"])


def _draw(path: Path, document: dict[str, Any]) -> bool:
    if not any(map(is_kernel, document["rows"])):
        return False
    from heatsim.bench.stencil import picture

    picture.draw(path, document)
    return True


SHOWN = Shown(
    COLUMNS,
    lambda row: (row["cells"], row["precision"], row["materials"]),
    flaws,
    _verified,
    _draw,
    "Roofline of the stencil kernels",
)
