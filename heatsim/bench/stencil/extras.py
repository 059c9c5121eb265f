"""Numbers that need a process of their own: compile times, and what the hardware counted."""

from __future__ import annotations

from math import prod
from typing import Any

from heatsim.bench.children import compile_times
from heatsim.bench.counters import CountersError, count
from heatsim.bench.measure import Tell
from heatsim.bench.stencil.options import materials_in_words
from heatsim.bench.stencil.timing import BATCH, Row

CHILD = "heatsim.bench.stencil.child"
SMALL = (64, 64, 64)  # a kernel compiles alike for every size


def add_compile_times(device: str, rows: list[Row], tell: Tell) -> list[str]:
    """Add the seconds that each kernel takes to compile to the rows of the first grid; returns what went wrong."""
    tell("compiling in processes of their own, with an empty cache and with a filled one")
    rows = [row for row in rows if row["cells"] == rows[0]["cells"]]
    times = compile_times(CHILD, [_request(device, row, SMALL, profiled=False) for row in rows])
    for row, found in zip(rows, times, strict=True):
        row.update(found)
    return [f"compiling {row['kernel']}: {row['compile_error']}" for row in rows if "compile_error" in row]


def add_counters(device: str, rows: list[Row], tell: Tell) -> list[str]:
    """Add the arithmetic intensity that the hardware counted on the first of the grids, as counting takes seconds;
    returns why not, in words, where it could not."""
    if device == "cpu":
        return ["--counters: there are none for the CPU"]
    for row in (each for each in rows if each["cells"] == rows[0]["cells"]):
        tell(f"counting {row['kernel']} in {row['precision']}, {materials_in_words(row['materials'])}")
        shape = (row["cells"][2], row["cells"][1], row["cells"][0])
        try:
            counted = count(CHILD, _request(device, row, shape, profiled=True))
        except CountersError as error:
            return [f"--counters: {error}"]
        updates = prod(shape) * BATCH
        row["measured_bytes_a_cell"] = counted.bytes / updates
        row["measured_operations_a_cell"] = counted.operations / updates
        row["intensity_measured"] = counted.operations / counted.bytes if counted.bytes else None
    return []


def _request(device: str, row: Row, shape: tuple[int, int, int], profiled: bool) -> dict[str, Any]:
    return {
        "device": device,
        "contender": row["kernel"],
        "shape": shape,
        "precision": row["precision"],
        "materials": row["materials"],
        "profiled": profiled,
    }
