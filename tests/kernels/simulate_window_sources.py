"""Add windows on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_window_sources.py RESULT.npz`.

A process of its own, because the simulator is chosen once, when Numba is imported. It compiles nothing.
"""

from __future__ import annotations

import sys

import numpy as np

SHAPE = (3, 4, 5)
WINDOWS = [((0, 0, 0), (3, 4, 5)), ((1, 2, 3), (2, 2, 2)), ((2, 3, 4), (1, 1, 1)), ((0, 1, 1), (2, 3, 1))]
GAIN = 0.3


def data(dtype: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """A field and the rates of WINDOWS."""
    rng = np.random.default_rng(7)
    return rng.normal(size=SHAPE).astype(dtype), [rng.normal(size=window).astype(dtype) for _, window in WINDOWS]


def on_cuda(dtype: str) -> np.ndarray:
    """The field with all windows added, one after another, from one array of rates."""
    from heatsim_kernels.device.cuda.arrays import on_device
    from heatsim_kernels.field.cuda.window_source import heat_window

    field, rates = data(dtype)
    u, flat = on_device(field.reshape(-1)), on_device(np.concatenate([each.reshape(-1) for each in rates]))
    start = 0
    for (corner, window), each in zip(WINDOWS, rates, strict=True):
        heat_window(u, SHAPE, corner, flat, start, window, GAIN)
        start += each.size
    return u.host().reshape(SHAPE)


if __name__ == "__main__":
    np.savez(sys.argv[1], **{dtype: on_cuda(dtype) for dtype in ("float32", "float64")})
