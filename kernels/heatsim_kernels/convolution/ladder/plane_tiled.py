"""`tiled`, 2-D: the block is the input tile, and its outer threads only load.

    h h h h h h h h      T x T elements read, a thread each, through global memory into shared memory; beyond the plane
    h h h h h h h h      lie ghosts, put there as the edge has it
    h h o o o o h h
    h h o o o o h h      o: inner threads, which go on to compute, (T-2r) x (T-2r)
    h h o o o o h h      h: halo, inner elements of the neighbouring tiles; their threads are done
    h h o o o o h h
    h h h h h h h h
    h h h h h h h h

Loading is simple, one element a thread; the price is idle threads, and results that are no power of two. In float32
2 (T-2r)^2 m^2 / (4 T^2) operations a byte for a mask of m = 2r+1: 9.57 at T = 32, m = 5, where the limit is 12.5 (see
`theory`). The mask is in constant memory (see `line_constant`). Source: Kirk and Hwu, Programming Massively Parallel
Processors, convolution chapter (tiled 2-D convolution, first design).
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
TILE = 8 if SIMULATED else 32  # elements a side of the input tile, more than a mask has


def block(variant: ConvolutionVariant) -> tuple[int, int]:
    """Threads of a block along x and y: the input tile."""
    return TILE, TILE


def grid(shape: tuple[int, int, int], variant: ConvolutionVariant) -> tuple[int, int, int]:
    """A block for each output tile."""
    return tiles(shape, TILE + 1 - variant.width, TILE + 1 - variant.height)


def build(variant: ConvolutionVariant):
    """The kernel `tiled(u, v, geometry)`; arrays are flat."""
    real, height, width = getattr(types, variant.dtype), variant.height, variant.width
    above, left, side = height // 2, width // 2, TILE
    columns, rows, size = TILE + 1 - width, TILE + 1 - height, TILE * TILE
    read = plane_reader(variant.edge, real)
    weight = weights_of(variant)

    def tiled(u, v, geometry):
        tile = cuda.shared.array(size, real)
        tx, ty = int64(cuda.threadIdx.x), int64(cuda.threadIdx.y)
        x, y, z = first_element(geometry, columns, rows)
        x, y = x + tx, y + ty
        tile[uint64(ty * side + tx)] = read(u, geometry, z, y - above, x - left)
        cuda.syncthreads()
        if tx < columns and ty < rows and x < int64(geometry.nx) and y < int64(geometry.ny):
            total = real(0)
            for j in range(height):
                for k in range(width):
                    total = fma(weight(j * width + k), tile[uint64((ty + j) * side + tx + k)], total)
            v[uint64(element(geometry, z, y, x))] = total

    return tiled
