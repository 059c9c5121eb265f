"""CPU: how far a step of several stages is from the trapezoidal rule; see `stages.Defect`."""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.runtime.cpu.compilation import inlined, parallel_jit
from heatsim_kernels.runtime.cpu.threads import limited, threads_for
from heatsim_kernels.runtime.fma import fma
from heatsim_kernels.stencil.rk_stages import TrapezoidalDefect

BLOCKS = 256


def defect(start: np.ndarray, one: np.ndarray, end: np.ndarray, after: np.ndarray, rate: float) -> TrapezoidalDefect:
    """Of the step from `start` to `end`, flat; `one` and `after` are `rate` explicit steps from either on."""
    blocks = np.empty((min(BLOCKS, start.size), 3))
    with limited(threads_for(start.size)):
        _largest(start, one, end, after, -0.5 / rate, blocks)
    return TrapezoidalDefect(float(blocks[:, 0].max()), float(blocks[:, 1].min()), float(blocks[:, 2].max()))


@parallel_jit
def _largest(start, one, end, after, factor, blocks):
    """blocks (m, 3): largest defect, least and greatest value of `end` in the m-th part of the cells."""
    count = blocks.shape[0]
    for block in prange(count):
        first, behind = block * start.size // count, (block + 1) * start.size // count
        most, low, high = 0.0, np.float64(end[first]), np.float64(end[first])
        for index in range(first, behind):
            i = np.int64(index)  # prange counts in unsigned numbers
            y, z = np.float64(start[i]), np.float64(end[i])
            change = (np.float64(one[i]) - y) + (np.float64(after[i]) - z)
            most = greater(abs(fma(factor, change, z - y)), most)
            low, high = min(low, z), greater(z, high)
        blocks[block, 0], blocks[block, 1], blocks[block, 2] = most, low, high


@inlined
def greater(value, most):
    """The greater of two; not a number if one is none."""
    return value if value > most or value != value else most
