"""`heatsim bench stencil`: verify and time the stencil kernels, and show how fast each is beside a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from heatsim.bench import device_limits
from heatsim.bench.harness import BenchmarkDocument, BenchmarkSuite, MemoryNeed, ReportLayout, blocks_and_occupancy
from heatsim.bench.interleaved_timing import ROUNDS
from heatsim.bench.stencil import compile_and_counters, kernels_under_test, problems, rates
from heatsim.bench.stencil.options import StencilOptions, check_options, in_words, materials_in_words
from heatsim.bench.stencil.rates import Setting
from heatsim.plots.roofline import RooflineGuide, RooflinePanel, RooflinePoint, draw_roofline
from heatsim.tables import Row, TableColumn, Tell, number, number_columns, ratio_columns

MAX_COMPILE_SIDE = 256  # cells a side of fields that stand for larger ones: they take the same tiles


def settings(options: StencilOptions) -> list[Setting]:
    """What the kernels are timed on."""
    chosen = product(options.sizes, options.common.precisions, options.materials)
    return [Setting(*each, layers=options.layers if each[-1] > 1 else 0) for each in chosen]


def memory_needs(options: StencilOptions) -> Iterator[MemoryNeed]:
    """What must fit on the device."""
    for each in settings(options):
        yield MemoryNeed(problems.bytes_needed(*each), f"--size {in_words(each.shape)} in {each.precision}")


def compile_jobs(options: StencilOptions) -> list[Callable[[], object]]:
    """Compile what the kernels need for the cases of the verification and for what is timed."""
    side = MAX_COMPILE_SIDE
    shapes = {(min(nz, side), min(ny, side), min(nx, side)) for nz, ny, nx in options.sizes}
    timed = [problems.timed_stencil(shape, count, options.layers) for shape in shapes for count in options.materials]
    needed = [(each.coefficients, each.forcing) for each in timed]
    needed += [(each.coefficients, each.forcing) for each in problems.all_cases(options.materials)]
    return [
        partial(kernels_under_test.compile_kernel, each.name, precision, coefficients, forcing)
        for coefficients, forcing in needed
        for precision in options.common.precisions
        for each in kernels_under_test.select_kernels(options.kernels)
    ]


def measure(options: StencilOptions, tell: Tell) -> BenchmarkDocument:
    """Verify the kernels, then time them; one that fails the verification is not timed."""
    chosen = kernels_under_test.select_kernels(options.kernels)
    cases = problems.all_cases(options.materials)
    verdicts = kernels_under_test.verify_kernels(chosen, options.common.precisions, cases, tell)
    failed = {(verdict.kernel, verdict.precision) for verdict in verdicts if verdict.flaw}
    if options.tune:
        for setting in settings(options):
            rates.tune_tiles(setting, options.kernels, options.seconds, tell)
    rows: list[Row] = []
    for setting in settings(options):
        fit = [each for each in chosen if (each.name, setting.precision) not in failed]
        medium = materials_in_words(setting.materials, setting.layers)
        tell(f"timing {in_words(setting.shape)} in {setting.precision}, {medium}")
        rows += rates.time_kernels(options.common.device, setting, fit, options.seconds)
        rows += [_failed(setting, each.name) for each in chosen if each not in fit]
    return {
        "rounds": ROUNDS,
        "verification": [verdict._asdict() for verdict in verdicts],
        "notes": _extras(options, [row for row in rows if "operations_a_cell" in row], tell),
        "rows": rows,
    }


def _extras(options: StencilOptions, rows: list[Row], tell: Tell) -> list[str]:
    device = options.common.device
    notes = compile_and_counters.add_compile_times(device, rows, tell) if options.compile else []
    return notes + (compile_and_counters.add_counters(device, rows, tell) if options.counters else [])


def _failed(setting: Setting, kernel: str) -> Row:
    nz, ny, nx = setting.shape
    return {
        "cells": [nx, ny, nz],
        "precision": setting.precision,
        "materials": setting.materials,
        "layers": setting.layers,
        "kernel": kernel,
        "failed": True,
    }


# The table.


def _grid(row: Row) -> str:
    nx, ny, nz = row["cells"]
    return f"{nx}^3" if nx == ny == nz else f"{nx} x {ny} x {nz}"


def _materials(row: Row) -> str:
    layers = f" in {row['layers']} layers" if row["layers"] else ""
    return f"{row['materials']}{layers}"


def _rate(row: Row) -> str:
    return "FAILED" if "failed" in row else number("cells_per_second", ".2f", 1e9)(row)


def _compile(row: Row) -> str:
    if "compile_cold_seconds" not in row:
        return ""
    return f"{row['compile_cold_seconds']:.1f} / {row['compile_warm_seconds']:.1f}"


COLUMNS = (
    TableColumn("grid", _grid),
    TableColumn("precision", lambda row: str(row["precision"])),
    TableColumn("materials", _materials),
    TableColumn("kernel", lambda row: str(row["kernel"])),
    TableColumn("G cells/s", _rate),
    TableColumn("best", number("cells_per_second_best", ".2f", 1e9)),
    TableColumn("T_eff GB/s", number("bytes_per_second", ".1f", 1e9)),
    *ratio_columns({"of copy": "of_copy"}),
    *number_columns(".2f", {"OP/B asked": "intensity_asked", "least": "intensity_least"}),
    *number_columns(".2f", {"measured": "intensity_measured"}),
    *number_columns(".0f", {"registers": "registers", "spilled B": "spilled_bytes", "shared B": "shared_bytes"}),
    *number_columns(".0f", {"threads": "threads"}),
    TableColumn("blocks/SM", blocks_and_occupancy),
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
        f"{row['kernel']}{materials}: {'-' if row['doubt'] else format(row['of_copy'], '.2f')}",
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


SUITE = BenchmarkSuite(
    check_options,
    measure,
    ReportLayout(
        COLUMNS,
        group=lambda row: (row["cells"], row["precision"], row["materials"]),
        flaws=flaws,
        verified=_verified,
        draw=_draw,
        figure="Roofline of the stencil kernels",
    ),
    memory_needs,
    compile_jobs,
)
