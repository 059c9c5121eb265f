"""`direct` on the CPU: one filter, one row of pixels; every tap goes over the row once.

    for c, ky, kx:  w = weight[k, c, ky, kx]
        row   s s s s s s s s ...    s += w i, vectorised along the row; the sums stay in the L1 cache,
        image i i i i i i i i ...    and go from there to a register and back for every tap

Two loads and a store for each multiply-add, so the load and store units set its pace, not arithmetic. Strips of rows
are shared out among the threads.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, prange

from heatsim_kernels.device.cpu.compilation import parallel_jit
from heatsim_kernels.device.cpu.pointers import padded, pointer, shifted
from heatsim_kernels.device.cpu.threads import limited
from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.filter_bank.cpu.register import lanes
from heatsim_kernels.field.filter_bank.cpu.strips import Strips, finish_row, laid_out, layout_of, workers
from heatsim_kernels.field.filter_bank.geometry import BankGeometry


def run(images: np.ndarray, filters: np.ndarray, bias: np.ndarray, shape: BankGeometry, relu: bool) -> np.ndarray:
    """The bank's output; arrays are contiguous and of one type."""
    layout = layout_of(shape, lanes(images.itemsize))
    strips = Strips.of(shape, 1, layout.columns, images.itemsize, relu)
    count = workers(shape, get_num_threads())
    scratch = padded(count * (strips.scratch_rows + 1) * layout.columns, images.dtype).reshape(count, -1)
    out = np.empty((shape.batch, shape.filters, *shape.output), images.dtype)
    with limited(count):
        copy = laid_out(images, shape, layout)
        _respond(copy, filters.reshape(shape.filters, -1), bias, out, layout, strips, strips.in_an_image, scratch)
    return out


@parallel_jit
def _respond(copy, filters, bias, out, layout, strips, each, scratch):
    zero = copy.dtype.type(0)
    for worker in prange(scratch.shape[0]):
        for task in range(worker, strips.batch * strips.filters * each, scratch.shape[0]):
            plane, first = task // each, task % each * strips.height
            image, k = plane // strips.filters, plane % strips.filters
            last = min(first + strips.height, strips.out_rows)
            response, line = pointer(scratch[worker]), layout.columns
            top = first * strips.step_y
            for row in range(top, (last - 1) * strips.step_y + strips.window_y):
                start = shifted(pointer(copy), image * layout.image + row * layout.row)
                target = shifted(response, (row - top + 1) * line)
                for x in range(layout.columns):
                    target[x] = bias[k]
                for t in range(layout.offsets.size):
                    weight, pixels = filters[k, t], shifted(start, layout.offsets[t])
                    for x in range(layout.columns):
                        target[x] = fma(weight, pixels[x], target[x])
            for y in range(first, last):
                source = shifted(response, (1 + (y - first) * strips.step_y) * line)
                finish_row(pointer(out[image, k, y]), source, line, response, strips, zero)
