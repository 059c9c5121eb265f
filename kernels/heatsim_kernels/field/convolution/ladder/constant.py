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

from numba import types, uint64

from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.convolution.cuda import field_access
from heatsim_kernels.field.convolution.cuda.field_access import ConvolutionVariant, MaskKernel
from heatsim_kernels.field.convolution.ladder.basic import BLOCK


def build_lines(variant: ConvolutionVariant):
    """The kernel `constant(u, v, geometry)`; arrays are flat."""
    real, half, width = getattr(types, variant.dtype), variant.width // 2, variant.width
    read, place = field_access.reader(variant.edge, real), field_access.line_of_thread(variant)
    weight = field_access.weights_of(variant)

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
    read, place = field_access.plane_reader(variant.edge, real), field_access.result_of_thread(*BLOCK)
    weight = field_access.weights_of(variant)

    def constant(u, v, geometry):
        x, y, z, exists = place(geometry)
        if exists:
            total = real(0)
            for j in range(height):
                for k in range(width):
                    total = fma(weight(j * width + k), read(u, geometry, z, y + j - above, x + k - left), total)
            v[uint64(field_access.element(geometry, z, y, x))] = total

    return constant


LINES = MaskKernel("compiled in", field_access.line_threads, field_access.line_grid, build_lines)
PLANES = MaskKernel("compiled in", *field_access.launch_of_results(*BLOCK), build_planes)
