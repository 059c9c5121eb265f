"""CPU: the temperature that each cell has, from its enthalpy; 8 bytes and four operations a cell in float32."""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.cpu_jit import parallel_jit
from heatsim_kernels.stencil.nonlinear.cpu_pass import functions, pointed

temperature = functions.temperature


@parallel_jit
def temperatures(u, out, medium, parts):
    """Put the rise of temperature of each cell into `out`, flat as u."""
    for index in prange(parts):
        part, m = np.int64(index), pointed(medium)  # prange counts in unsigned numbers
        for i in range(part * u.size // parts, (part + 1) * u.size // parts):
            kind = np.int64(medium.kinds[i]) if medium.several != 0 else np.int64(0)
            out[i] = temperature(u[i], np.int64(medium.material[kind]) * medium.segments, m)
