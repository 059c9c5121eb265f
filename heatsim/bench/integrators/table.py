"""How the results of `heatsim bench integrators` are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heatsim.bench.command import Shown
from heatsim.bench.report import Column, Row, number


def _steps(row: Row) -> str:
    return f"{row['steps']}" + (f" + {row['rejected']}" if row["rejected"] else "")


def _seconds(row: Row) -> str:
    if row["seconds"] is None:
        return f"more than {row['ran']:.3g} ({row['share']:.1%} of the run)"
    return f"{row['seconds']:.3g}" + (f" (from {row['share']:.1%} of the run)" if row["share"] < 1 else "")


COLUMNS = (
    Column("problem", lambda row: f"{row['problem']}, {' x '.join(map(str, row['cells']))}"),
    Column("precision", lambda row: str(row["precision"])),
    Column("integrator", lambda row: str(row["integrator"])),
    Column("tolerance", lambda row: f"{row['tolerance']:g}" if row["tolerance"] else ""),
    Column("error", number("error", ".1e")),
    Column("s", _seconds),
    Column("steps", _steps),
    Column("sweeps", lambda row: f"{row['sweeps']}" if row["sweeps"] else ""),
    Column("iterations", lambda row: f"{row['iterations']}" if row["iterations"] else ""),
    Column("kernel", lambda row: str(row["kernel"])),
)


def flaws(document: dict[str, Any]) -> list[str]:
    """A line for each run that was less accurate than it had to be."""
    return [
        f"{row['problem']}, {row['integrator']} in {row['precision']} FAILED: {row['failed']}"
        for row in document["rows"]
        if "failed" in row
    ]


def _draw(path: Path, document: dict[str, Any]) -> bool:
    from heatsim.bench.integrators import picture

    if not picture.drawn(document["rows"]):
        return False
    picture.draw(path, document)
    return True


SHOWN = Shown(
    COLUMNS,
    lambda row: (row["problem"], row["precision"]),
    flaws,
    draw=_draw,
    figure="Time to accuracy",
)
