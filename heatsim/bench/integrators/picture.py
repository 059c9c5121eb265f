"""The figure of `heatsim bench integrators`: what an accuracy costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from heatsim.bench.report import Row
from heatsim.plots.curves import Line, Panel, draw_panels


def drawn(rows: list[Row]) -> list[Row]:
    """The rows of runs that came to their end, of which the error is known."""
    return [row for row in rows if row.get("error") and row["seconds"]]


def draw(path: Path, document: dict[str, Any]) -> None:
    """A panel for each problem and precision: seconds over the error, a curve for each integrator. Raises OSError."""
    rows = drawn(document["rows"])
    cases = dict.fromkeys((row["problem"], row["precision"]) for row in rows)
    panels = [_panel(case, [row for row in rows if (row["problem"], row["precision"]) == case]) for case in cases]
    size = " x ".join(map(str, rows[0]["cells"]))
    title = f"Time to accuracy on {document['machine']['device_name']}"
    draw_panels(path, panels, title=title, subtitle=f"{size} cells; errors over the range of temperatures")


def _panel(case: tuple[str, str], rows: list[Row]) -> Panel:
    curves = [_curve(name, rows) for name in dict.fromkeys(row["integrator"] for row in rows)]
    return f"largest error, {case[0]} in {case[1]}", "time (s)", curves, True


def _curve(name: str, rows: list[Row]) -> Line:
    """A line where there are several tolerances, else a point."""
    pairs = sorted((row["error"], row["seconds"]) for row in rows if row["integrator"] == name)
    errors, seconds = np.array(pairs).T
    return name, errors, seconds, len(pairs) > 1
