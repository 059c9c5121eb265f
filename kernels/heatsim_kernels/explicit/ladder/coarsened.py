"""`coarsened`: an x-y tile of threads marches through z with three planes in shared memory.

      z+1   h h h h h h   high   loaded in this round
            h o o o o h
      z     h h h h h h   here   x and y neighbours of the inner threads (o)
            h o o o o h
      z-1   h h h h h h   low    overwritten by the load of the next round: the three planes take turns
            h o o o o h

A tile that extends in z by marching needs no halo in z but at the two ends of its march: 32 x 16 cells are read for
30 x 14 new ones, and two more planes for every march of 32. In float32 that is 5.2 bytes read a cell and 2.5 operations
a byte, with 6 KB of shared memory for a march of any length. Source: Kirk and Hwu, Programming Massively Parallel
Processors, stencil chapter (thread coarsening).

One barrier a plane suffices, because the planes take turns and are not copied. The load of a round overwrites the plane
that was `here` two rounds ago; every thread has read that plane before the barrier of the last round. Of `low` and
`high` a thread reads only the cell that it has loaded itself.
"""

from __future__ import annotations

from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.thread_blocks import ThreadBlock, blocks, cell_behind, first_cell
from heatsim_kernels.explicit.cuda_cell import cell_update
from heatsim_kernels.explicit.cuda_cell.cell_update import above, below
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

# Tiles that are read; those that are written are smaller by the halo.
TILES = (ThreadBlock(6, 4, planes=2),) if SIMULATED else tuple(ThreadBlock(32, 16, planes=n) for n in (32, 16, 64))


def build(variant: tuple[StencilConfiguration, ThreadBlock]):
    """Build the kernel (u, v, shape, boundary, exchange, sources) for a configuration and a tile; see
    `OneStepKernel`."""
    configuration, tile = variant
    update = cell_update.build_update(configuration)
    real, (wrap_x, wrap_y, wrap_z) = getattr(types, configuration.dtype), configuration.periodic
    width, height, chunk = tile.x, tile.y, tile.planes
    size, planes = width * height, 3 * width * height

    def coarsened(u, v, shape, boundary, exchange, sources):
        one, row, plane = uint64(1), uint64(width), uint64(shape.ny) * uint64(shape.nx)
        cells = cuda.shared.array(planes, real)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        x0, y0, z = first_cell(shape, width - 2, height - 2, chunk)
        x = cell_behind(uint32(x0 + tx), shape.nx, wrap_x)
        y = cell_behind(uint32(y0 + ty), shape.ny, wrap_y)
        inner = 0 < tx < width - 1 and 0 < ty < height - 1 and x0 + tx <= shape.nx and y0 + ty <= shape.ny
        end = min(uint32(z + uint32(chunk)), shape.nz)
        i = uint64(z) * plane + uint64(y) * uint64(shape.nx) + uint64(x)
        low = uint64(ty * uint32(width) + tx)
        here, high = low + uint64(size), low + uint64(2 * size)
        cells[low] = u[below(i, z, shape.nz, plane, wrap_z)]
        cells[here] = u[i]
        while z < end:
            cells[high] = u[above(i, z, shape.nz, plane, wrap_z)]
            # Waits for the loads of `here`, of which a thread reads four neighbours. It also keeps the next round's
            # load, into today's `low`, behind the reads that other threads made of that plane when it was `here`.
            cuda.syncthreads()
            if inner:
                c, zm, zp = cells[here], cells[low], cells[high]
                xm, xp, ym, yp = cells[here - one], cells[here + one], cells[here - row], cells[here + row]
                v[i] = update(i, x, y, z, c, xm, xp, ym, yp, zm, zp, shape, boundary, exchange, sources)
            low, here, high = here, high, low
            i = i + plane
            z = uint32(z + uint32(1))

    return coarsened


def grid(shape: tuple[int, int, int], tile: ThreadBlock, dtype: str) -> tuple[int, int, int]:
    """One block for each tile that is written and each march."""
    return blocks(shape, (tile.x - 2, tile.y - 2, tile.planes))


def field_reads(tile: ThreadBlock, itemsize: int) -> float:
    """Values of the field that the threads read from global memory for each new one: a tile for its inner cells, in
    the planes of a march and one more at each end."""
    return tile.x * tile.y / ((tile.x - 2) * (tile.y - 2)) * (tile.planes + 2) / tile.planes
