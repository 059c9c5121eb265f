"""How the results of `heatsim bench stencil` are shown."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

from heatsim.bench import device_limits, report
from heatsim.bench.harness import ReportLayout
from heatsim.bench.report import Row, TableColumn, number
from heatsim.plots.roofline import RooflineGuide, RooflinePanel, RooflinePoint, draw_roofline


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
    TableColumn("grid", _grid),
    TableColumn("precision", lambda row: str(row["precision"])),
    TableColumn("materials", lambda row: str(row["materials"])),
    TableColumn("kernel", lambda row: str(row["kernel"])),
    TableColumn("G cells/s", _rate),
    TableColumn("best", number("cells_per_second_best", ".2f", 1e9)),
    TableColumn("T_eff GB/s", number("bytes_per_second", ".1f", 1e9)),
    TableColumn("of copy", number("of_copy", ".2f")),
    TableColumn("OP/B asked", number("intensity_asked", ".2f")),
    TableColumn("least", number("intensity_least", ".2f")),
    TableColumn("measured", number("intensity_measured", ".2f")),
    TableColumn("registers", number("registers", ".0f")),
    TableColumn("spilled B", number("spilled_bytes", ".0f")),
    TableColumn("shared B", number("shared_bytes", ".0f")),
    TableColumn("threads", number("threads", ".0f")),
    TableColumn("blocks/SM", report.blocks),
    TableColumn("compile s", _compile),
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
    return "failed" not in row and not device_limits.is_copy(row["kernel"])


def _draw(path: Path, document: dict[str, Any]) -> bool:
    if not any(map(is_kernel, document["rows"])):
        return False

    draw_kernel_roofline(path, document)
    return True


SHOWN = ReportLayout(
    COLUMNS,
    lambda row: (row["cells"], row["precision"], row["materials"]),
    flaws,
    _verified,
    _draw,
    "Roofline of the stencil kernels",
)


# The roofline figure of `heatsim bench stencil`.


MIN_TRAFFIC_LABEL = "read once, written once"


def draw_kernel_roofline(path: Path, document: dict[str, Any]) -> None:
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


def _panel(precision: str, rows: list[Row]) -> RooflinePanel:
    here = [row for row in rows if row["precision"] == precision]
    bandwidth = max(row["bytes_per_second"] for row in here if device_limits.is_copy(row["kernel"]))
    kernels = [row for row in here if is_kernel(row)]
    return RooflinePanel(precision, bandwidth, [_point(row) for row in kernels], _guides(kernels))


def _point(row: Row) -> RooflinePoint:
    several = row["materials"] > 1
    materials = f", {row['materials']} materials" if several else ""
    return RooflinePoint(
        f"{row['kernel']}{materials}: {row['of_copy']:.2f}",
        row["kernel"],
        row.get("intensity_measured") or row["intensity_least"],
        row["cells_per_second"] * row["operations_a_cell"],
        several,
    )


def _guides(kernels: list[Row]) -> list[RooflineGuide]:
    """The intensities that theory gives in one material, kernels of the same value together."""
    named: dict[float, list[str]] = {}
    fewest = min((row["materials"] for row in kernels), default=1)
    for row in kernels:
        if row["materials"] == fewest:
            named.setdefault(row["intensity_least"], [MIN_TRAFFIC_LABEL])
            if row["intensity_asked"] is not None:
                named.setdefault(row["intensity_asked"], []).append(f"{row['kernel']} asks")
    return [RooflineGuide(", ".join(dict.fromkeys(names)), intensity) for intensity, names in sorted(named.items())]
