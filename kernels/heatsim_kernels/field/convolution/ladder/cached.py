"""`cached`: only inner elements in shared memory, the halo through the caches.

1-D:

    N     . . . . . . .|. . . . . .|. . . . . .|
                    . .|o o o o o o|. .                 a thread loads one element, no halo; what a mask finds outside
    shared             |o o o o o o|                    the tile the neighbouring block has probably just loaded, and
                    ^ ^             ^ ^                 is read from the L2 cache or, in the same multiprocessor, L1
                    global memory again

Loading is simple and the tile a power of two, at the price of a test for every element of the mask. The mask is in
constant memory (see `constant`). Source: Kirk and Hwu, Programming Massively Parallel Processors, convolution
chapter (a simpler tiled 1-D convolution, general caching).

2-D:

    . . . . . . . .
    . . . . . . . .      o: the tile, one element a thread, input tile and output tile in one
    . . o o o o . .      .: halo, read from global memory when a mask gets there; the neighbouring blocks have loaded it
    . . o o o o . .         as their inner elements, so it probably comes from the L2 cache
    . . o o o o . .
    . . . . . . . .

Loading is one line of code, and the sum tests every element of the mask: in the tile, or not. The mask is in constant
memory (see `constant`). Source: Kirk and Hwu, Programming Massively Parallel Processors, convolution chapter
(tiled convolution using caches for halo elements).
"""

from __future__ import annotations

from numba import int64, types, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.convolution.cuda import field_access
from heatsim_kernels.field.convolution.cuda.field_access import ConvolutionVariant, MaskKernel

BLOCK = (4, 3) if SIMULATED else (32, 32)


def build_lines(variant: ConvolutionVariant):
    """The kernel `cached(u, v, geometry)`; arrays are flat."""
    real, half, width = getattr(types, variant.dtype), variant.width // 2, variant.width
    read, place = field_access.reader(variant.edge, real), field_access.line_of_thread(variant)
    length, size, step, within = field_access.tile_of_thread(variant, 0)
    weight = field_access.weights_of(variant)

    def cached(u, v, geometry):
        tile = cuda.shared.array(size, real)
        start, stride, n, i, exists = place(geometry)
        t, first = within()
        tile[uint64(first + t * step)] = read(u, start, stride, i, n)
        cuda.syncthreads()  # the tile is read by threads that did not write it; it is filled once, so this is enough
        if exists:
            total = real(0)
            for k in range(width):
                here = t + k - half
                if 0 <= here < length:
                    value = tile[uint64(first + here * step)]
                else:
                    value = read(u, start, stride, i + k - half, n)
                total = fma(weight(k), value, total)
            v[uint64(start + i * stride)] = total

    return cached


def build_planes(variant: ConvolutionVariant):
    """The kernel `cached(u, v, geometry)`; arrays are flat."""
    real, height, width = getattr(types, variant.dtype), variant.height, variant.width
    above, left, (columns, rows) = height // 2, width // 2, BLOCK
    read, place = field_access.plane_reader(variant.edge, real), field_access.result_of_thread(*BLOCK)
    size = columns * rows
    weight = field_access.weights_of(variant)

    def cached(u, v, geometry):
        tile = cuda.shared.array(size, real)
        tx, ty = int64(cuda.threadIdx.x), int64(cuda.threadIdx.y)
        x, y, z, exists = place(geometry)
        tile[uint64(ty * columns + tx)] = read(u, geometry, z, y, x)
        cuda.syncthreads()  # the tile is read by threads that did not write it; it is filled once, so this is enough
        if exists:
            total = real(0)
            for j in range(height):
                row = ty + j - above
                for k in range(width):
                    column = tx + k - left
                    if 0 <= row < rows and 0 <= column < columns:
                        value = tile[uint64(row * columns + column)]
                    else:
                        value = read(u, geometry, z, y + j - above, x + k - left)
                    total = fma(weight(j * width + k), value, total)
            v[uint64(field_access.element(geometry, z, y, x))] = total

    return cached


LINES = MaskKernel("compiled in", field_access.line_threads, field_access.line_grid, build_lines)
PLANES = MaskKernel("compiled in", *field_access.launch_of_results(*BLOCK), build_planes)
