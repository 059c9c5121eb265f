"""Compile times of the stencil kernels, and on a GPU what the hardware counts of them, against what theory asks for.

    python benchmarks/profile_stencil.py --device cuda --size 512

Each kernel is made ready in a process of its own, first with an empty cache of compiled kernels and then with a filled
one. On a GPU a third process does steps under NVIDIA Nsight Compute (`ncu`), which replays each kernel between
`cuProfilerStart` and `cuProfilerStop` until all counters are read, and writes a line of CSV for each kernel and metric.
Kernels are not verified here: `heatsim bench stencil` does.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import script

from heatsim.base.tables import Row, TableColumn, number, number_columns
from heatsim.simulation.device_selection import gpu_name
from heatsim.studies.bench.harness import chosen
from heatsim.studies.bench.stencil import kernels, problems

COMPILED_SIDE, STEPS = 64, 12  # cells a side, as a kernel compiles alike for every size; steps
NOT_PERMITTED = "ERR_NVGPUCTRPERM"
BYTE_METRICS = {"dram__bytes_read.sum": 1, "dram__bytes_write.sum": 1}
INSTRUCTIONS = {"fadd": 1, "fmul": 1, "ffma": 2, "dadd": 1, "dmul": 1, "dfma": 2}
OPERATION_METRICS = {f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum": n for name, n in INSTRUCTIONS.items()}
NCU = ("--csv", "--print-units", "base", "--profile-from-start", "off", "--cache-control", "none")
NCU += ("--clock-control", "none", "--metrics", ",".join([*BYTE_METRICS, *OPERATION_METRICS]))
COLUMNS = (
    TableColumn("kernel", lambda row: row["name"]),
    TableColumn("OP/B asked", number("intensity_asked", ".2f")),
    *number_columns(".2f", {"measured": "intensity", "bytes a cell": "bytes"}),
    *number_columns(".1f", {"operations a cell": "operations", "compile s, cold": "cold", "warm": "warm"}),
)


class ChildError(Exception):
    """A process did not answer; the message says why."""


def child(request: dict[str, Any], cache: Path, wrapper: Sequence[str] = ()) -> float:
    """The seconds that a process took to compile a kernel, started by a `wrapper` command if one is given."""
    command = [*wrapper, sys.executable, __file__, "--child", json.dumps(request)]
    given = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "CUDA_CACHE_PATH": str(cache)}
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ChildError((done.stderr.strip() or done.stdout.strip() or "no answer").splitlines()[-1])
    return float(done.stdout.splitlines()[-1])


def counted(request: dict[str, Any], cache: Path) -> tuple[float, float]:
    """Bytes moved and operations done by a process under ncu. Raises `ChildError`."""
    ncu, log = shutil.which("ncu"), cache / "ncu.csv"
    if ncu is None:
        raise ChildError("ncu (NVIDIA Nsight Compute) is not on the PATH, so hardware counters were not read")
    failure = ""
    try:
        child(request | {"profiled": True}, cache, [ncu, *NCU, "--log-file", str(log)])
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
    totals = Counter[str]()
    for row in csv.DictReader(line for line in text.splitlines() if line.startswith('"')):
        totals[row["Metric Name"]] += float(row["Metric Value"].replace(",", ""))  # type: ignore[assignment]
    missing = [name for name in BYTE_METRICS if name not in totals]
    if missing:
        raise ChildError(f"ncu told nothing of {', '.join(missing)}")
    moved, done = (sum(n * totals[name] for name, n in each.items()) for each in (BYTE_METRICS, OPERATION_METRICS))
    return moved, done


def profile(name: str, device: str, size: int, precision: str) -> Row:
    """What a row says of a kernel."""
    row: Row = {"name": name, "intensity_asked": problems.asked_intensity(name, precision, 1)}
    request = {"name": name, "device": device, "size": COMPILED_SIDE, "precision": precision, "profiled": False}
    with tempfile.TemporaryDirectory() as folder:
        try:
            row["cold"], row["warm"] = (child(request, Path(folder)) for _ in range(2))
            if device == "cuda":
                moved, done = counted(request | {"size": size}, Path(folder))
                row |= {"bytes": moved / size**3 / STEPS, "operations": done / size**3 / STEPS}
                row["intensity"] = done / moved if moved else None
        except ChildError as error:
            row["failed"] = str(error)
    return row


def ready_kernel(name: str, device: str, size: int, precision: str, profiled: bool) -> float:
    """Seconds that compiling a kernel takes in this process: those of the first steps, less those of the next."""
    if device == "cuda":
        gpu_name()  # starts CUDA, which is no part of compiling
    problem, seconds, stepper = problems.timed_stencil((size,) * 3, 1), [], None
    for _ in range(2):
        del stepper  # lets go of its fields
        begun = time.perf_counter()
        stepper = kernels.builder(name)(problem.coefficients, np.dtype(precision))
        stepper.field.put(problem.field())
        stepper.advance(problems.STEP, STEPS, problem.forcing)
        np.asarray(stepper.heat_entered())  # waits for the GPU
        seconds.append(time.perf_counter() - begun)
    if profiled:
        from heatsim_kernels.device.cuda.api import SIMULATED, cuda

        with nullcontext() if SIMULATED else cuda.profiling():
            stepper.advance(problems.STEP, STEPS, problem.forcing)
    return max(0.0, seconds[0] - seconds[1])


def main() -> int:
    """Profile each kernel."""
    known = {device: kernels.shown_names(kernels.kernel_names(device)) for device in ("cpu", "cuda")}
    offered = {"size": 256, "precision": "float32", "kernel": known["cpu"] + known["cuda"]}
    given = script.options(__doc__, device="cuda", **offered).parse_args()
    names = chosen(given.kernel, known[given.device])
    rows = [profile(name, given.device, given.size, given.precision) for name in names]
    return script.finish(given, COLUMNS, rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(ready_kernel(**json.loads(sys.argv[2])))
    else:
        sys.exit(main())
