"""What a measurement was made on, and what limits a kernel there.

The copy limit is how fast the device reads one array and writes another, with nothing to compute. The arithmetic limit
is how many multiply-adds a second it does, with nothing to load.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heatsim.errors import HeatsimError, NoGpuError
from heatsim.simulation import device_selection
from heatsim.simulation.run_info import list_versions

if TYPE_CHECKING:
    from heatsim_kernels.device.cuda.launch import Resources

Repeat = Callable[[int], None]  # does something so many times

# Multiply-adds a cycle of a multiprocessor in float32 and float64, by compute capability. Source: NVIDIA, CUDA C++
# Programming Guide, throughput of native arithmetic instructions.
FMA_PER_CYCLE = {
    (7, 0): (64, 32), (7, 5): (64, 2), (8, 0): (64, 32), (8, 6): (128, 2), (8, 9): (128, 2), (9, 0): (128, 64),
    (10, 0): (128, 64), (12, 0): (128, 2),
}  # fmt: skip
SIDE, PRODUCTS = 1024, 7  # of matrices, and how often they are multiplied
# Prints the seconds of the fastest product, in a process that has the threads wanted. The first one wakes them.
MULTIPLY = """
import time
import numpy as np
a, b = np.random.default_rng(0).random((2, {side}, {side})).astype("{precision}")
times = []
for _ in range({products} + 1):
    begun = time.perf_counter()
    np.matmul(a, b)
    times.append(time.perf_counter() - begun)
