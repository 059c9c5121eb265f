"""CUDA: how a kernel sees a field, and what a kernel is compiled for.

A field is planes of rows of elements, with a stride each: rows may lie further apart than they are long (pitch), the
channels of a pixel are planes whose elements interleave, and the planes of a 3-D field may be cut across any axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import int64, types, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined, intrinsic
from heatsim_kernels.device.fma import fma
from heatsim_kernels.device.thread_blocks import blocks, first_cell
from heatsim_kernels.field.convolution import edges

Count = int | np.unsignedinteger[Any]
source_index = inlined(edges.source_index)


class ConvolutionGeometry(NamedTuple):
    """Planes, rows and columns, and elements from one to the next of each, uint32; the same for source and result."""

    nz: Count
    ny: Count
    nx: Count
    plane: Count
    row: Count
    column: Count


class ConvolutionVariant(NamedTuple):
    """What a kernel is compiled for.

    dtype: name of the field's type. edge: place in `edges.EDGES`. height, width: of the mask, odd. weights: of a mask
    that is compiled in, row by row, as correlation has it; else (). down: whether the lines of a 1-D kernel run down
    the columns.
    """

    dtype: str
    edge: int
    height: int
    width: int
    weights: tuple[float, ...] = ()
    down: bool = False


ThreadsOfBlock = Callable[[ConvolutionVariant], tuple[int, int]]
BlocksOfGrid = Callable[[tuple[int, int, int], ConvolutionVariant], tuple[int, int, int]]


class MaskKernel(NamedTuple):
    """A kernel of the ladder for masks along lines, or over planes.

    mask: how it is given the weights: "argument" (an array), "arguments" (a tuple) or "compiled in" (with the variant).
    block(variant): threads along x and y; grid(shape, variant): the launch grid; build(variant): the kernel.
    """

    mask: str
    block: ThreadsOfBlock
    grid: BlocksOfGrid
    build: Callable[[ConvolutionVariant], Any]


def launch_of_results(width: int, height: int) -> tuple[ThreadsOfBlock, BlocksOfGrid]:
    """`block` and `grid` of a `MaskKernel` for planes whose blocks have a thread for each result of a tile."""
    return lambda variant: (width, height), lambda shape, variant: tiles(shape, width, height)


def tiles(shape: tuple[int, int, int], width: int, height: int) -> tuple[int, int, int]:
    """The launch grid: a block for each tile of so many columns and rows."""
    return blocks(shape, (width, height, 1))


@inlined
def first_element(geometry, width, height):
    """Column, row and plane where this block's tile begins, int64."""
    x, y, z = first_cell(geometry, width, height, 1)
    return int64(x), int64(y), int64(z)


def result_of_thread(width: int, height: int):
    """The device function place(geometry) for tiles of so many results, a thread each: column, row and plane of the
    thread's result, int64, and whether there is such a result."""

    @inlined
    def place(geometry):
        x, y, z = first_element(geometry, width, height)
        x, y = x + int64(cuda.threadIdx.x), y + int64(cuda.threadIdx.y)
        return x, y, z, x < int64(geometry.nx) and y < int64(geometry.ny)

    return place


def reader(edge: int, real):
    """The device function read(u, start, stride, i, n): what stands at place i of a line of n elements, anywhere.

    Element 0 of the line is u[start], and `stride` elements lie from one to the next.
    """
    missing_is_zero = edge == edges.ZERO

    @inlined
    def read(u, start, stride, i, n):
        at = source_index(i, n, edge)
        if missing_is_zero and at < 0:
            return real(0)
        return u[uint64(start + at * stride)]

    return read


def plane_reader(edge: int, real):
    """The device function read(u, geometry, z, y, x): what stands at row y and column x of a plane, anywhere."""
    missing_is_zero = edge == edges.ZERO

    @inlined
    def read(u, geometry, z, y, x):
        row, column = source_index(y, int64(geometry.ny), edge), source_index(x, int64(geometry.nx), edge)
        if missing_is_zero and (row < 0 or column < 0):
            return real(0)
        return u[uint64(element(geometry, z, row, column))]

    return read


@inlined
def element(geometry, z, y, x):
    """Flat index of an element, int64; arrays are given it as uint64, which spares a test for negative ones."""
    return z * int64(geometry.plane) + y * int64(geometry.row) + x * int64(geometry.column)


