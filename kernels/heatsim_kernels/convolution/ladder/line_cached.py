"""`cached`, 1-D: only inner elements in shared memory, the halo through the caches.

    N     . . . . . . .|. . . . . .|. . . . . .|
                    . .|o o o o o o|. .                 a thread loads one element, no halo; what a mask finds outside
    shared             |o o o o o o|                    the tile the neighbouring block has probably just loaded, and
                    ^ ^             ^ ^                 is read from the L2 cache or, in the same multiprocessor, L1
                    global memory again

Loading is simple and the tile a power of two, at the price of a test for every element of the mask. The mask is in
constant memory (see `line_constant`). Source: Kirk and Hwu, Programming Massively Parallel Processors, convolution
chapter (a simpler tiled 1-D convolution, general caching).
"""

from __future__ import annotations

from numba import types, uint64

from heatsim_kernels.convolution.cuda.field_access import (
    ConvolutionVariant,
    line_grid,
    line_of_thread,
    line_threads,
    reader,
    tile_of_thread,
    weights_of,
)
from heatsim_kernels.runtime.cuda.api import cuda
from heatsim_kernels.runtime.fma import fma

MASK = "compiled in"
block, grid = line_threads, line_grid


def build(variant: ConvolutionVariant):
    """The kernel `cached(u, v, geometry)`; arrays are flat."""
    real, half, width = getattr(types, variant.dtype), variant.width // 2, variant.width
    read, place = reader(variant.edge, real), line_of_thread(variant)
    length, size, step, within = tile_of_thread(variant, 0)
    weight = weights_of(variant)

    def cached(u, v, geometry):
        tile = cuda.shared.array(size, real)
        start, stride, n, i, exists = place(geometry)
        t, first = within()
        tile[uint64(first + t * step)] = read(u, start, stride, i, n)
        cuda.syncthreads()
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
