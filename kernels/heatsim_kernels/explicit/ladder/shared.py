"""`shared`: a block loads a tile with its halo into shared memory, then the inner threads compute.

    h h h h h h h h      The tile that is read: 16 x 8 x 8 cells (8 x 5 drawn), one thread each.
    h o o o o o o h
    h o o o o o o h      o: inner cells, 14 x 6 x 6. Their threads go on to compute them.
    h o o o o o o h      h: halo, inner cells of neighbouring tiles. Their threads only load.
    h h h h h h h h

A thread loads one value from global memory and takes the seven that it needs from shared memory. A cube of edge T needs
13 (T-2)^3 operations for 4 T^3 bytes read in float32: 1.37 operations a byte at T = 8, where `basic` has 0.46 and the
limit for large T is 3.25. Source: Kirk and Hwu, Programming Massively Parallel Processors, stencil chapter.

Why the tile is longer in x: memory comes in sectors of 32 bytes, and a row that starts anywhere shares the sectors at
both its ends with other tiles. For some tiles in float32:

    tile          bytes of sectors read for a new cell    share of threads that compute
    8 x 8 x 8     19.0                                    0.42
    32 x 4 x 4    21.3                                    0.23
    32 x 8 x 4    14.2                                    0.35
    16 x 8 x 8    12.2                                    0.49

The last has 1.60 operations a byte. Its 1024 threads need 32 registers each, so that a second block fits and works
while the first waits at its barrier.
"""

from __future__ import annotations

from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.thread_blocks import ThreadBlock, blocks, cell_behind, first_cell
from heatsim_kernels.explicit.cuda_cell import cell_update
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

# Tiles that are read; those that are written are smaller by the halo.
TILES = (
    (ThreadBlock(6, 4, 4),)
    if SIMULATED
    else (ThreadBlock(16, 8, 8), ThreadBlock(32, 8, 4), ThreadBlock(8, 8, 8), ThreadBlock(16, 8, 6))
)


def build(variant: tuple[StencilConfiguration, ThreadBlock]):
    """Build the kernel (u, v, shape, boundary, exchange, sources) for a configuration and a tile; see
    `OneStepKernel`."""
    configuration, tile = variant
    update = cell_update.build_update(configuration)
    real, (wrap_x, wrap_y, wrap_z) = getattr(types, configuration.dtype), configuration.periodic
    width, height, depth = tile.block
    size = width * height * depth

    def shared(u, v, shape, boundary, exchange, sources):
        one, row, plane = uint64(1), uint64(width), uint64(width * height)
        cells = cuda.shared.array(size, real)
        tx, ty, tz = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y), uint32(cuda.threadIdx.z)
        x0, y0, z0 = first_cell(shape, width - 2, height - 2, depth - 2)
        x = cell_behind(uint32(x0 + tx), shape.nx, wrap_x)
        y = cell_behind(uint32(y0 + ty), shape.ny, wrap_y)
        z = cell_behind(uint32(z0 + tz), shape.nz, wrap_z)
        i = uint32((z * shape.ny + y) * shape.nx + x)
        t = uint64((tz * uint32(height) + ty) * uint32(width) + tx)
        cells[t] = u[i]
        cuda.syncthreads()  # waits for the loads of all threads: a thread reads cells that six others have loaded
        inner = 0 < tx < width - 1 and 0 < ty < height - 1 and 0 < tz < depth - 1
        if inner and x0 + tx <= shape.nx and y0 + ty <= shape.ny and z0 + tz <= shape.nz:
            xm, xp, ym, yp = cells[t - one], cells[t + one], cells[t - row], cells[t + row]
            zm, zp = cells[t - plane], cells[t + plane]
            v[i] = update(i, x, y, z, cells[t], xm, xp, ym, yp, zm, zp, shape, boundary, exchange, sources)

    return shared


def grid(shape: tuple[int, int, int], tile: ThreadBlock, dtype: str) -> tuple[int, int, int]:
    """One block for each tile that is written."""
    return blocks(shape, (tile.x - 2, tile.y - 2, tile.z - 2))


def field_reads(tile: ThreadBlock, itemsize: int) -> float:
    """Values of the field that the threads read from global memory for each new one: a tile for its inner cells."""
    width, height, depth = tile.block
    return width * height * depth / ((width - 2) * (height - 2) * (depth - 2))
