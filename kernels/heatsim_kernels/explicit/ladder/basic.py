"""`basic`: one thread a cell, seven loads from global memory.

         o z+1  o y+1
         | /                 Thread (x, y, z) of the grid reads its own cell
    o -- c -- o              and the six neighbours from global memory, and
      /  |   x+1             writes one result. The caches serve what
  y-1 o  o z-1               neighbouring threads read as well.

Nearly all cells lie at no end of any axis. They take a path without tests for boundaries.

A new value takes 13 operations for 28 bytes asked of the caches in float32: 0.46 operations a byte. Device memory moves
8 bytes a cell if every neighbour is found in a cache. Source: Kirk and Hwu, Programming Massively Parallel Processors,
stencil chapter.
"""

from __future__ import annotations

from numba import uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.thread_blocks import ThreadBlock
from heatsim_kernels.explicit.cuda_cell import cell_update
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

# A block of some depth reads fewer neighbours that belong to other blocks.
TILES = (
    (ThreadBlock(6, 2, 2),)
    if SIMULATED
    else (ThreadBlock(32, 4, 2), ThreadBlock(32, 8), ThreadBlock(64, 4), ThreadBlock(32, 4, 4))
)
MAX_GRID_BLOCKS = 65535  # along y and along z, on every CUDA device so far


def build(variant: tuple[StencilConfiguration, ThreadBlock]):
    """Build the kernel (u, v, shape, boundary, exchange, sources) for a configuration and a tile; see
    `OneStepKernel`."""
    configuration, _ = variant
    neighbours_inside, neighbours_anywhere = (
        cell_update.build_neighbours(configuration, inside=inside) for inside in (True, False)
    )
    update_inside, update_anywhere = (
        cell_update.build_update(configuration, inside=inside) for inside in (True, False)
    )

    @inlined
    def update(x, y, z, u, v, shape, boundary, exchange, sources):
        one, two = uint32(1), uint32(2)
        i = uint64(uint32(uint32(z * shape.ny + y) * shape.nx + x))
        c = u[i]
        # x - 1 is unsigned: for x = 0 it wraps to 2^32 - 1, so that each comparison tests both ends of an axis.
        inside = uint32(x - one) < uint32(shape.nx - two) and uint32(y - one) < uint32(shape.ny - two)
        if inside and uint32(z - one) < uint32(shape.nz - two) and min(shape.nx, shape.ny, shape.nz) > two:
            xm, xp, ym, yp, zm, zp = neighbours_inside(i, x, y, z, shape)
            v[i] = update_inside(
                i, x, y, z, c, u[xm], u[xp], u[ym], u[yp], u[zm], u[zp], shape, boundary, exchange, sources
            )
        else:
            xm, xp, ym, yp, zm, zp = neighbours_anywhere(i, x, y, z, shape)
            v[i] = update_anywhere(
                i, x, y, z, c, u[xm], u[xp], u[ym], u[yp], u[zm], u[zp], shape, boundary, exchange, sources
            )

    @inlined
    def update_rest(x, first_y, first_z, u, v, shape, boundary, exchange, sources):
        rows, planes = uint32(cuda.gridDim.y * cuda.blockDim.y), uint32(cuda.gridDim.z * cuda.blockDim.z)
        # `update` has taken the cell at (first_y, first_z); the rest are a whole grid of threads apart.
        y, z = first_y, uint32(first_z + planes)
        while y < shape.ny:
            while z < shape.nz:
                update(x, y, z, u, v, shape, boundary, exchange, sources)
                z = uint32(z + planes)
            y, z = uint32(y + rows), first_z

    def basic(u, v, shape, boundary, exchange, sources):
        x = uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
        y = uint32(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)
        z = uint32(cuda.blockIdx.z * cuda.blockDim.z + cuda.threadIdx.z)
        if x < shape.nx and y < shape.ny and z < shape.nz:
            update(x, y, z, u, v, shape, boundary, exchange, sources)
            if max(shape.ny, shape.nz) > uint32(MAX_GRID_BLOCKS):  # a launch may have fewer threads than cells
                update_rest(x, y, z, u, v, shape, boundary, exchange, sources)

    return basic


def grid(shape: tuple[int, int, int], tile: ThreadBlock, dtype: str) -> tuple[int, int, int]:
    """Blocks that cover the cells, as far as a launch allows."""
    nz, ny, nx = shape
    return -(-nx // tile.x), min(-(-ny // tile.y), MAX_GRID_BLOCKS), min(-(-nz // tile.z), MAX_GRID_BLOCKS)


def field_reads(tile: ThreadBlock, itemsize: int) -> float:
    """Values of the field that the threads read from global memory for each new one: the cell and its neighbours."""
    return 7.0
