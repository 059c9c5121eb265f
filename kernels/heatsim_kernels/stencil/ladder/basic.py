"""`basic`: one thread a cell, seven global loads.

         o z+1  o y+1
         | /                 thread (x, y, z) of the grid reads its own cell
    o -- c -- o              and its six neighbours from global memory, and
      /  |   x+1             writes one result; the caches catch what
  y-1 o  o z-1               neighbouring threads share.

Cells at no end of any axis, nearly all, take a path without tests for walls.

13 operations for 28 bytes asked of the caches, 0.46 operations a byte; of device memory, 8 bytes a cell in float32 if
every neighbour is caught in cache. Source: Kirk and Hwu, Programming Massively Parallel Processors, stencil chapter.
"""

from __future__ import annotations

from numba import uint32, uint64

from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.runtime.thread_blocks import ThreadBlock
from heatsim_kernels.stencil.cuda import cell_update
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration

# Blocks with some depth fetch fewer neighbours that lie in other blocks.
TILES = (
    (ThreadBlock(6, 2, 2),)
    if SIMULATED
    else (ThreadBlock(32, 4, 2), ThreadBlock(32, 8), ThreadBlock(64, 4), ThreadBlock(32, 4, 4))
)
LARGEST_GRID = 65535  # blocks along y and along z, in every CUDA device so far


def build(variant: tuple[StencilConfiguration, ThreadBlock]):
    """The kernel of a structure and a tile: (u, v, shape, walls, medium, heat); see `cuda_cell`."""
    structure, _ = variant
    around_inner, around_any = (cell_update.neighbours(structure, inside=inside) for inside in (True, False))
    new_inner, new_any = (cell_update.build(structure, inside=inside) for inside in (True, False))

    @inlined
    def update(x, y, z, u, v, shape, walls, medium, heat):
        one, two = uint32(1), uint32(2)
        i = uint64(uint32(uint32(z * shape.ny + y) * shape.nx + x))
        c = u[i]
        # A number below zero wraps to a large one, so each comparison tests both ends of an axis.
        inside = uint32(x - one) < uint32(shape.nx - two) and uint32(y - one) < uint32(shape.ny - two)
        if inside and uint32(z - one) < uint32(shape.nz - two) and min(shape.nx, shape.ny, shape.nz) > two:
            xm, xp, ym, yp, zm, zp = around_inner(i, x, y, z, shape)
            v[i] = new_inner(i, x, y, z, c, u[xm], u[xp], u[ym], u[yp], u[zm], u[zp], shape, walls, medium, heat)
        else:
            xm, xp, ym, yp, zm, zp = around_any(i, x, y, z, shape)
            v[i] = new_any(i, x, y, z, c, u[xm], u[xp], u[ym], u[yp], u[zm], u[zp], shape, walls, medium, heat)

    @inlined
    def others(x, first_y, first_z, u, v, shape, walls, medium, heat):
        rows, planes = uint32(cuda.gridDim.y * cuda.blockDim.y), uint32(cuda.gridDim.z * cuda.blockDim.z)
        y, z = first_y, uint32(first_z + planes)
        while y < shape.ny:
            while z < shape.nz:
                update(x, y, z, u, v, shape, walls, medium, heat)
                z = uint32(z + planes)
            y, z = uint32(y + rows), first_z

    def basic(u, v, shape, walls, medium, heat):
        x = uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
        y = uint32(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)
        z = uint32(cuda.blockIdx.z * cuda.blockDim.z + cuda.threadIdx.z)
        if x < shape.nx and y < shape.ny and z < shape.nz:
            update(x, y, z, u, v, shape, walls, medium, heat)
            if max(shape.ny, shape.nz) > uint32(LARGEST_GRID):  # then a launch may have too few threads
                others(x, y, z, u, v, shape, walls, medium, heat)

    return basic


def grid(shape: tuple[int, int, int], tile: ThreadBlock, dtype: str) -> tuple[int, int, int]:
    """Blocks that cover the cells."""
    nz, ny, nx = shape
    return -(-nx // tile.x), min(-(-ny // tile.y), LARGEST_GRID), min(-(-nz // tile.z), LARGEST_GRID)


def field_reads(tile: ThreadBlock, itemsize: int) -> float:
    """Values of the field that the threads read from global memory for each new one: the cell and its neighbours."""
    return 7.0
