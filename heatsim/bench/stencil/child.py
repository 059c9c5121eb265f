"""A process that readies one kernel and says how long compiling took: `python -m heatsim.bench.stencil.child REQUEST`.

Started by `extras`, with an empty cache, a filled one, or under a profiler. See `heatsim.bench.children`.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from heatsim_kernels.stencil import Sweep

from heatsim import devices
from heatsim.bench.stencil import contenders, problems
from heatsim.bench.stencil.problems import STEP, Timed
from heatsim.bench.stencil.timing import BATCH


def main(request: dict[str, Any]) -> dict[str, float]:
    """Answer a request: contender, shape, precision, materials, device, and whether a profiler is to look."""
    if request["device"] == "cuda":
        devices.gpu_name()  # starts CUDA, which is no part of compiling
    problem = problems.timed(tuple(request["shape"]), request["materials"])
    first = _ready(request, problem)[0]  # this sweep is let go before the next is made
    again, sweep = _ready(request, problem)
    if request["profiled"]:
        with _profiling():
            sweep.advance(STEP, BATCH, problem.drive)
    return {"compile_seconds": max(0.0, first - again)}


def _ready(request: dict[str, Any], problem: Timed) -> tuple[float, Sweep]:
    """Seconds from nothing to a field that has been advanced, and the sweep."""
    begun = time.perf_counter()
    contender = contenders.contender(request["contender"])
    sweep = contender.build(problem.terms, np.dtype(request["precision"]))
    sweep.put(problem.field())
    sweep.advance(STEP, BATCH, problem.drive)
    if request["device"] == "cuda":
        _wait()
    return time.perf_counter() - begun, sweep


def _wait() -> None:
    from heatsim_kernels.cuda_api import cuda

    cuda.synchronize()


def _profiling() -> AbstractContextManager[None]:
    from heatsim_kernels.cuda_api import SIMULATED, cuda

    return nullcontext() if SIMULATED else cuda.profiling()


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
