"""`direct`: one thread an output pixel; every tap asks global memory for a pixel and a weight.

    thread (x, y) of filter k           for c, ky, kx:
      + - - - +                           s += weight[k, c, ky, kx] image[c, y + ky, x + kx]
      | i i i |  * w w w
      | i i i |    w w w   ->  o        a pixel outside the image is zero, tested for at every tap;
      | i i i |    w w w                neighbouring threads share pixels through the caches alone

Two operations for two elements asked of the caches, 0.25 operations a byte in float32 whatever the mask, so the load
units set its pace; device memory gives each pixel once, if the cache keeps it for the next filters. No tile, hence no
limit on masks, strides and pooling windows: a thread computes all pixels of its window and keeps the largest, which
overlapping windows compute again. Source: the definition; see also Chetlur et al., cuDNN: efficient primitives for deep
learning, 2014, section 3.
"""

from __future__ import annotations

from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.filter_bank.cuda.block import BankConfiguration, Block, placing
from heatsim_kernels.field.filter_bank.pointwise import larger, rectified


def block(structure: BankConfiguration) -> Block:
    """A block's share, with no tile: the part of the response under its threads, each of which has an output pixel."""
    width, height = (4, 2) if SIMULATED else (32, 8)
    extents = zip((height, width), *structure.pool, strict=True)
    rows, columns = ((n - 1) * step + window for n, window, step in extents)
    return Block(1, rows, columns, (width, height, 1), 0)


def build(structure: BankConfiguration):
    """The kernel of a structure: `kernel(images, filters, bias, out, sizes)`."""
    place = placing(structure, block(structure))
    respond, relu, real = _response(structure), structure.relu, getattr(types, structure.dtype)
    (wide_y, wide_x), (step_y, step_x) = structure.pool
    rectify, pick = inlined(rectified), inlined(larger)

    def direct(images, filters, bias, out, sizes):
        at = place(sizes)
        y, x = uint32(at.y + cuda.threadIdx.y), uint32(at.x + cuda.threadIdx.x)
        if y < sizes.out_rows and x < sizes.out_columns:
            first_y, first_x = uint32(y * uint32(step_y)), uint32(x * uint32(step_x))
            best = respond(images, filters, bias, at, first_y, first_x, sizes)
            for number in range(1, wide_y * wide_x):
                right, down = uint32(number // wide_y), uint32(number % wide_y)
                value = respond(images, filters, bias, at, uint32(first_y + down), uint32(first_x + right), sizes)
                best = pick(best, value)
            line = (uint64(at.image) * uint64(sizes.filters) + uint64(at.filter)) * uint64(sizes.out_rows) + uint64(y)
            out[line * uint64(sizes.out_columns) + uint64(x)] = rectify(best, real(0)) if relu else best

    return direct


def _response(structure):
    """The response of a filter at a pixel."""
    (height, width), (stride_y, stride_x) = structure.mask, structure.stride
    real = getattr(types, structure.dtype)

    @inlined
    def respond(images, filters, bias, at, row, column, sizes):
        total, w = bias[at.filter], uint64(at.filter)
        plane = uint64(sizes.ny) * uint64(sizes.nx)
        start = uint64(at.image) * uint64(sizes.channels) * plane
        first_y = uint32(row * uint32(stride_y) - sizes.padding_y)
        first_x = uint32(column * uint32(stride_x) - sizes.padding_x)
        for _ in range(sizes.channels):
            for ky in range(height):
                y = uint32(first_y + uint32(ky))
                for kx in range(width):
                    x = uint32(first_x + uint32(kx))
                    inside = y < sizes.ny and x < sizes.nx
                    value = images[start + uint64(uint32(y * sizes.nx + x))] if inside else real(0)
                    total = fma(filters[w], value, total)
                    w = w + uint64(sizes.pitch)
            start = start + plane
        return total

    return respond
