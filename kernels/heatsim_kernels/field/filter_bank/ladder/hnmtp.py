"""`hnmtp`: threads load the input tile as pixels, then each takes one FILTER and goes over the pixels of the tile.

    load                             compute: thread k of a warp has filter k
    t0 t1 t2 t3 t4 ...               weight of (c, ky, kx): k neighbouring words, each read once, into a register
    i  i  i  i  i                    pixel: the same word for all threads, one broadcast from shared memory
    i  i  i  i  i                    sums: 8 x 8 pixels of its own filter, in registers

"HNMTP does Not Map Threads to Pixels": neighbouring threads have different filters, so no two read the same weight,
none need be staged in shared memory, and no barrier is needed for them. In the source a thread reads one weight,
multiplies all its pixels by it and goes on to the next; here it takes up to 8 weights of a mask row at once, so that a
row of pixels read once serves them all: at 3 x 3, a mask row is 192 multiply-adds for 3 weights and 24 reads of up to
four pixels. A block has 8 to 64 filters times as many tiles of 8 x 8 as make 128 threads; with fewer filters than
lanes, the rest idle. What it writes, 8 pixels a row for each filter, comes in pieces of 32 bytes. Source: Ji, HNMTP
Conv: optimize convolution algorithm for single-image convolution neural network inference on mobile GPUs,
arXiv:1909.02765, 2019.
"""

from __future__ import annotations

from math import prod

from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.field.filter_bank.cuda.block import ALIGNMENT, BankConfiguration, Block, ending, placing, staging
from heatsim_kernels.field.filter_bank.cuda.patch import Patch, PatchWindow


def patch(structure: BankConfiguration) -> Patch:
    """A thread's pixels; half as many in float64, which takes two registers each."""
    return Patch(1, 2, 4) if SIMULATED else Patch(1, 32 // structure.itemsize, 8)


def block(structure: BankConfiguration) -> Block:
    """A block's share; its threads are (filters, patches side by side)."""
    lanes = min(structure.outputs, 4) if SIMULATED else structure.outputs
    beside = 2 if SIMULATED else 128 // lanes
    one = patch(structure)
    share = Block(lanes, one.rows, one.columns * beside, (lanes, beside, 1), 0)
    return share._replace(elements=prod(share.tile_memory(structure)))


def build(structure: BankConfiguration):
    """The kernel of a structure: `kernel(images, filters, bias, out, sizes)`."""
    share, one, real = block(structure), patch(structure), getattr(types, structure.dtype)
    row, size = share.tile_memory(structure)[1], share.memory(structure)
    (height, width), across = structure.mask, one.columns * structure.stride[1]
    pixels = one.columns
    place, stage = placing(structure, share), staging(structure, share)
    start, add, finish = ending(structure, share, one, PatchWindow(width, structure.stride, row, aligned=True))

    def hnmtp(images, filters, bias, out, sizes):
        tile = cuda.shared.array(size, real, ALIGNMENT)
        k, beside = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        at, plane = place(sizes), uint64(sizes.ny) * uint64(sizes.nx)
        w, step = uint64(uint32(at.filter + k)), uint64(sizes.pitch)
        sums = start(bias, w)
        for c in range(sizes.channels):
            stage(tile, images, (uint64(at.image) * uint64(sizes.channels) + uint64(c)) * plane, at, sizes)
            cuda.syncthreads()  # every thread reads the whole tile, which all have put there
            for ky in range(height):
                first = uint32(uint32(ky) * uint32(row) + beside * uint32(across))
                sums = add(sums, tile, uint64(first), filters, w, step)
                w = w + uint64(width) * step
            cuda.syncthreads()  # the next channel takes the same tile: all must have read this one
        finish(sums, tile, at, k, uint32(0), uint32(beside * uint32(pixels)), out, sizes)

    return hnmtp
