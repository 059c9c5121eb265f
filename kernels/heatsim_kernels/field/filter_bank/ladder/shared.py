"""`shared`: a block loads its input tile into shared memory; then every thread computes a pixel from there.

    i i i i i i i i i i
    i o o o o o o o o i      o: 32 x 8 pixels of the response, a thread each, for one filter
    i o o o o o o o o i      i: what the mask adds around them, stride and mask width deciding how much
    i i i i i i i i i i

A pixel is asked of global memory once a block, (8 + m - 1)(32 + m - 1) for 256 m^2 uses (m^2 / 1.7 fewer at m = 5), one
channel at a time, with a barrier before and behind. But every multiply-add still asks shared memory for its pixel, and
the cache for its weight, and the tile is loaded again for each filter: what is saved is traffic that the L1 cache of
`direct` mostly catches as well. Source: Kirk and Hwu, Programming Massively Parallel Processors, convolution chapter;
the grid of filters and images as in the eunomia-bpf CUDA tutorial, whose kernel has no body and caps the batch.
"""

from __future__ import annotations

from math import prod

from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.filter_bank.cuda.block import BankConfiguration, Block, ending, placing, staging
from heatsim_kernels.field.filter_bank.cuda.patch import Patch, PatchWindow

PATCH = Patch(1, 1, 1)


def block(structure: BankConfiguration) -> Block:
    """A block's share."""
    width, height = (4, 4) if SIMULATED else (32, 8)
    share = Block(1, height, width, (width, height, 1), 0)
    return share._replace(elements=prod(share.tile_memory(structure)))


def build(structure: BankConfiguration):
    """The kernel of a structure: `kernel(images, filters, bias, out, sizes)`."""
    share, real = block(structure), getattr(types, structure.dtype)
    pitch, size = share.tile_memory(structure)[1], share.memory(structure)
    (height, width), (stride_y, stride_x) = structure.mask, structure.stride
    place, stage = placing(structure, share), staging(structure, share)
    _start, _add, finish = ending(structure, share, PATCH, PatchWindow(width, structure.stride, pitch, aligned=False))

    def shared(images, filters, bias, out, sizes):
        tile = cuda.shared.array(size, real)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        at, plane = place(sizes), uint64(sizes.ny) * uint64(sizes.nx)
        first = uint64(uint32(ty * uint32(stride_y * pitch) + tx * uint32(stride_x)))
        total, w = bias[at.filter], uint64(at.filter)
        for c in range(sizes.channels):
            stage(tile, images, (uint64(at.image) * uint64(sizes.channels) + uint64(c)) * plane, at, sizes)
            cuda.syncthreads()  # a thread reads the pixels around its own, which its neighbours have put there
            for ky in range(height):
                for kx in range(width):
                    total = fma(filters[w], tile[first + uint64(ky * pitch + kx)], total)
                    w = w + uint64(sizes.pitch)
            cuda.syncthreads()  # the next channel takes the same tile: all must have read this one
        finish((total,), tile, at, uint32(0), ty, tx, out, sizes)

    return shared
