"""What limits a kernel on this device.

The copy limit is how fast the device reads one array and writes another, with nothing to compute. The arithmetic limit
is how many multiply-adds a second it does, with nothing to load.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from heatsim.studies.bench.children import ChildError, ask_child
from heatsim.studies.bench.timing import Prepare, Work

COPY_PREFIX = "copy"  # contenders of this name or with this prefix are ways to copy
MATMUL_SIDE = 1024  # of the matrices whose product is timed
MATMUL_ROUNDS = 7

# Multiply-adds a cycle of a multiprocessor in float32 and float64, by compute capability. Source: NVIDIA, CUDA C++
# Programming Guide, throughput of native arithmetic instructions.
FMA_PER_CYCLE = {
    (7, 0): (64, 32), (7, 5): (64, 2), (8, 0): (64, 32), (8, 6): (128, 2), (8, 9): (128, 2), (9, 0): (128, 64),
    (10, 0): (128, 64), (12, 0): (128, 2),
}  # fmt: skip


def is_copy(name: str) -> bool:
    """Whether a contender is a way to copy."""
    return name.startswith(COPY_PREFIX)


def copies(device: str, bytes_moved: int, dtype: np.dtype) -> dict[str, Prepare]:
    """The ways to copy from array to array on a device, by name; the fastest is the limit.

    A copy moves `bytes_moved`, half of them read and half written.
    """
    count = bytes_moved // (2 * dtype.itemsize)
    if device == "cpu":
        return {"copy (streaming)": partial(_copy_on_cpu, count, dtype)}
    from heatsim_kernels.device.cuda import array_copy
    from heatsim_kernels.device.cuda.arrays import empty

    ways = {"copy (kernel)": array_copy.by_kernel, "copy (memcpy)": array_copy.by_driver}

    def prepare(name: str) -> Work:
        copy = ways[name](empty(count, dtype), empty(count, dtype))
        return _repeated(copy)

    return {name: partial(prepare, name) for name in ways}


def _copy_on_cpu(count: int, dtype: np.dtype) -> Work:
    from heatsim_kernels.device.cpu.array_copy import copy
    from heatsim_kernels.device.cpu.pointers import padded

    source, target = padded(count, dtype), padded(count, dtype)
    source[:] = 1  # pages that were never written are all the same one
    return _repeated(partial(copy, source, target))


def _repeated(call: Callable[[], None]) -> Work:
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
    try:
        limit = float(ask_child(__name__, {"precision": precision}, named)["operations_a_second"])
    except ChildError as error:
        return None, f"The FMA limit in {precision} was not measured: {error}"
    return limit, (
        f"FMA limit in {precision}: {limit / 1e9:.0f} GFLOP/s, the best of {MATMUL_ROUNDS} products of "
        f"{MATMUL_SIDE} x {MATMUL_SIDE} matrices by NumPy's BLAS with {threads} threads."
    )


def _time_products(precision: str) -> float:
    """Operations a second of the fastest product; the first one wakes the threads."""
    a, b = np.random.default_rng(0).random((2, MATMUL_SIDE, MATMUL_SIDE)).astype(precision)
    out, taken = np.empty_like(a), []
    for _ in range(MATMUL_ROUNDS + 1):
        begun = time.perf_counter()
        np.matmul(a, b, out=out)
        taken.append(time.perf_counter() - begun)
    return 2.0 * MATMUL_SIDE**3 / min(taken[1:])


if __name__ == "__main__":
    print(json.dumps({"operations_a_second": _time_products(**json.loads(sys.argv[1]))}))
