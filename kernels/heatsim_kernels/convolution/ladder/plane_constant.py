"""`constant`, 2-D: as `basic`, with the mask in constant memory.

    c[3][ w w w ]            the constant cache hands a weight to all threads of a warp at once, so only elements come
        [ w w w ]            from global memory: 0.5 operations a byte in float32
        [ w w w ]

As in `line_constant`, a kernel is loaded with its mask. Source: Kirk and Hwu, Programming Massively Parallel
Processors, convolution chapter (constant memory and caching).
"""

from __future__ import annotations

from numba import int64, types, uint64

from heatsim_kernels.convolution.cuda.field_access import (
    ConvolutionVariant,
    element,
    first_element,
    plane_reader,
    weights_of,
)
from heatsim_kernels.convolution.ladder.plane_basic import BLOCK, block, grid
from heatsim_kernels.runtime.cuda.api import cuda
from heatsim_kernels.runtime.fma import fma

MASK = "compiled in"
__all__ = ["BLOCK", "MASK", "block", "build", "grid"]


def build(variant: ConvolutionVariant):
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
