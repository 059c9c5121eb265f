"""Numbers that need a process of their own: compile times, and what the hardware counted.

That process is this module: `python -m heatsim.bench.stencil.compile_and_counters REQUEST` readies one kernel and says
how long compiling took. It is started with an empty cache, with a filled one, or under a profiler; see
`heatsim.bench.subprocesses`.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.stencil import StageStepper

from heatsim.bench.stencil import kernels_under_test, problems
from heatsim.bench.stencil.options import materials_in_words
from heatsim.bench.stencil.problems import STEP, TimedStencil
from heatsim.bench.stencil.rates import BATCH
from heatsim.bench.subprocesses import ChildError, Request, ask_child, compile_times
from heatsim.simulation import device_selection
from heatsim.tables import Row, Tell

CHILD = "heatsim.bench.stencil.compile_and_counters"
COMPILE_SHAPE = (64, 64, 64)  # a kernel compiles alike for every size


def add_compile_times(device: str, rows: list[Row], tell: Tell) -> list[str]:
    """Add the seconds that each kernel takes to compile to the rows of the first grid; returns what went wrong."""
    tell("compiling in processes of their own, with an empty cache and with a filled one")
    rows = [row for row in rows if row["cells"] == rows[0]["cells"]]
    times = compile_times(CHILD, [_request(device, row, COMPILE_SHAPE, profiled=False) for row in rows])
    for row, found in zip(rows, times, strict=True):
        row.update(found)
    return [f"compiling {row['kernel']}: {row['compile_error']}" for row in rows if "compile_error" in row]


def add_counters(device: str, rows: list[Row], tell: Tell) -> list[str]:
    """Add the arithmetic intensity that the hardware counted on the first of the grids, as counting takes seconds;
    returns why not, in words, where it could not."""
    if device == "cpu":
        return ["--counters: there are none for the CPU"]
    for row in (each for each in rows if each["cells"] == rows[0]["cells"]):
        medium = materials_in_words(row["materials"], row["layers"])
        tell(f"counting {row['kernel']} in {row['precision']}, {medium}")
        shape = (row["cells"][2], row["cells"][1], row["cells"][0])
        try:
            counted = read_counters(CHILD, _request(device, row, shape, profiled=True))
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
        "layers": row["layers"],
        "profiled": profiled,
    }


# Hardware counters of a GPU, read by NVIDIA Nsight Compute (`ncu`): bytes of device memory moved, operations done.
#
# They cannot be read from inside a process. A child does the work between `cuProfilerStart` and `cuProfilerStop`, `ncu`
# replays each of its kernels until all counters are read, and writes a line of CSV for each kernel and metric.


NOT_PERMITTED = "ERR_NVGPUCTRPERM"
BYTE_METRICS = {"dram__bytes_read.sum": 1, "dram__bytes_write.sum": 1}
_INSTRUCTIONS = {"fadd": 1, "fmul": 1, "ffma": 2, "dadd": 1, "dmul": 1, "dfma": 2}
OPERATION_METRICS = {f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum": n for name, n in _INSTRUCTIONS.items()}


class CounterTotals(NamedTuple):
    """Totals over all kernels of a child: bytes moved between the GPU and its memory, floating-point operations."""

    bytes: float
    operations: float


class CountersError(Exception):
    """Counters cannot be read here; the message says why and what would help."""


def read_counters(module: str, request: Request) -> CounterTotals:
    """Run a child (see `subprocesses`) under ncu. Raises `CountersError`."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise CountersError("ncu (NVIDIA Nsight Compute) is not on the PATH, so hardware counters were not read")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        options = ["--csv", "--print-units", "base", "--log-file", str(log), "--profile-from-start", "off"]
        options += [
            "--cache-control",
            "none",
            "--clock-control",
            "none",
            "--metrics",
            ",".join([*BYTE_METRICS, *OPERATION_METRICS]),
        ]
        failure = ""
        try:
            ask_child(module, request, {}, [ncu, *options])
        except ChildError as error:
            failure = str(error)
        text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    if NOT_PERMITTED in text + failure:
        raise CountersError(
            "reading hardware counters is not permitted to this user; "
            "https://developer.nvidia.com/ERR_NVGPUCTRPERM says how an administrator allows it"
        )
    if failure:
        raise CountersError(f"ncu failed: {failure}")
    return parse_ncu_csv(text)


def parse_ncu_csv(text: str) -> CounterTotals:
    """Totals of ncu's CSV, which other lines may surround. Raises `CountersError` if a metric is not there."""
    lines = text.splitlines()
    header = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    totals: dict[str, float] = {}
    for row in csv.DictReader(line for line in lines[header:] if line.startswith('"')):
        name = row["Metric Name"]
        totals[name] = totals.get(name, 0.0) + float(row["Metric Value"].replace(",", ""))
    missing = [name for name in BYTE_METRICS if name not in totals]
    if missing:
        raise CountersError(f"ncu told nothing of {', '.join(missing)}")
    moved, done = (
        sum(n * totals.get(name, 0.0) for name, n in kind.items()) for kind in (BYTE_METRICS, OPERATION_METRICS)
    )
    return CounterTotals(moved, done)


# The process that readies one kernel.


def main(request: dict[str, Any]) -> dict[str, float]:
    """Answer a request: contender, shape, precision, materials, device, and whether a profiler is to look."""
    if request["device"] == "cuda":
        device_selection.gpu_name()  # starts CUDA, which is no part of compiling
    problem = problems.timed_stencil(tuple(request["shape"]), request["materials"], request["layers"])
    first = _ready(request, problem)[0]  # this sweep is let go before the next is made
    again, sweep = _ready(request, problem)
    if request["profiled"]:
        with _profiling():
            sweep.advance(STEP, BATCH, problem.forcing)
    return {"compile_seconds": max(0.0, first - again)}


def _ready(request: dict[str, Any], problem: TimedStencil) -> tuple[float, StageStepper]:
    """Seconds from nothing to a field that has been advanced, and the sweep."""
    begun = time.perf_counter()
    contender = kernels_under_test.find_kernel(request["contender"])
    sweep = contender.build(problem.coefficients, np.dtype(request["precision"]))
    sweep.field.put(problem.field())
    sweep.advance(STEP, BATCH, problem.forcing)
    if request["device"] == "cuda":
        _wait()
    return time.perf_counter() - begun, sweep


def _wait() -> None:
    from heatsim_kernels.runtime.cuda.api import cuda

    cuda.synchronize()


def _profiling() -> AbstractContextManager[None]:
    from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda

    return nullcontext() if SIMULATED else cuda.profiling()


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
