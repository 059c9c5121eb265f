"""`basic`: one thread a result, mask in global memory.

1-D:

    N   | . . [ x x x x x ] . . . |      thread i reads the mask and the elements under it from global memory, those
    M         [ w w w w w ]              beyond the ends as the edge has it, and writes one result
    P   | . .     . o .     . . . |

A multiply-add for every two values asked of the caches: 0.25 operations a byte in float32. A block of B threads asks
for B (2n+1) elements, n(n+1)/2 fewer at an end of the line. Source: Kirk and Hwu, Programming Massively Parallel
Processors, convolution chapter (1-D convolution, a basic algorithm).

2-D:

    N   . . . . . . .        thread (x, y) reads the mask and the elements under it from global memory, those beyond
        . [x x x] . .        the plane as the edge has it, and writes one result
        . [x o x] . .
        . [x x x] . .        A multiply-add for every two values asked of the caches: 0.25 operations a byte in float32

Rows may be padded (pitch), and several channels interleave in a pixel: they are planes whose elements lie as many apart
as there are channels. Source: Kirk and Hwu, Programming Massively Parallel Processors, convolution chapter (2-D).
"""

from __future__ import annotations

from numba import types, uint64

from heatsim_kernels.device.cuda.api import SIMULATED
from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.convolution.cuda import field_access
from heatsim_kernels.field.convolution.cuda.field_access import ConvolutionVariant, MaskKernel

BLOCK = (4, 2) if SIMULATED else (32, 8)


def build_lines(variant: ConvolutionVariant):
    """The kernel `basic(u, v, geometry, mask)`; all arrays are flat."""
    real, half, width = getattr(types, variant.dtype), variant.width // 2, variant.width
    read, place = field_access.reader(variant.edge, real), field_access.line_of_thread(variant)

    def basic(u, v, geometry, mask):
        start, stride, n, i, exists = place(geometry)
        if exists:
            total = real(0)
            for k in range(width):
                total = fma(mask[uint64(k)], read(u, start, stride, i + k - half, n), total)
            v[uint64(start + i * stride)] = total

    return basic


def build_planes(variant: ConvolutionVariant):
    """The kernel `basic(u, v, geometry, mask)`; all arrays are flat."""
    real, height, width = getattr(types, variant.dtype), variant.height, variant.width
    above, left = height // 2, width // 2
    read, place = field_access.plane_reader(variant.edge, real), field_access.result_of_thread(*BLOCK)

    def basic(u, v, geometry, mask):
        x, y, z, exists = place(geometry)
        if exists:
            total = real(0)
            for j in range(height):
                for k in range(width):
                    value = read(u, geometry, z, y + j - above, x + k - left)
                    total = fma(mask[uint64(j * width + k)], value, total)
            v[uint64(field_access.element(geometry, z, y, x))] = total

    return basic


LINES = MaskKernel("argument", field_access.line_threads, field_access.line_grid, build_lines)
PLANES = MaskKernel("argument", *field_access.launch_of_results(*BLOCK), build_planes)
