"""Numbers that need a process of their own: compile times, and what the hardware counted.

That process is this module: `python -m heatsim.studies.bench.stencil.counters REQUEST` readies one kernel and says how
long compiling took. It is started with an empty cache, with a filled one, or under a profiler: NVIDIA Nsight Compute
(`ncu`) reads the counters of a GPU. The child does the work between `cuProfilerStart` and `cuProfilerStop`, `ncu`
replays each of its kernels until all counters are read, and writes a line of CSV for each kernel and metric.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
import tempfile
import time
from contextlib import nullcontext
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from heatsim_kernels.explicit import StageStepper

from heatsim.base.tables import Row, Tell
from heatsim.simulation import device_selection
from heatsim.studies.bench.children import ChildError, Request, ask_child, compile_times
from heatsim.studies.bench.stencil.kernels import find_kernel
from heatsim.studies.bench.stencil.problems import STEP, TimedStencil, timed_stencil

CHILD = "heatsim.studies.bench.stencil.counters"
COMPILE_SHAPE = (64, 64, 64)  # a kernel compiles alike for every size
PROFILED_STEPS = 12
NOT_PERMITTED = "ERR_NVGPUCTRPERM"
BYTE_METRICS = {"dram__bytes_read.sum": 1, "dram__bytes_write.sum": 1}
_INSTRUCTIONS = {"fadd": 1, "fmul": 1, "ffma": 2, "dadd": 1, "dmul": 1, "dfma": 2}
OPERATION_METRICS = {f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum": n for name, n in _INSTRUCTIONS.items()}


def add_compile_times(device: str, rows: list[Row], tell: Tell) -> list[str]:
    """Add the seconds that each kernel takes to compile to the rows of the first grid; returns what went wrong."""
    tell("compiling in processes of their own, with an empty cache and with a filled one")
    rows = [row for row in rows if row["cells"] == rows[0]["cells"]]
    for row, found in zip(
        rows, compile_times(CHILD, [_request(device, row, COMPILE_SHAPE) for row in rows]), strict=True
    ):
        row.update(found)
    return [f"compiling {row['name']}: {row['compile_error']}" for row in rows if "compile_error" in row]


def add_counters(device: str, rows: list[Row], tell: Tell) -> list[str]:
    """Add the arithmetic intensity that the hardware counted on the first of the grids, as counting takes seconds;
    returns why not, in words, where it could not."""
    if device == "cpu":
        return ["--counters: there are none for the CPU"]
    for row in (each for each in rows if each["cells"] == rows[0]["cells"]):
        tell(f"counting {row['name']} in {row['precision']}, materials: {row['materials']}")
        shape = row["cells"][::-1]
        try:
            moved, done = read_counters(CHILD, _request(device, row, shape) | {"profiled": True})
        except ChildError as error:
            return [f"--counters: {error}"]
        updates = prod(shape) * PROFILED_STEPS
        row |= {"measured_bytes_a_cell": moved / updates, "measured_operations_a_cell": done / updates}
        row["intensity_measured"] = done / moved if moved else None
    return []


def _request(device: str, row: Row, shape: tuple[int, ...]) -> dict[str, Any]:
    asked = {key: row[key] for key in ("name", "precision", "materials", "layers")}
    return {"device": device, "shape": shape, "profiled": False, **asked}


def read_counters(module: str, request: Request) -> tuple[float, float]:
    """Bytes moved and operations done by a child under ncu. Raises `ChildError`."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise ChildError("ncu (NVIDIA Nsight Compute) is not on the PATH, so hardware counters were not read")
    with tempfile.TemporaryDirectory() as folder:
        log, failure = Path(folder) / "ncu.csv", ""
        options = ["--csv", "--print-units", "base", "--log-file", str(log), "--profile-from-start", "off"]
        options += ["--cache-control", "none", "--clock-control", "none"]
        try:
            ask_child(module, request, {}, [ncu, *options, "--metrics", ",".join([*BYTE_METRICS, *OPERATION_METRICS])])
        except ChildError as error:
            failure = str(error)
        text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    if NOT_PERMITTED in text + failure:
        raise ChildError(
            "reading hardware counters is not permitted to this user; "
            "https://developer.nvidia.com/ERR_NVGPUCTRPERM says how an administrator allows it"
        )
    if failure:
        raise ChildError(f"ncu failed: {failure}")
    return _counted(text)


def _counted(text: str) -> tuple[float, float]:
    """Totals of ncu's CSV, which other lines may surround. Raises `ChildError` if a metric is not there."""
    totals: dict[str, float] = {}
    for row in csv.DictReader(line for line in text.splitlines() if line.startswith('"')):
        name = row["Metric Name"]
        totals[name] = totals.get(name, 0.0) + float(row["Metric Value"].replace(",", ""))
    missing = [name for name in BYTE_METRICS if name not in totals]
    if missing:
        raise ChildError(f"ncu told nothing of {', '.join(missing)}")
    moved, done = (
        sum(n * totals.get(name, 0.0) for name, n in each.items()) for each in (BYTE_METRICS, OPERATION_METRICS)
    )
    return moved, done


# The process that readies one kernel.


def main(request: dict[str, Any]) -> dict[str, float]:
    """Answer a request: name of the kernel, shape, precision, materials, layers, device, whether a profiler looks."""
    if request["device"] == "cuda":
        device_selection.gpu_name()  # starts CUDA, which is no part of compiling
    problem = timed_stencil(tuple(request["shape"]), request["materials"], request["layers"])
    first = _ready(request, problem)[0]  # this stepper is let go before the next is made
    again, stepper = _ready(request, problem)
    if request["profiled"]:
        from heatsim_kernels.device.cuda.api import SIMULATED, cuda

        with nullcontext() if SIMULATED else cuda.profiling():
            stepper.advance(STEP, PROFILED_STEPS, problem.forcing)
    return {"compile_seconds": max(0.0, first - again)}


def _ready(request: dict[str, Any], problem: TimedStencil) -> tuple[float, StageStepper]:
    """Seconds from nothing to a field that has been advanced, and the stepper."""
    begun = time.perf_counter()
    stepper = find_kernel(request["name"]).build(problem.coefficients, np.dtype(request["precision"]))
    stepper.field.put(problem.field())
    stepper.advance(STEP, PROFILED_STEPS, problem.forcing)
    if request["device"] == "cuda":
        from heatsim_kernels.device.cuda.api import cuda

        cuda.synchronize()
    return time.perf_counter() - begun, stepper


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
