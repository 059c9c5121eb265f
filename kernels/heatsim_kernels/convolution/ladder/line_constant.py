"""`constant`, 1-D: as `basic`, with the mask in constant memory.

    c[3][ w w w w w ]                    all threads of a warp ask for the same weight at the same time, and the
          | | | | |                      constant cache hands it to all of them at once
    N   [ x x x x x ]   per thread

Only the elements come from global memory: 0.5 operations a byte in float32. Constant memory is filled when a kernel is
loaded, so there is a kernel for each mask (see `cuda_constant`). Source: Kirk and Hwu, Programming Massively Parallel
Processors, convolution chapter (constant memory and caching).
"""

from __future__ import annotations

from numba import types, uint64

from heatsim_kernels.convolution.cuda.field_access import (
    ConvolutionVariant,
    line_grid,
    line_of_thread,
    line_threads,
    reader,
    weights_of,
)
from heatsim_kernels.runtime.fma import fma

MASK = "compiled in"
block, grid = line_threads, line_grid


def build(variant: ConvolutionVariant):
    """The kernel `constant(u, v, geometry)`; arrays are flat."""
    real, half, width = getattr(types, variant.dtype), variant.width // 2, variant.width
    read, place = reader(variant.edge, real), line_of_thread(variant)
    weight = weights_of(variant)

    def constant(u, v, geometry):
        start, stride, n, i, exists = place(geometry)
        if exists:
            total = real(0)
            for k in range(width):
                total = fma(weight(k), read(u, start, stride, i + k - half, n), total)
            v[uint64(start + i * stride)] = total

    return constant
