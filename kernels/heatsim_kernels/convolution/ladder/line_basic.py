"""`basic`, 1-D: one thread a result, mask in global memory.

    N   | . . [ x x x x x ] . . . |      thread i reads the mask and the elements under it from global memory, those
    M         [ w w w w w ]              beyond the ends as the edge has it, and writes one result
    P   | . .     . o .     . . . |

A multiply-add for every two values asked of the caches: 0.25 operations a byte in float32. A block of B threads asks
for B (2n+1) elements, n(n+1)/2 fewer at an end of the line. Source: Kirk and Hwu, Programming Massively Parallel
Processors, convolution chapter (1-D convolution, a basic algorithm).
"""

from __future__ import annotations

from numba import types, uint64

from heatsim_kernels.convolution.cuda.field_access import (
    ConvolutionVariant,
    line_grid,
    line_of_thread,
    line_threads,
    reader,
)
from heatsim_kernels.runtime.fma import fma

MASK = "argument"
block, grid = line_threads, line_grid


def build(variant: ConvolutionVariant):
    """The kernel `basic(u, v, geometry, mask)`; all arrays are flat."""
    real, half, width = getattr(types, variant.dtype), variant.width // 2, variant.width
    read, place = reader(variant.edge, real), line_of_thread(variant)

    def basic(u, v, geometry, mask):
        start, stride, n, i, exists = place(geometry)
        if exists:
            total = real(0)
            for k in range(width):
                total = fma(mask[uint64(k)], read(u, start, stride, i + k - half, n), total)
            v[uint64(start + i * stride)] = total

    return basic
