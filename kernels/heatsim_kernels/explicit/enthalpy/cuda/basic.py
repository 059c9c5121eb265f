"""CUDA, `basic`: one thread a cell, which looks up the state of its neighbours itself: seven look-ups a cell, from
caches.

The plainest form, with which every other is compared.
"""

from __future__ import annotations

from numba import int64, uint32

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.thread_blocks import ThreadBlock
from heatsim_kernels.explicit.enthalpy.cuda.cell import (
    EnthalpyConfiguration,
    build_add_heat,
    build_begin_and_finish,
    functions,
)

TILE = ThreadBlock(6, 2, 2) if SIMULATED else ThreadBlock(32, 4, 2)
MAX_GRID_BLOCKS = 65535  # along y and along z, on every CUDA device so far

ONLY_SMOOTH = False  # what comes from other materials is added as well
with_faces, from_others = functions.with_faces, functions.from_others


def build(configuration: EnthalpyConfiguration):
    """Build the kernel (u, v, shape, box, rates, medium, boundary, sources)."""
    (begin, finish), add_heat = build_begin_and_finish(configuration), build_add_heat(configuration)

    def basic(u, v, shape, box, rates, medium, boundary, sources):
        x = uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
        y = uint32(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)
        first = uint32(cuda.blockIdx.z * cuda.blockDim.z + cuda.threadIdx.z)
        rows, planes = uint32(cuda.gridDim.y * cuda.blockDim.y), uint32(cuda.gridDim.z * cuda.blockDim.z)
        z = first
        # One round, unless an axis is longer than a launch allows.
        while x < shape.nx and y < shape.ny and z < shape.nz:
            i = (int64(z) * box.ny + int64(y)) * box.nx + int64(x)
            here, cell_class = u[i], int64(medium.class_ids[i]) if medium.several != 0 else int64(0)
            new = begin(i, here, cell_class, sources)
            new = with_faces(new, u, i, int64(x), int64(y), int64(z), cell_class, box, medium, boundary)
            new = finish(new, i, here, sources)
            if medium.several != 0:
                heat = from_others(u, i, int64(x), int64(y), int64(z), cell_class, box, medium)
                new = add_heat(new, heat, sources)
            v[i] = new
            z = uint32(z + planes)
            if z >= shape.nz:
                z = first
                y = uint32(y + rows)

    return basic


def bounds(configuration: EnthalpyConfiguration) -> None:
    """No bound on registers."""


def grid(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """Blocks that cover the cells, as far as a launch allows."""
    nz, ny, nx = shape
    return -(-nx // TILE.x), min(-(-ny // TILE.y), MAX_GRID_BLOCKS), min(-(-nz // TILE.z), MAX_GRID_BLOCKS)
