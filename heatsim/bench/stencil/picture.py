"""The roofline figure of `heatsim bench stencil`."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

from heatsim.bench import copying
from heatsim.bench.report import Row
from heatsim.bench.stencil.table import is_kernel
from heatsim.plots.roofline import Guide, Panel, Point, draw_roofline

LEAST = "read once, written once"


def draw(path: Path, document: dict[str, Any]) -> None:
    """A panel for each precision in which a kernel was timed, of the largest grid. Raises OSError."""
    largest = max((row["cells"] for row in document["rows"]), key=prod)
    rows = [row for row in document["rows"] if row["cells"] == largest]
    panels = [
        _panel(precision, rows) for precision in dict.fromkeys(row["precision"] for row in rows if is_kernel(row))
    ]
    size = " x ".join(map(str, largest))
    counted = any(row.get("intensity_measured") for row in rows)
    where = "the hardware counted" if counted else "must move"
    draw_roofline(
        path,
        panels,
        title=f"Stencil kernels on {document['machine']['device_name']}",
        subtitle=f"{size} cells; intensity: operations over the bytes that {where}",
        key="kernel: fraction of copy limit",
    )


def _panel(precision: str, rows: list[Row]) -> Panel:
    here = [row for row in rows if row["precision"] == precision]
    bandwidth = max(row["bytes_per_second"] for row in here if copying.is_copy(row["kernel"]))
    kernels = [row for row in here if is_kernel(row)]
    return Panel(precision, bandwidth, [_point(row) for row in kernels], _guides(kernels))


def _point(row: Row) -> Point:
    several = row["materials"] > 1
    materials = f", {row['materials']} materials" if several else ""
    return Point(
        f"{row['kernel']}{materials}: {row['of_copy']:.2f}",
        row["kernel"],
        row.get("intensity_measured") or row["intensity_least"],
        row["cells_per_second"] * row["operations_a_cell"],
        several,
    )


def _guides(kernels: list[Row]) -> list[Guide]:
    """The intensities that theory gives in one material, kernels of the same value together."""
    named: dict[float, list[str]] = {}
    fewest = min((row["materials"] for row in kernels), default=1)
    for row in kernels:
        if row["materials"] == fewest:
            named.setdefault(row["intensity_least"], [LEAST])
            if row["intensity_asked"] is not None:
                named.setdefault(row["intensity_asked"], []).append(f"{row['kernel']} asks")
    return [Guide(", ".join(dict.fromkeys(names)), intensity) for intensity, names in sorted(named.items())]