def line_threads(variant: ConvolutionVariant) -> tuple[int, int]:
    """Threads of a 1-D kernel's block along x and y. A warp lies along x, where elements are neighbours in memory, so
    it goes along one line or, where lines run down the columns, across 32 of them."""
    if SIMULATED:
        return (3, 4) if variant.down else (4, 2)
    return (32, 16) if variant.down else (128, 2)


def line_grid(shape: tuple[int, int, int], variant: ConvolutionVariant) -> tuple[int, int, int]:
    """A block for each tile of results of a 1-D kernel."""
    return tiles(shape, *line_threads(variant))


def line_of_thread(variant: ConvolutionVariant):
    """The device function place(geometry) of a 1-D kernel.

    It returns the start, stride and length of the thread's line, the thread's place on it, and whether there is such a
    result; a thread beyond the last line is given that one to read from.
    """
    (width, height), down = line_threads(variant), variant.down

    @inlined
    def place(geometry):
        x, y, z = first_element(geometry, width, height)
        x, y = x + int64(cuda.threadIdx.x), y + int64(cuda.threadIdx.y)
        nx, ny = int64(geometry.nx), int64(geometry.ny)
        exists = x < nx and y < ny
        if down:
            return element(geometry, z, int64(0), min(x, nx - 1)), int64(geometry.row), ny, y, exists
        return element(geometry, z, min(y, ny - 1), int64(0)), int64(geometry.column), nx, x, exists

    return place


def tile_of_thread(variant: ConvolutionVariant, halo: int):
    """The shared tile of a 1-D kernel, lines of a block's elements with a halo at both ends.

    Returns the elements of a line without halo, the size of the tile, the step from one element of a line to the next,
    and the device function within() that gives the thread's place on its line and where that line begins in the tile.
    """
    (width, height), down = line_threads(variant), variant.down
    length = height if down else width
    whole = length + 2 * halo
    step, size = (width, whole * width) if down else (1, whole * height)

    @inlined
    def within():
        tx, ty = int64(cuda.threadIdx.x), int64(cuda.threadIdx.y)
        if down:
            return ty, tx
        return tx, ty * whole

    return length, size, step, within


def sum_over_tile(variant: ConvolutionVariant, side: int):
    """The device function weighted_sum(tile, x, y) for a mask in constant memory, and a shared tile with a halo and
    rows of `side` elements: the result at column x and row y of those that the tile serves."""
    real, height, width = getattr(types, variant.dtype), variant.height, variant.width
    weight = weights_of(variant)

    @inlined
    def weighted_sum(tile, x, y):
        total = real(0)
        for j in range(height):
            for k in range(width):
                total = fma(weight(j * width + k), tile[uint64((y + j) * side + x + k)], total)
        return total

    return weighted_sum


# A mask in constant memory. Numba's own constant arrays are open to the compiler, which writes the weights of an
# unrolled loop into the instructions and leaves constant memory empty. Here the memory is declared as what other code
# may write to, as a `__constant__` array of CUDA C++ that `cudaMemcpyToSymbol` fills, so its weights are read from
# there: as operands c[3][..] of the multiply-adds, or a few at a time into uniform registers, the same for a warp.

CONSTANT = 4  # address space
NAME = "heatsim_mask"


def weights_of(variant: ConvolutionVariant):
    """The device function weight(k): weight k of the variant's mask, row by row; k is int64."""
    values = np.array(variant.weights, variant.dtype)
    if SIMULATED:
        return lambda k: values[k]

    from llvmlite import ir
    from numba import from_dtype

    real = from_dtype(values.dtype)

    @intrinsic
    def weight(typing_context, k):
        def codegen(context, builder, signature, args):
            memory = builder.module.globals.get(NAME) or declared(context, builder.module)
            return builder.load(builder.gep(memory, [ir.Constant(ir.IntType(64), 0), args[0]]))

        return real(types.int64), codegen

    def declared(context, module):
        kind = ir.ArrayType(context.get_value_type(real), values.size)
        memory = ir.GlobalVariable(module, kind, NAME, addrspace=CONSTANT)
        memory.initializer, memory.align = ir.Constant(kind, values.tolist()), values.itemsize
        return memory

    return weight
