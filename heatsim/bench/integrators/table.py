"""How the results of `heatsim bench integrators` are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from heatsim.bench.harness import ReportLayout
from heatsim.bench.report import Row, TableColumn, number
from heatsim.plots.curves import Curve, CurvePanel, draw_panels


def _steps(row: Row) -> str:
    return f"{row['steps']}" + (f" + {row['rejected']}" if row["rejected"] else "")


def _seconds(row: Row) -> str:
    if row["seconds"] is None:
        return f"more than {row['ran']:.3g} ({row['share']:.1%} of the run)"
    return f"{row['seconds']:.3g}" + (f" (from {row['share']:.1%} of the run)" if row["share"] < 1 else "")


COLUMNS = (
    TableColumn("problem", lambda row: f"{row['problem']}, {' x '.join(map(str, row['cells']))}"),
    TableColumn("precision", lambda row: str(row["precision"])),
    TableColumn("integrator", lambda row: str(row["integrator"])),
    TableColumn("tolerance", lambda row: f"{row['tolerance']:g}" if row["tolerance"] else ""),
    TableColumn("error", number("error", ".1e")),
    TableColumn("s", _seconds),
    TableColumn("steps", _steps),
    TableColumn("sweeps", lambda row: f"{row['sweeps']}" if row["sweeps"] else ""),
    TableColumn("iterations", lambda row: f"{row['iterations']}" if row["iterations"] else ""),
    TableColumn("kernel", lambda row: str(row["kernel"])),
)


def flaws(document: dict[str, Any]) -> list[str]:
    """A line for each run that was less accurate than it had to be."""
    return [
        f"{row['problem']}, {row['integrator']} in {row['precision']} FAILED: {row['failed']}"
        for row in document["rows"]
        if "failed" in row
    ]


def _draw(path: Path, document: dict[str, Any]) -> bool:

    if not finished_rows(document["rows"]):
        return False
    draw_time_to_accuracy(path, document)
    return True


SHOWN = ReportLayout(
    COLUMNS,
    lambda row: (row["problem"], row["precision"]),
    flaws,
    draw=_draw,
    figure="Time to accuracy",
)


# The figure of `heatsim bench integrators`: what an accuracy costs.


def finished_rows(rows: list[Row]) -> list[Row]:
    """The rows of runs that came to their end, of which the error is known."""
    return [row for row in rows if row.get("error") and row["seconds"]]


def draw_time_to_accuracy(path: Path, document: dict[str, Any]) -> None:
    """A panel for each problem and precision: seconds over the error, a curve for each integrator. Raises OSError."""
    rows = finished_rows(document["rows"])
    cases = dict.fromkeys((row["problem"], row["precision"]) for row in rows)
    panels = [_panel(case, [row for row in rows if (row["problem"], row["precision"]) == case]) for case in cases]
    size = " x ".join(map(str, rows[0]["cells"]))
    title = f"Time to accuracy on {document['machine']['device_name']}"
    draw_panels(path, panels, title=title, subtitle=f"{size} cells; errors over the range of temperatures")


def _panel(case: tuple[str, str], rows: list[Row]) -> CurvePanel:
    curves = [_curve(name, rows) for name in dict.fromkeys(row["integrator"] for row in rows)]
    return f"largest error, {case[0]} in {case[1]}", "time (s)", curves, True


def _curve(name: str, rows: list[Row]) -> Curve:
    """A line where there are several tolerances, else a point."""
    pairs = sorted((row["error"], row["seconds"]) for row in rows if row["integrator"] == name)
    errors, seconds = np.array(pairs).T
    return name, errors, seconds, len(pairs) > 1