print(min(times[1:]))
"""


def pick_device(asked: str) -> str:
    """ "cpu" or "cuda"; "auto" takes a GPU if one works. Raises `NoGpuError` if one is demanded and missing."""
    if asked == "cpu":
        return "cpu"
    try:
        device_selection.gpu_name()
    except NoGpuError:
        if asked == "cuda":
            raise
        return "cpu"
    return "cuda"


def require_memory(device: str, needed: int, what: str) -> None:
    """Raise `HeatsimError` if the device has not the bytes that are needed; nothing has been allocated by then."""
    try:
        device_selection.require_memory(device_selection.DeviceChoice(device, "", ""), needed)
    except HeatsimError as error:
        raise HeatsimError(f"{what}: {error}") from None


def multiprocessor_use(read: Callable[[], Resources]) -> dict[str, float]:
    """What a CUDA kernel takes of a multiprocessor, as it stands in a row; nothing on the simulator, which compiles
    nothing and has no resources to `read`."""
    from heatsim_kernels.device.cuda.api import SIMULATED, cuda

    if SIMULATED:
        return {}
    taken = read()
    room = cuda.get_current_device().MAX_THREADS_PER_MULTIPROCESSOR
    return {
        "registers": taken.registers,
        "spilled_bytes": taken.local_bytes,
        "shared_bytes": taken.shared_bytes,
        "threads": taken.threads,
        "blocks_a_multiprocessor": taken.blocks_a_multiprocessor,
        "occupancy": taken.blocks_a_multiprocessor * taken.threads / room,
    }


def blocks_and_occupancy(row: dict[str, Any]) -> str:
    """Blocks that a multiprocessor holds at once, and the share of its threads that they fill."""
    if "blocks_a_multiprocessor" not in row:
        return ""
    return f"{row['blocks_a_multiprocessor']} ({100 * row['occupancy']:.0f} %)"


def cpu_threads() -> int:
    """Threads that CPU kernels use on a grid of any size worth it."""
    from heatsim_kernels.device.cpu.threads import threads_for

    return int(threads_for(sys.maxsize))


def describe_machine(device: str) -> dict[str, Any]:
    """All about this machine that a measurement may depend on, as it is now."""
    found: dict[str, Any] = {
        "device": device,
        "device_name": f"{_cpu_model()}, {device_selection.cpu_name()}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "cpu_cores": os.cpu_count(),
        "cpu_cores_allowed": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "threads": cpu_threads(),
        "versions": list_versions(),
    }
    if device == "cuda":
        found |= {"device_name": device_selection.gpu_name(), "driver": "unknown"}
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        with suppress(OSError, subprocess.SubprocessError, IndexError):
            told = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True).stdout
            found["driver"] = told.split()[0]
    return found


def _cpu_model() -> str:
    lines: list[str] = []
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def is_copy(name: str) -> bool:
    """Whether a contender is a way to copy."""
    return name.startswith("copy")


def copies(device: str, bytes_moved: int, dtype: np.dtype) -> dict[str, Callable[[], Repeat]]:
    """The ways to copy from array to array on a device, by name; the fastest is the limit.

    A copy moves `bytes_moved`, half of them read and half written.
    """
    count = bytes_moved // (2 * dtype.itemsize)
    if device == "cpu":
        return {"copy (streaming)": partial(_copy_on_cpu, count, dtype)}
    from heatsim_kernels.device.cuda import array_copy
    from heatsim_kernels.device.cuda.arrays import empty

    def prepare(way: Callable[..., Callable[[], None]]) -> Repeat:
        return repeated(way(empty(count, dtype), empty(count, dtype)))

    ways = {"copy (kernel)": array_copy.by_kernel, "copy (memcpy)": array_copy.by_driver}
    return {name: partial(prepare, way) for name, way in ways.items()}


def _copy_on_cpu(count: int, dtype: np.dtype) -> Repeat:
    from heatsim_kernels.device.cpu.array_copy import copy
    from heatsim_kernels.device.cpu.pointers import padded

    source, target = padded(count, dtype), padded(count, dtype)
    source[:] = 1  # pages that were never written are all the same one
    return repeated(partial(copy, source, target))


def repeated(call: Callable[[], object]) -> Repeat:
    """What makes a call so many times."""

    def work(repetitions: int) -> None:
        for _ in range(repetitions):
            call()

    return work


def peak_operations_per_second(device: str, precision: str, threads: int) -> tuple[float | None, str]:
    """The arithmetic limit, an fma counted as two, and in words where it comes from; None where it is not known."""
    return _gpu_peak(precision) if device == "cuda" else _cpu_peak(precision, threads)


def _gpu_peak(precision: str) -> tuple[float | None, str]:
    """Multiprocessors times multiply-adds a cycle times the highest clock, as the driver tells it."""
    from heatsim_kernels.device.cuda.api import SIMULATED, cuda

    gpu = cuda.get_current_device()
    rates = None if SIMULATED else FMA_PER_CYCLE.get(tuple(gpu.compute_capability))
    clock = getattr(gpu, "CLOCK_RATE", None)  # kHz
    if rates is None or not clock:
        return None, f"The FMA limit of this GPU in {precision} is not known."
    count, rate = gpu.MULTIPROCESSOR_COUNT, rates[precision == "float64"]
    limit = 2.0 * count * rate * clock * 1e3
    words = f"{count} multiprocessors with {rate} multiply-adds a cycle at {clock / 1e6:g} GHz"
    return limit, f"FMA limit in {precision}: {limit / 1e12:.1f} TFLOP/s, {words}."


def _cpu_peak(precision: str, threads: int) -> tuple[float | None, str]:
    """The rate of a matrix product by NumPy's BLAS with as many threads as the kernels use."""
    named = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    command = [sys.executable, "-c", MULTIPLY.format(side=SIDE, precision=precision, products=PRODUCTS)]
    done = subprocess.run(command, env={**os.environ, **named}, capture_output=True, text=True, check=False)
    if done.returncode:
        return None, f"The FMA limit in {precision} was not measured: {done.stderr.strip()}"
    limit = 2.0 * SIDE**3 / float(done.stdout)
    return limit, (
        f"FMA limit in {precision}: {limit / 1e9:.0f} GFLOP/s, the best of {PRODUCTS} products of "
        f"{SIDE} x {SIDE} matrices by NumPy's BLAS with {threads} threads."
    )
