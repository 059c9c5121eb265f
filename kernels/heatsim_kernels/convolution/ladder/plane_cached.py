"""`cached`, 2-D: only inner elements in shared memory, the halo through the caches.

    . . . . . . . .
    . . . . . . . .      o: the tile, one element a thread, input tile and output tile in one
    . . o o o o . .      .: halo, read from global memory when a mask gets there; the neighbouring blocks have loaded it
    . . o o o o . .         as their inner elements, so it probably comes from the L2 cache
    . . o o o o . .
    . . . . . . . .

Loading is one line of code, and the sum tests every element of the mask: in the tile, or not. The mask is in constant
memory (see `line_constant`). Source: Kirk and Hwu, Programming Massively Parallel Processors, convolution chapter
(tiled convolution using caches for halo elements).
"""

from __future__ import annotations

from numba import int64, types, uint64

from heatsim_kernels.convolution.cuda.field_access import (
    ConvolutionVariant,
    element,
    first_element,
    plane_reader,
    tiles,
    weights_of,
)
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda
from heatsim_kernels.runtime.fma import fma

MASK = "compiled in"
BLOCK = (4, 3) if SIMULATED else (32, 32)


def block(variant: ConvolutionVariant) -> tuple[int, int]:
    """Threads of a block along x and y: the tile."""
    return BLOCK


def grid(shape: tuple[int, int, int], variant: ConvolutionVariant) -> tuple[int, int, int]:
    """A block for each tile."""
    return tiles(shape, *BLOCK)


def build(variant: ConvolutionVariant):
    """The kernel `cached(u, v, geometry)`; arrays are flat."""
    real, height, width = getattr(types, variant.dtype), variant.height, variant.width
    above, left, (columns, rows) = height // 2, width // 2, BLOCK
    read, size = plane_reader(variant.edge, real), columns * rows
    weight = weights_of(variant)

    def cached(u, v, geometry):
        tile = cuda.shared.array(size, real)
        tx, ty = int64(cuda.threadIdx.x), int64(cuda.threadIdx.y)
        x, y, z = first_element(geometry, columns, rows)
        x, y = x + tx, y + ty
        tile[uint64(ty * columns + tx)] = read(u, geometry, z, y, x)
        cuda.syncthreads()
        if x < int64(geometry.nx) and y < int64(geometry.ny):
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
            v[uint64(element(geometry, z, y, x))] = total

    return cached
