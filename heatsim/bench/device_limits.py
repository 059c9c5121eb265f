"""What limits a kernel on this device.

The copy limit is how fast the device reads one array and writes another, with nothing to compute. The arithmetic limit
is how many multiply-adds a second it does, with nothing to load.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from typing import Any

import numpy as np

from heatsim.bench.interleaved_timing import Subject, Timing, Work, clock_of, time_interleaved
from heatsim.bench.subprocesses import ChildError, ask_child

COPY_PREFIX = "copy"  # subjects of this name or with this prefix are ways to copy


def is_copy(name: str) -> bool:
    """Whether a subject is a way to copy."""
    return name.startswith(COPY_PREFIX)


def copy_subjects(device: str, count: int, dtype: np.dtype) -> list[Subject]:
    """The ways to copy `count` elements from array to array on a device; the fastest is the limit."""
    if device == "cpu":
        return [Subject("copy (streaming)", partial(_on_cpu, count, dtype))]
    from heatsim_kernels.runtime.cuda import array_copy

    ways = {"copy (kernel)": array_copy.by_kernel, "copy (memcpy)": array_copy.by_driver}
    return [Subject(name, partial(_on_cuda, way, count, dtype)) for name, way in ways.items()]


def time_beside_copies(
    device: str,
    dtype: np.dtype,
    bytes_moved: int,
    subjects: Iterable[Subject],
    seconds: float,
    batch: int,
    patience: float = inf,
) -> tuple[dict[str, Timing], Timing]:
    """Time subjects and the ways to copy in turn; returns all timings, and that of the fastest copy.

    A copy moves `bytes_moved`, half of them read and half written. For `seconds`, `batch` and `patience` see
    `time_interleaved`.
    """
    copies = copy_subjects(device, bytes_moved // (2 * dtype.itemsize), dtype)
    timings = time_interleaved([*copies, *subjects], clock_of(device), seconds, batch, patience=patience)
    fastest = min((timing for name, timing in timings.items() if is_copy(name)), key=lambda timing: timing.median)
    return timings, fastest


def _on_cpu(count: int, dtype: np.dtype) -> Work:
    from heatsim_kernels.runtime.cpu.array_copy import copy
    from heatsim_kernels.runtime.cpu.pointers import padded

    source, target = padded(count, dtype), padded(count, dtype)
    source[:] = 1  # pages that were never written are all the same one
    return _repeated(partial(copy, source, target))


def _on_cuda(way: Callable[..., Callable[[], None]], count: int, dtype: np.dtype) -> Work:
    from heatsim_kernels.runtime.cuda.arrays import empty

    return _repeated(way(empty(count, dtype), empty(count, dtype)))


def _repeated(copy: Callable[[], None]) -> Work:
    def work(repetitions: int) -> None:
        for _ in range(repetitions):
            copy()

    return work


# The arithmetic limit.

MATMUL_SIDE = 1024  # of the matrices whose product is timed
MATMUL_ROUNDS = 7

# Multiply-adds a cycle of a multiprocessor in float32 and float64, by compute capability. Source: NVIDIA, CUDA C++
# Programming Guide, throughput of native arithmetic instructions.
FMA_PER_CYCLE = {
    (7, 0): (64, 32), (7, 5): (64, 2), (8, 0): (64, 32), (8, 6): (128, 2), (8, 9): (128, 2), (9, 0): (128, 64),
    (10, 0): (128, 64), (12, 0): (128, 2),
}  # fmt: skip


def peak_operations_per_second(device: str, precision: str, threads: int) -> tuple[float | None, str]:
    """The limit, an fma counted as two, and in words where it comes from; None where it is not known."""
    return _gpu_peak(precision) if device == "cuda" else _cpu_peak(precision, threads)


def _gpu_peak(precision: str) -> tuple[float | None, str]:
    """Multiprocessors times multiply-adds a cycle times the highest clock, as the driver tells it."""
    from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda

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
    try:
        limit = float(ask_child(__name__, {"precision": precision}, named)["operations_a_second"])
    except ChildError as error:
        return None, f"The FMA limit in {precision} was not measured: {error}"
    return limit, (
        f"FMA limit in {precision}: {limit / 1e9:.0f} GFLOP/s, the best of {MATMUL_ROUNDS} products of "
        f"{MATMUL_SIDE} x {MATMUL_SIDE} matrices by NumPy's BLAS with {threads} threads."
    )


def main(request: dict[str, Any]) -> dict[str, float]:
    """Time the products."""
    a, b = np.random.default_rng(0).random((2, MATMUL_SIDE, MATMUL_SIDE)).astype(request["precision"])
    out, taken = np.empty_like(a), []
    for _ in range(MATMUL_ROUNDS + 1):  # the first wakes the threads
        begun = time.perf_counter()
        np.matmul(a, b, out=out)
        taken.append(time.perf_counter() - begun)
    return {"operations_a_second": 2.0 * MATMUL_SIDE**3 / min(taken[1:])}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
