"""Watch small fields on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_watch.py RESULT.npz`."""

from __future__ import annotations

import sys

import numpy as np
from heatsim_kernels.device.cuda.arrays import on_device
from heatsim_kernels.field.cuda.time_statistics import CudaTimeStatistics
from watch_cases import CASES, SHAPE, WANTED, samples


def results() -> dict[str, np.ndarray]:
    found = {}
    for name, dtype in CASES:
        (first, _), *later = samples(dtype)
        on_progress = CudaTimeStatistics(on_device(first.reshape(-1)), SHAPE, WANTED[name])
        for field, elapsed in later:
            on_progress.sample(on_device(field.reshape(-1)), elapsed)
        for key, values in on_progress.fields().items():
            found[f"{name}, {np.dtype(dtype).name}: {key}"] = values
    return found


if __name__ == "__main__":
    np.savez(sys.argv[1], **results())
