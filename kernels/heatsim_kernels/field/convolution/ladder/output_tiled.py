"""`output_tiled`, 2-D: the block is the output tile, and its threads load the input tile in turns.

    1 2 3 4 5 6 7 8      input tile, here 8 x 4 for an output tile of 4 x 4 a block of 16 threads: numbered row by row,
    9 . . . . . . 16     thread t loads elements t, t + 16, t + 32, ...
    1 2 3 o o o o 8
    9 . . o o o o 16     o: output tile, computed by all threads, none idle

Loading takes a loop, neighbouring threads loading neighbouring elements; results come in powers of two whatever the
mask. A block of O_x x O_y loads (O_x + w - 1) (O_y + h - 1) elements where `basic` asks for O_x O_y w h (see `theory`).
The mask is in constant memory (see `constant`). Source: Kirk and Hwu, Programming Massively Parallel Processors,
convolution chapter (tiled 2-D convolution, second design).
"""

from __future__ import annotations

from numba import int64, types, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.field.convolution.cuda import field_access
from heatsim_kernels.field.convolution.cuda.field_access import ConvolutionVariant, MaskKernel

BLOCK = (4, 2) if SIMULATED else (32, 16)


def build_planes(variant: ConvolutionVariant):
    """The kernel `output_tiled(u, v, geometry)`; arrays are flat."""
    real, height, width = getattr(types, variant.dtype), variant.height, variant.width
    above, left, (columns, rows) = height // 2, width // 2, BLOCK
    side, threads = columns + width - 1, columns * rows
    size = side * (rows + height - 1)
    read = field_access.plane_reader(variant.edge, real)
    weighted_sum = field_access.sum_over_tile(variant, side)

    def output_tiled(u, v, geometry):
        tile = cuda.shared.array(size, real)
        tx, ty = int64(cuda.threadIdx.x), int64(cuda.threadIdx.y)
        x, y, z = field_access.first_element(geometry, columns, rows)
        for t in range(ty * columns + tx, size, threads):
            tile[uint64(t)] = read(u, geometry, z, y - above + t // side, x - left + t % side)
        cuda.syncthreads()  # the tile is read by threads that did not write it; it is filled once, so this is enough
        x, y = x + tx, y + ty
        if x < int64(geometry.nx) and y < int64(geometry.ny):
            v[uint64(field_access.element(geometry, z, y, x))] = weighted_sum(tile, tx, ty)

    return output_tiled


PLANES = MaskKernel("compiled in", *field_access.launch_of_results(*BLOCK), build_planes)
