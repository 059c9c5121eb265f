"""`im2col`: the bank as a product of two matrices, filters (k, depth) times patches (depth, pixels).

    depth = (c, ky, kx)        patches: row (c, ky, kx) holds, for every pixel, the image cell under that tap
    + - - - - - +   + - - - - - - - - - - - - - +
    | filter 0  |   | i i i i i i i i i i i i i |     + - - - - - - - - - - - - - +
    | filter 1  | x | i i i i i i i i i i i i i |  =  | response of filter 0      |
    | ...       |   | ...                       |     | ...                       |
    + - - - - - +   + - - - - - - - - - - - - - +     + - - - - - - - - - - - - - +

The patches, mask area times as large as the image, are never written to memory: a block gathers 8 rows of them for its
32 x 4 pixels into shared memory, and 8 rows of weights for up to 64 filters; then each thread multiplies a patch of
registers, up to 8 filters x 8 pixels, 8 times. The product does not know that its rows repeat each other, so a pixel is
gathered for every tap: mask area times the cache traffic of `register`. Depth is summed in its order, so the bits
are those of the other kernels. Sources: Chellapilla, Puri and Simard, High performance convolutional neural networks
for document processing, 2006; gathered on the way as in Chetlur et al., cuDNN, 2014.
"""

from __future__ import annotations

from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.field.filter_bank.cuda.block import (
    ALIGNMENT,
    BankConfiguration,
    Block,
    ending,
    placing,
    thread_number,
)
from heatsim_kernels.field.filter_bank.cuda.patch import Patch, PatchWindow, load_if

DEPTH = 8  # rows of the product held at once
ACROSS, DOWN = (2, 1) if SIMULATED else (8, 2)  # patches of 4 x 2 pixels in a block
PIXELS = 8 * ACROSS * DOWN
GROUPS = 8  # of filters, a patch each: as many threads as pixels


def patch(structure: BankConfiguration) -> Patch:
    """A thread's filters and pixels."""
    most = 8 if structure.itemsize == 4 else 4
    return Patch(min(most, max(1, structure.outputs // GROUPS)), 2, 4)


def block(structure: BankConfiguration) -> Block:
    """A block's share; its threads are (patches, groups of filters)."""
    filters = GROUPS * patch(structure).filters
    return Block(filters, 2 * DOWN, 4 * ACROSS, (ACROSS * DOWN, GROUPS, 1), DEPTH * (PIXELS + filters))


def build(structure: BankConfiguration):
    """The kernel of a structure: `kernel(images, filters, bias, out, sizes)`."""
    share, one, real = block(structure), patch(structure), getattr(types, structure.dtype)
    size, filters_each, row = share.memory(structure), one.filters, 4 * ACROSS
    taps = structure.mask[0] * structure.mask[1]
    group, start_weights = share.filters, DEPTH * PIXELS
    place, gather, fetch = placing(structure, share), _gathering(structure, share), _fetching(share)
    start, add, finish = ending(structure, share, one, PatchWindow(1, (1, 1), row, aligned=True))

    def im2col(images, filters, bias, out, sizes):
        memory = cuda.shared.array(size, real, ALIGNMENT)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        at = place(sizes)
        k, y = uint32(ty * uint32(filters_each)), uint32(uint32(tx // uint32(ACROSS)) * uint32(2))
        x = uint32(uint32(tx % uint32(ACROSS)) * uint32(4))
        t, w = uint64(uint32(y * uint32(row) + x)), uint64(uint32(uint32(start_weights) + k))
        sums = start(bias, uint64(uint32(at.filter + k)))
        depth, d = uint32(sizes.channels * uint32(taps)), uint32(0)
        while d < depth:
            gather(memory, images, d, depth, at, sizes)
            fetch(memory, filters, d, depth, at, sizes)
            cuda.syncthreads()  # patches were gathered a thread a pixel, and are read a thread a patch of the product
            left = uint32(depth - d)
            if left >= uint32(DEPTH):  # in a loop of its own, which is unrolled
                for turn in range(DEPTH):
                    sums = add(sums, memory, t + uint64(turn * PIXELS), memory, w + uint64(turn * group), uint64(0))
            else:
                for turn in range(left):
                    sums = add(sums, memory, t + uint64(turn * PIXELS), memory, w + uint64(turn * group), uint64(0))
            cuda.syncthreads()  # the next rows take the same memory: all must have multiplied these
            d = uint32(d + uint32(DEPTH))
        finish(sums, memory, at, k, y, x, out, sizes)

    return im2col


def _gathering(structure, share):
    """`gather(memory, images, d, depth, at, sizes)`: rows d, d + 1, ... of the patches, a thread for each pixel."""
    (height, width), (stride_y, stride_x), step = structure.mask, structure.stride, structure.pool.step
    taps, columns = height * width, 4 * ACROSS
    thread = thread_number(share)

    @inlined
    def gather(memory, images, d, depth, at, sizes):
        plane = uint64(sizes.ny) * uint64(sizes.nx)
        pixel = thread()
        down, right = uint32(pixel // uint32(columns)), uint32(pixel % uint32(columns))
        first_y = uint32((at.y * uint32(step[0]) + down) * uint32(stride_y) - sizes.padding_y)
        first_x = uint32((at.x * uint32(step[1]) + right) * uint32(stride_x) - sizes.padding_x)
        for turn in range(DEPTH):
            row = uint32(d + uint32(turn))
            c, tap = uint32(row // uint32(taps)), uint32(row % uint32(taps))
            y, x = uint32(first_y + uint32(tap // uint32(width))), uint32(first_x + uint32(tap % uint32(width)))
            first = (uint64(at.image) * uint64(sizes.channels) + uint64(c)) * plane
            inside = (row < depth) & (y < sizes.ny) & (x < sizes.nx)
            value = load_if(images, first + uint64(uint32(y * sizes.nx + x)), inside)
            memory[uint64(uint32(pixel + uint32(turn * PIXELS)))] = value

    return gather


def _fetching(share):
    """`fetch(memory, filters, d, depth, at, sizes)`: the weights of rows d, d + 1, ..., (rows, filters)."""
    group, start = share.filters, DEPTH * PIXELS
    threads, thread = share.threads[0] * share.threads[1], thread_number(share)

    @inlined
    def fetch(memory, filters, d, depth, at, sizes):
        for turn in range(-(-DEPTH * group // threads)):
            number = uint32(thread() + uint32(turn * threads))
            row, k = uint32(d + uint32(number // uint32(group))), uint32(number % uint32(group))
            i = uint64(row) * uint64(sizes.pitch) + uint64(uint32(at.filter + k))
            weight = load_if(filters, i, row < depth)
            if number < uint32(DEPTH * group):
                memory[uint64(uint32(start) + number)] = weight

    return fetch
