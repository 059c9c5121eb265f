"""CUDA: the temperature that each cell has, from its enthalpy; a thread a cell."""

from __future__ import annotations

from numba import int64, uint64

from heatsim_kernels.cuda_api import SIMULATED, cuda
from heatsim_kernels.stencil.nonlinear.cuda_cell import functions

THREADS = 4 if SIMULATED else 256  # a block

temperature = functions.temperature


def build(variant):
    """The kernel (u, out, medium), u and out flat: rises of temperature in `out`, bits as on the CPU."""

    def temperatures(u, out, medium):
        i = uint64(cuda.blockIdx.x) * uint64(THREADS) + uint64(cuda.threadIdx.x)
        if i < uint64(u.size):
            kind = int64(medium.kinds[i]) if medium.several != 0 else int64(0)
            out[i] = temperature(u[i], int64(medium.material[kind]) * medium.segments, medium)

    return temperatures
