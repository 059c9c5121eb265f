"""CUDA: what the blocks of every filter bank kernel have in common: where they stand, how they read, how they write.

    input tile                       response tile             output
    + - - - - - - - - +  padding     r r r r r r               with a pooling: the windows that lie whole in the
    |  i i i i i i i  |  and image   r r r r r r    ------->   response tile, their maxima; the response itself
    |  i i i i i i i  |  alike       r r r r r r               is never written to memory
    + - - - - - - - - +                                        without: the response, ReLU applied

Blocks are numbered in one row: tiles along x first, then y, then groups of filters, then images, so neither batch nor
image size meets the launch's limits along y and z, and blocks running together share input in the L2 cache.

Arrays are flat. Filters lie as (channels, mask y, mask x, `pitch`): neighbouring filters are neighbours in memory, and
`pitch` is their number rounded up to GROUP, the rest zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.field.filter_bank.cuda.patch import Patch, PatchWindow, functions, load_if
from heatsim_kernels.field.filter_bank.geometry import WHOLE, BankGeometry, Pair, Pool
from heatsim_kernels.field.filter_bank.pointwise import larger, rectified

Count = int | np.unsignedinteger[Any]
GROUP = 64  # filters are filled up to a multiple of this, which no block's share of them exceeds
ACROSS = 4 if SIMULATED else 16  # threads in a row when a tile is loaded
ALIGNMENT = None if SIMULATED else 16  # bytes of shared memory, where four words are read at once
SHARED_BYTES = 48 * 1024  # of a block, without asking for more


class BankConfiguration(NamedTuple):
    """What a kernel is compiled for; the rest are arguments."""

    dtype: str
    mask: Pair
    stride: Pair
    pool: Pool
    relu: bool
    outputs: int  # filters that are worth a block's while: a power of two from 8 to GROUP

    @classmethod
    def of(cls, shape: BankGeometry, dtype: str, relu: bool) -> BankConfiguration:
        """The structure of a bank."""
        outputs = min(GROUP, max(8, 1 << (shape.filters - 1).bit_length()))
        return cls(dtype, shape.mask, shape.stride, shape.pool, relu, outputs)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return 4 if self.dtype == "float32" else 8


class Sizes(NamedTuple):
    """Extents at run time, each uint32; `pitch` is from a tap's first filter to the next tap's."""

    channels: Count
    ny: Count
    nx: Count
    padding_y: Count
    padding_x: Count
    filters: Count
    pitch: Count
    rows: Count
    columns: Count
    out_rows: Count
    out_columns: Count

    @classmethod
    def of(cls, shape: BankGeometry) -> Sizes:
        """The extents of a bank, as plain integers."""
        pitch = -(-shape.filters // GROUP) * GROUP
        return cls(
            shape.channels, *shape.image, *shape.padding, shape.filters, pitch, *shape.response, *shape.output
        )  # fmt: skip


class Block(NamedTuple):
    """A block's share: filters, and rows and columns of the response; its threads (x, y, z); and the elements of shared
    memory that it needs before the response is put there."""

    filters: int
    rows: int
    columns: int
    threads: tuple[int, int, int]
    elements: int

    def bounds(self, structure: BankConfiguration) -> tuple[int, int]:
        """Threads, and blocks that a multiprocessor must hold at once, which caps the registers of a thread: at 128, or
        at 255 for what needs more (float64, strides, wide masks)."""
        threads = self.threads[0] * self.threads[1]
        light = structure.dtype == "float32" and structure.stride == (1, 1) and structure.mask[1] <= 16
        return threads, max(1, (512 if light else 256) // threads)

    def memory(self, structure: BankConfiguration) -> int:
        """Elements of shared memory; the response, if it is pooled there, takes the place of what it was made from."""
        response = self.filters * self.rows * self.columns if self.elements and structure.pool != WHOLE else 0
        return max(self.elements, response, 1)

    def fits(self, structure: BankConfiguration) -> bool:
        """Whether shared memory holds it, and a pooling window does not exceed its tile."""
        tile = self.output_tile(structure.pool)
        return min(tile) > 0 and self.memory(structure) * structure.itemsize <= SHARED_BYTES

    def output_tile(self, pool: Pool) -> Pair:
        """Rows and columns of the output."""
        rows, columns = ((n - w) // s + 1 for n, w, s in zip((self.rows, self.columns), *pool, strict=True))
        return rows, columns

    def count(self, shape: BankGeometry) -> int:
        """Blocks that cover a bank."""
        rows, columns = (-(-n // tile) for n, tile in zip(shape.output, self.output_tile(shape.pool), strict=True))
        return shape.batch * -(-shape.filters // self.filters) * rows * columns

    def input_tile(self, structure: BankConfiguration) -> Pair:
        """Rows and columns of the image under the response tile."""
        extents = zip((self.rows, self.columns), structure.stride, structure.mask, strict=True)
        rows, columns = ((n - 1) * s + m for n, s, m in extents)
        return rows, columns

    def tile_memory(self, structure: BankConfiguration) -> Pair:
        """The same in shared memory, rounded up to what the threads load at once; rows start on 16-byte boundaries."""
        rows, columns = self.input_tile(structure)
        height = self.threads[0] * self.threads[1] // ACROSS
        return -(-rows // height) * height, -(-columns // ACROSS) * ACROSS


class BlockPlace(NamedTuple):
    """Where a block's share starts: image, filter, row and column of the output."""

    image: int
    filter: int
    y: int
    x: int


