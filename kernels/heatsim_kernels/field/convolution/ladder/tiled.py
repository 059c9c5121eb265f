"""`tiled`: a block shares its elements and the halo through shared memory.

1-D, the block is the output tile:

    block      0       |1          |2          |
    N     . . . . . . .|. . . . . .|. . . . . .|        B inner elements, a thread each; the last n threads also load
                   [h h|o o o o o o|h h]                the left halo, the first n the right one. Halo elements are
    shared         [h h|o o o o o o|h h]                inner ones of the blocks beside; beyond an end they are ghosts,
                    left   inner   right                put there as the edge has it, so the sum has no tests

B + 2n elements are loaded for B results where `basic` asks for B (2n+1): that ratio is the saving, B + n and
B (2n+1) - n(n+1)/2 at an end of the line (see `theory`). The mask is in constant memory (see `constant`). Source:
Kirk and Hwu, Programming Massively Parallel Processors, convolution chapter (tiled 1-D convolution with halo elements).

2-D, the block is the input tile, and its outer threads only load:

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
`theory`). The mask is in constant memory (see `constant`). Source: Kirk and Hwu, Programming Massively Parallel
Processors, convolution chapter (tiled 2-D convolution, first design).
"""

from __future__ import annotations

from numba import int64, types, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.convolution.cuda import field_access
from heatsim_kernels.field.convolution.cuda.field_access import ConvolutionVariant, MaskKernel

TILE = 8 if SIMULATED else 32  # elements a side of the input tile, more than a mask has


def build_lines(variant: ConvolutionVariant):
    """The kernel `tiled(u, v, geometry)`; arrays are flat."""
    real, half, width = getattr(types, variant.dtype), variant.width // 2, variant.width
    read, place = field_access.reader(variant.edge, real), field_access.line_of_thread(variant)
    length, size, step, within = field_access.tile_of_thread(variant, half)
    weight = field_access.weights_of(variant)

    def tiled(u, v, geometry):
        tile = cuda.shared.array(size, real)
        start, stride, n, i, exists = place(geometry)
        t, first = within()
        if t >= length - half:
            tile[uint64(first + (t - (length - half)) * step)] = read(u, start, stride, i - length, n)
        tile[uint64(first + (half + t) * step)] = read(u, start, stride, i, n)
        if t < half:
            tile[uint64(first + (half + length + t) * step)] = read(u, start, stride, i + length, n)
        cuda.syncthreads()  # the tile is read by threads that did not write it; it is filled once, so this is enough
        if exists:
            total = real(0)
            for k in range(width):
                total = fma(weight(k), tile[uint64(first + (t + k) * step)], total)
            v[uint64(start + i * stride)] = total

    return tiled


def plane_block(variant: ConvolutionVariant) -> tuple[int, int]:
    """Threads of a block along x and y: the input tile."""
    return TILE, TILE


def plane_grid(shape: tuple[int, int, int], variant: ConvolutionVariant) -> tuple[int, int, int]:
    """A block for each output tile."""
    return field_access.tiles(shape, TILE + 1 - variant.width, TILE + 1 - variant.height)


def build_planes(variant: ConvolutionVariant):
    """The kernel `tiled(u, v, geometry)`; arrays are flat."""
    real, height, width = getattr(types, variant.dtype), variant.height, variant.width
    above, left, side = height // 2, width // 2, TILE
    columns, rows, size = TILE + 1 - width, TILE + 1 - height, TILE * TILE
    read, place = field_access.plane_reader(variant.edge, real), field_access.result_of_thread(columns, rows)
    weighted_sum = field_access.sum_over_tile(variant, side)

    def tiled(u, v, geometry):
        tile = cuda.shared.array(size, real)
        tx, ty = int64(cuda.threadIdx.x), int64(cuda.threadIdx.y)
        x, y, z, exists = place(geometry)
        tile[uint64(ty * side + tx)] = read(u, geometry, z, y - above, x - left)
        cuda.syncthreads()  # the tile is read by threads that did not write it; it is filled once, so this is enough
        if tx < columns and ty < rows and exists:
            v[uint64(field_access.element(geometry, z, y, x))] = weighted_sum(tile, tx, ty)

    return tiled


LINES = MaskKernel("compiled in", field_access.line_threads, field_access.line_grid, build_lines)
PLANES = MaskKernel("compiled in", plane_block, plane_grid, build_planes)
