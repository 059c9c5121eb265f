"""The arithmetic limit of a device: multiply-adds a second that it could do with nothing to load."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from heatsim.bench.children import ChildError, ask

SIDE = 1024  # of the matrices whose product is timed
ROUNDS = 7

# Multiply-adds a cycle of a multiprocessor in float32 and float64, by compute capability. Source: NVIDIA, CUDA C++
# Programming Guide, throughput of native arithmetic instructions.
FMA_A_CYCLE = {
    (7, 0): (64, 32), (7, 5): (64, 2), (8, 0): (64, 32), (8, 6): (128, 2), (8, 9): (128, 2), (9, 0): (128, 64),
    (10, 0): (128, 64), (12, 0): (128, 2),
}  # fmt: skip


def operations_a_second(device: str, precision: str, threads: int) -> tuple[float | None, str]:
    """The limit, an fma counted as two, and in words where it comes from; None where it is not known."""
    return _of_gpu(precision) if device == "cuda" else _of_cpu(precision, threads)


def _of_gpu(precision: str) -> tuple[float | None, str]:
    """Multiprocessors times multiply-adds a cycle times the highest clock, as the driver tells it."""
    from heatsim_kernels.cuda_api import SIMULATED, cuda

    gpu = cuda.get_current_device()
    rates = None if SIMULATED else FMA_A_CYCLE.get(tuple(gpu.compute_capability))
    clock = getattr(gpu, "CLOCK_RATE", None)  # kHz
    if rates is None or not clock:
        return None, f"The FMA limit of this GPU in {precision} is not known."
    count, rate = gpu.MULTIPROCESSOR_COUNT, rates[precision == "float64"]
    limit = 2.0 * count * rate * clock * 1e3
    words = f"{count} multiprocessors with {rate} multiply-adds a cycle at {clock / 1e6:g} GHz"
    return limit, f"FMA limit in {precision}: {limit / 1e12:.1f} TFLOP/s, {words}."


def _of_cpu(precision: str, threads: int) -> tuple[float | None, str]:
    """The rate of a matrix product by NumPy's BLAS with as many threads as the kernels use."""
    named = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    try:
        limit = float(ask(__name__, {"precision": precision}, named)["operations_a_second"])
    except ChildError as error:
        return None, f"The FMA limit in {precision} was not measured: {error}"
    return limit, (
        f"FMA limit in {precision}: {limit / 1e9:.0f} GFLOP/s, the best of {ROUNDS} products of {SIDE} x {SIDE} "
        f"matrices by NumPy's BLAS with {threads} threads."
    )


def main(request: dict[str, Any]) -> dict[str, float]:
    """Time the products."""
    a, b = np.random.default_rng(0).random((2, SIDE, SIDE)).astype(request["precision"])
    out, taken = np.empty_like(a), []
    for _ in range(ROUNDS + 1):  # the first wakes the threads
        begun = time.perf_counter()
        np.matmul(a, b, out=out)
        taken.append(time.perf_counter() - begun)
    return {"operations_a_second": 2.0 * SIDE**3 / min(taken[1:])}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