def placing(structure: BankConfiguration, block: Block):
    """`place(sizes)`: where this block stands."""
    height, width = block.output_tile(structure.pool)
    group = block.filters

    @inlined
    def place(sizes):
        one, number = uint32(1), uint32(cuda.blockIdx.x)
        across = uint32((sizes.out_columns - one) // uint32(width) + one)
        along = uint32((sizes.out_rows - one) // uint32(height) + one)
        groups = uint32((sizes.filters - one) // uint32(group) + one)
        line, x = uint32(number // across), uint32(number % across)
        plane, y = uint32(line // along), uint32(line % along)
        image, k = uint32(plane // groups), uint32(plane % groups)
        return BlockPlace(image, uint32(k * uint32(group)), uint32(y * uint32(height)), uint32(x * uint32(width)))

    return place


def thread_number(block: Block):
    """`thread()`: this thread's number in the block."""
    wide = block.threads[0]

    @inlined
    def thread():
        return uint32(cuda.threadIdx.y * uint32(wide) + cuda.threadIdx.x)

    return thread


def staging(structure: BankConfiguration, block: Block):
    """`stage(tile, images, plane, at, sizes)`: load the input tile of one channel, all threads together.

    `plane` is the index of the channel's first element, `at` the `Place` of the block; what lies outside the image is
    zero. Threads stand in rows of ACROSS and go over the tile in steps that are known when the kernel is compiled, so
    that an element costs a load, a store and a test or two. The tile in memory is a whole number of such steps.
    """
    threads = block.threads[0] * block.threads[1]
    (rows, columns), (_, pitch) = block.input_tile(structure), block.tile_memory(structure)
    height = threads // ACROSS
    rounds_y, rounds_x = -(-rows // height), pitch // ACROSS
    (step_y, step_x), (pool_y, pool_x) = structure.stride, structure.pool.step
    thread = thread_number(block)

    @inlined
    def stage(tile, images, plane, at, sizes):
        row, column = uint32(thread() // uint32(ACROSS)), uint32(thread() % uint32(ACROSS))
        down_to = uint32(at.y * uint32(pool_y * step_y) + row)
        right_to = uint32(at.x * uint32(pool_x * step_x) + column)
        # Unsigned: what lies before the first row or column has a number beyond the last; sums wrap to what they are.
        y, x = uint32(down_to - sizes.padding_y), uint32(right_to - sizes.padding_x)
        nx, margin = uint64(sizes.nx), uint64(sizes.padding_y) * uint64(sizes.nx) + uint64(sizes.padding_x)
        i = plane + uint64(down_to) * nx + uint64(right_to) - margin
        t = uint32(row * uint32(pitch) + column)
        for down in range(rounds_y):
            level = (uint32(y + uint32(down * height)) < sizes.ny) & (row < uint32(rows - down * height))
            for right in range(rounds_x):
                beside = column < uint32(columns - right * ACROSS)
                inside = level & beside & (uint32(x + uint32(right * ACROSS)) < sizes.nx)
                value = load_if(images, i + uint64(right * ACROSS), inside)
                tile[uint64(t + uint32(down * height * pitch + right * ACROSS))] = value
            i = i + uint64(height) * nx

    return stage


def ending(structure: BankConfiguration, block: Block, patch: Patch, window: PatchWindow):
    """`start(bias, k)`, `add(...)` of `patch.py` and `finish(sums, memory, at, k, y, x, out, sizes)` for a thread's
    patch, which starts at filter k, row y and column x of the block's share.

    `finish` applies ReLU, pools and writes. All threads must call it; it overwrites `memory`, the block's shared
    memory.
    """
    pools = structure.pool != WHOLE
    start, add, keep, write = functions(patch, window, structure.relu)
    return start, add, _pooling(structure, block, keep) if pools else _writing(write)


def _writing(write):
    @inlined
    def finish(sums, memory, at, k, y, x, out, sizes):
        k, y, x = uint32(at.filter + k), uint32(at.y + y), uint32(at.x + x)
        if k < sizes.filters and y < sizes.rows and x < sizes.columns:
            row, plane = uint64(sizes.columns), uint64(sizes.rows) * uint64(sizes.columns)
            room = (uint32(sizes.filters - k), uint32(sizes.rows - y), uint32(sizes.columns - x))
            i = (uint64(at.image) * uint64(sizes.filters) + uint64(k)) * plane + uint64(y) * row + uint64(x)
            write(out, i, plane, row, room, sums)

    return finish


def _pooling(structure, block, keep):
    """`finish` by way of shared memory, where the response tile lies as (filters, rows, columns)."""
    pool_one, thread = _pooled_one(structure, block), thread_number(block)
    threads = block.threads[0] * block.threads[1]
    (rows, columns), group = block.output_tile(structure.pool), block.filters
    row, plane = block.columns, block.rows * block.columns

    @inlined
    def finish(sums, memory, at, k, y, x, out, sizes):
        cuda.syncthreads()  # others may be reading what is overwritten now
        i = uint32(k * uint32(plane) + y * uint32(row) + x)
        keep(memory, uint64(i), uint64(plane), uint64(row), sums)
        cuda.syncthreads()  # a window is made of the responses of several threads
        number = thread()
        while number < uint32(group * rows * columns):
            line, x = uint32(number // uint32(columns)), uint32(number % uint32(columns))
            k, y = uint32(line // uint32(rows)), uint32(line % uint32(rows))
            pool_one(memory, at, k, y, x, out, sizes)
            number = uint32(number + uint32(threads))

    return finish


def _pooled_one(structure, block):
    """Write one element of the output, if it is there."""
    relu, real = structure.relu, getattr(types, structure.dtype)
    (wide_y, wide_x), (step_y, step_x) = structure.pool
    row, plane = block.columns, block.rows * block.columns
    rectify, pick = inlined(rectified), inlined(larger)

    @inlined
    def pool_one(memory, at, k, y, x, out, sizes):
        k_out, y_out, x_out = uint32(at.filter + k), uint32(at.y + y), uint32(at.x + x)
        if k_out < sizes.filters and y_out < sizes.out_rows and x_out < sizes.out_columns:
            first = uint64(uint32(k * uint32(plane) + y * uint32(step_y * row) + x * uint32(step_x)))
            best = memory[first]
            for right in range(wide_x):
                for down in range(wide_y):
                    best = pick(best, memory[first + uint64(down * row + right)])
            line = (uint64(at.image) * uint64(sizes.filters) + uint64(k_out)) * uint64(sizes.out_rows) + uint64(y_out)
            out[line * uint64(sizes.out_columns) + uint64(x_out)] = rectify(best, real(0)) if relu else best

    return pool_one
