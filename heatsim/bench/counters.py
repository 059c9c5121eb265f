"""Hardware counters of a GPU, read by NVIDIA Nsight Compute (`ncu`): bytes of device memory moved, operations done.

They cannot be read from inside a process. A child does the work between `cuProfilerStart` and `cuProfilerStop`, `ncu`
replays each of its kernels until all counters are read, and writes a line of CSV for each kernel and metric.
"""

from __future__ import annotations

import csv
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from heatsim.bench.children import ChildError, Request, ask

NOT_PERMITTED = "ERR_NVGPUCTRPERM"
BYTES = {"dram__bytes_read.sum": 1, "dram__bytes_write.sum": 1}
_INSTRUCTIONS = {"fadd": 1, "fmul": 1, "ffma": 2, "dadd": 1, "dmul": 1, "dfma": 2}
OPERATIONS = {f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum": n for name, n in _INSTRUCTIONS.items()}


class Counted(NamedTuple):
    """Totals over all kernels of a child: bytes moved between the GPU and its memory, floating-point operations."""

    bytes: float
    operations: float


class CountersError(Exception):
    """Counters cannot be read here; the message says why and what would help."""


def count(module: str, request: Request) -> Counted:
    """Run a child (see `children`) under ncu. Raises `CountersError`."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise CountersError("ncu (NVIDIA Nsight Compute) is not on the PATH, so hardware counters were not read")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        options = ["--csv", "--print-units", "base", "--log-file", str(log), "--profile-from-start", "off"]
        options += ["--cache-control", "none", "--clock-control", "none", "--metrics", ",".join([*BYTES, *OPERATIONS])]
        failure = ""
        try:
            ask(module, request, {}, [ncu, *options])
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
    return parse(text)


def parse(text: str) -> Counted:
    """Totals of ncu's CSV, which other lines may surround. Raises `CountersError` if a metric is not there."""
    lines = text.splitlines()
    header = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    totals: dict[str, float] = {}
    for row in csv.DictReader(line for line in lines[header:] if line.startswith('"')):
        name = row["Metric Name"]
        totals[name] = totals.get(name, 0.0) + float(row["Metric Value"].replace(",", ""))
    missing = [name for name in BYTES if name not in totals]
    if missing:
        raise CountersError(f"ncu told nothing of {', '.join(missing)}")
    moved, done = (sum(n * totals.get(name, 0.0) for name, n in kind.items()) for kind in (BYTES, OPERATIONS))
    return Counted(moved, done)
