"""`constant`: as `basic`, with the mask in constant memory.

1-D:

    c[3][ w w w w w ]                    all threads of a warp ask for the same weight at the same time, and the
          | | | | |                      constant cache hands it to all of them at once
    N   [ x x x x x ]   per thread

Only the elements come from global memory: 0.5 operations a byte in float32. Constant memory is filled when a kernel is
loaded, so there is a kernel for each mask (see `field_access`). Source: Kirk and Hwu, Programming Massively Parallel
Processors, convolution chapter (constant memory and caching).

2-D:

    c[3][ w w w ]            the constant cache hands a weight to all threads of a warp at once, so only elements come
        [ w w w ]            from global memory: 0.5 operations a byte in float32
        [ w w w ]

Source: Kirk and Hwu, Programming Massively Parallel
Processors, convolution chapter (constant memory and caching).
"""

from __future__ import annotations

from numba import int64, types, uint64

from heatsim_kernels.convolution.cuda.field_access import (
    ConvolutionVariant,
    MaskKernel,
    element,
    first_element,
    line_grid,
    line_of_thread,
    line_threads,
    plane_reader,
    reader,
    weights_of,
)
from heatsim_kernels.convolution.ladder.basic import BLOCK, plane_block, plane_grid
from heatsim_kernels.runtime.cuda.api import cuda
from heatsim_kernels.runtime.fma import fma


def build_lines(variant: ConvolutionVariant):
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


def build_planes(variant: ConvolutionVariant):
    """The kernel `constant(u, v, geometry)`; arrays are flat."""
    real, height, width = getattr(types, variant.dtype), variant.height, variant.width
    above, left = height // 2, width // 2
    read, (columns, rows) = plane_reader(variant.edge, real), BLOCK
    weight = weights_of(variant)

    def constant(u, v, geometry):
        x, y, z = first_element(geometry, columns, rows)
        x, y = x + int64(cuda.threadIdx.x), y + int64(cuda.threadIdx.y)
        if x < int64(geometry.nx) and y < int64(geometry.ny):
            total = real(0)
            for j in range(height):
                for k in range(width):
                    value = read(u, geometry, z, y + j - above, x + k - left)
                    total = fma(weight(j * width + k), value, total)
            v[uint64(element(geometry, z, y, x))] = total

    return constant


LINES = MaskKernel("compiled in", line_threads, line_grid, build_lines)
PLANES = MaskKernel("compiled in", plane_block, plane_grid, build_planes)
