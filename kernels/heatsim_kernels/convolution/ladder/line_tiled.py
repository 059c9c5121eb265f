"""`tiled`, 1-D: a block shares its elements and the halo through shared memory.

    block      0       |1          |2          |
    N     . . . . . . .|. . . . . .|. . . . . .|        B inner elements, a thread each; the last n threads also load
                   [h h|o o o o o o|h h]                the left halo, the first n the right one. Halo elements are
    shared         [h h|o o o o o o|h h]                inner ones of the blocks beside; beyond an end they are ghosts,
                    left   inner   right                put there as the edge has it, so the sum has no tests

B + 2n elements are loaded for B results where `basic` asks for B (2n+1): that ratio is the saving, B + n and
B (2n+1) - n(n+1)/2 at an end of the line (see `theory`). The mask is in constant memory (see `line_constant`). Source:
Kirk and Hwu, Programming Massively Parallel Processors, convolution chapter (tiled 1-D convolution with halo elements).
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
    """The kernel `tiled(u, v, geometry)`; arrays are flat."""
    real, half, width = getattr(types, variant.dtype), variant.width // 2, variant.width
    read, place = reader(variant.edge, real), line_of_thread(variant)
    length, size, step, within = tile_of_thread(variant, half)
    weight = weights_of(variant)

    def tiled(u, v, geometry):
        tile = cuda.shared.array(size, real)
        start, stride, n, i, exists = place(geometry)
        t, first = within()
        if t >= length - half:
            tile[uint64(first + (t - (length - half)) * step)] = read(u, start, stride, i - length, n)
        tile[uint64(first + (half + t) * step)] = read(u, start, stride, i, n)
        if t < half:
            tile[uint64(first + (half + length + t) * step)] = read(u, start, stride, i + length, n)
        cuda.syncthreads()
        if exists:
            total = real(0)
            for k in range(width):
                total = fma(weight(k), tile[uint64(first + (t + k) * step)], total)
            v[uint64(start + i * stride)] = total

    return tiled
