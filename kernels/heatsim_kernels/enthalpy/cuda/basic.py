"""CUDA, `basic`: a thread a cell, which looks up its neighbours' state itself: seven look-ups a cell, from the cache.

The plainest form, and the one that every other is compared with.
"""

from __future__ import annotations

from numba import int64, uint32

from heatsim_kernels.enthalpy.cuda.cell import EnthalpyConfiguration, sweeping
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda
from heatsim_kernels.runtime.thread_blocks import ThreadBlock

TILE = ThreadBlock(6, 2, 2) if SIMULATED else ThreadBlock(32, 4, 2)
LARGEST_GRID = 65535  # blocks along y and along z, in every CUDA device so far

ONLY_SMOOTH = False
new_value = sweeping.new_value


def build(structure: EnthalpyConfiguration):
    """The kernel (u, v, shape, box, rates, medium, walls, heat)."""

    def basic(u, v, shape, box, rates, medium, walls, heat):
        x = uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
        y = uint32(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)
        first = uint32(cuda.blockIdx.z * cuda.blockDim.z + cuda.threadIdx.z)
        rows, planes = uint32(cuda.gridDim.y * cuda.blockDim.y), uint32(cuda.gridDim.z * cuda.blockDim.z)
        z = first
        # One round, unless an axis is longer than a launch allows.
        while x < shape.nx and y < shape.ny and z < shape.nz:
            i = (int64(z) * box.ny + int64(y)) * box.nx + int64(x)
            v[i] = new_value(u, i, int64(x), int64(y), int64(z), box, medium, walls, heat)
            z = uint32(z + planes)
            if z >= shape.nz:
                z = first
                y = uint32(y + rows)

    return basic


def bounds(structure: EnthalpyConfiguration) -> None:
    """Any number of registers will do."""


def grid(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """Blocks that cover the cells."""
    nz, ny, nx = shape
    return -(-nx // TILE.x), min(-(-ny // TILE.y), LARGEST_GRID), min(-(-nz // TILE.z), LARGEST_GRID)
