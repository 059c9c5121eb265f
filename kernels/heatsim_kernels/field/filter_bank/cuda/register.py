"""`register`: each thread computes a patch of several pixels times several filters, all sums in registers.

    shared memory, one channel at a time          a thread: 4 pixels x 16 filters
    tile     i i i i i i i i ...                     i i i i (i i)   a row of pixels, slid along the mask row
             i i i i i i i i ...   ------->        w s s s s
    weights  w w w w ... (a tap's 16 filters)      w s s s s         64 multiply-adds a tap for 16 weights, all
             w w w w ...                           w s s s s         threads reading the same, and about one pixel

Of `shared` and `hnmtp` the best of both: pixels are read once for many filters, weights once for many pixels. A tap's
64 multiply-adds take four 16-byte reads of weights (broadcast) and a third to a half of one of pixels, so shared memory
keeps up with arithmetic. Device memory gives a block its tile, (8 + m - 1)(64 + m - 1) pixels for 64 x 8, once for 16
filters. Wide masks leave room for the weights of fewer filters; so do float64's registers. Sources: Volkov and Demmel,
Benchmarking GPUs to tune dense linear algebra, SC 2008; Chetlur et al., cuDNN, 2014, for the same blocking by way of a
matrix product.
"""

from __future__ import annotations

from math import prod

from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.field.filter_bank.cuda.block import (
    ALIGNMENT,
    SHARED_BYTES,
    BankConfiguration,
    Block,
    ending,
    placing,
    staging,
    thread_number,
)
from heatsim_kernels.field.filter_bank.cuda.patch import Patch, PatchWindow, load_if

PIXELS = 4
LANES, ROWS = (2, 2) if SIMULATED else (16, 8)  # threads of a block: a patch is 4 pixels wide, 1 high
SUMS = 256  # bytes of a thread's sums


def patch(structure: BankConfiguration) -> Patch:
    """A thread's filters and pixels: as many filters as registers and shared memory hold."""
    filters = min(structure.outputs, SUMS // (PIXELS * structure.itemsize))
    while filters > 1 and _elements(structure, filters) * structure.itemsize > SHARED_BYTES:
        filters //= 2
    return Patch(filters, 1, PIXELS)


def block(structure: BankConfiguration) -> Block:
    """A block's share."""
    filters = patch(structure).filters
    return _share(filters)._replace(elements=_elements(structure, filters))


def _share(filters: int) -> Block:
    return Block(filters, ROWS, PIXELS * LANES, (LANES, ROWS, 1), 0)


def _elements(structure: BankConfiguration, filters: int) -> int:
    """Of shared memory: the tile, then a channel's weights."""
    return prod(_share(1).tile_memory(structure)) + _rounds(structure, filters) * LANES * ROWS


def _rounds(structure: BankConfiguration, filters: int) -> int:
    """Weights that a thread loads."""
    return -(-structure.mask[0] * structure.mask[1] * filters // (LANES * ROWS))


def build(structure: BankConfiguration):
    """The kernel of a structure: `kernel(images, filters, bias, out, sizes)`."""
    share, one, real = block(structure), patch(structure), getattr(types, structure.dtype)
    tile, size, group = share.tile_memory(structure), share.memory(structure), one.filters
    (height, width), (stride_y, stride_x) = structure.mask, structure.stride
    row, weights = tile[1], prod(tile)
    place, stage = placing(structure, share), staging(structure, share)
    stage_weights = _staging_weights(structure, share, weights)
    start, add, finish = ending(structure, share, one, PatchWindow(width, structure.stride, row, aligned=True))

    def register(images, filters, bias, out, sizes):
        memory = cuda.shared.array(size, real, ALIGNMENT)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        at, plane = place(sizes), uint64(sizes.ny) * uint64(sizes.nx)
        first = uint32(ty * uint32(stride_y * row) + tx * uint32(PIXELS * stride_x))
        sums = start(bias, uint64(at.filter))
        for c in range(sizes.channels):
            stage(memory, images, (uint64(at.image) * uint64(sizes.channels) + uint64(c)) * plane, at, sizes)
            stage_weights(memory, filters, uint64(c), at, sizes)
            cuda.syncthreads()  # every thread reads pixels and weights that others have put into `memory`
            for ky in range(height):
                t, w = uint64(uint32(first + uint32(ky * row))), uint64(weights + ky * width * group)
                sums = add(sums, memory, t, memory, w, uint64(group))
            cuda.syncthreads()  # the next channel takes the same memory: all must have read this one
        finish(sums, memory, at, uint32(0), ty, uint32(tx * uint32(PIXELS)), out, sizes)

    return register


def _staging_weights(structure, share, start):
    """`stage_weights(memory, filters, c, at, sizes)`: a channel's weights of the block's filters, (taps, filters)."""
    taps, group = structure.mask[0] * structure.mask[1], share.filters
    rounds, threads, thread = _rounds(structure, group), LANES * ROWS, thread_number(share)

    @inlined
    def stage_weights(memory, filters, c, at, sizes):
        first = c * uint64(taps) * uint64(sizes.pitch) + uint64(at.filter)
        for turn in range(rounds):
            number = uint32(thread() + uint32(turn * threads))
            tap, k = uint32(number // uint32(group)), uint32(number % uint32(group))
            weight = load_if(filters, first + uint64(uint32(tap * sizes.pitch + k)), number < uint32(taps * group))
            memory[uint64(uint32(start) + number)] = weight

    return stage_weights
