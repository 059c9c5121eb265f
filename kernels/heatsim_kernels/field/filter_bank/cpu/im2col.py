"""`im2col` on the CPU: patches written out as the columns of a matrix, then one matrix product by NumPy's BLAS.

    filters (k, depth)  x  patches (depth, pixels)  =  response (k, pixels)      depth = (c, ky, kx)

The patches are mask area times as large as the image; they are made for a band of rows at a time, so that they stay in
the cache or near it. A BLAS sums in an order of its own, so this kernel alone does not give the bits of the others: it
stays within about depth / 2 rounding units of the sum of magnitudes. Source: Chellapilla, Puri and Simard, High
performance convolutional neural networks for document processing, 2006.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import parallel_jit
from heatsim_kernels.device.cpu.pointers import pointer
from heatsim_kernels.field.filter_bank.cpu.strips import Strips, finish_row
from heatsim_kernels.field.filter_bank.geometry import BankGeometry

PATCHES = 8 * 2**20  # bytes of a band's patches, about


def run(images: np.ndarray, filters: np.ndarray, bias: np.ndarray, shape: BankGeometry, relu: bool) -> np.ndarray:
    """The bank's output; arrays are contiguous and of one type."""
    matrix, start = filters.reshape(shape.filters, -1), bias[:, None]
    out = np.empty((shape.batch, shape.filters, *shape.output), images.dtype)
    height = _band(shape, images.itemsize)
    strips = Strips.of(shape, shape.filters, shape.response[1], images.itemsize, relu)
    (window, _), (step, _) = shape.pool
    margins = ((0, 0), *((p, p) for p in shape.padding))
    for image, target in zip(images, out, strict=True):
        taps = np.lib.stride_tricks.sliding_window_view(np.pad(image, margins), shape.mask, axis=(1, 2))
        taps = taps[:, :: shape.stride[0], :: shape.stride[1]].transpose(0, 3, 4, 1, 2)
        for first in range(0, shape.output[0], height):
            last = min(first + height, shape.output[0])
            rows = slice(first * step, (last - 1) * step + window)
            response = matrix @ taps[..., rows, :].reshape(shape.depth, -1) + start
            _finish(response.reshape(shape.filters, -1, shape.response[1]), target[:, first:last], strips)
    return out


def _band(shape: BankGeometry, itemsize: int) -> int:
    """Output rows of a band."""
    (window, _), (step, _) = shape.pool
    rows = PATCHES // (shape.depth * shape.response[1] * itemsize)
    return max(1, (rows - window) // step + 1)


@parallel_jit
def _finish(response, out, strips):
    zero, columns = response.dtype.type(0), response.shape[2]
    for k in prange(len(out)):
        line = np.empty(columns, response.dtype)
        for y in range(out.shape[1]):
            source = pointer(response[k, y * strips.step_y])
            finish_row(pointer(out[k, y]), source, columns, pointer(line), strips, zero)
