"""`register` on the CPU: up to 8 filters x 3 vectors of pixels at once, all sums in registers; see `cpu_patch`.

    filters of a patch    8 | 8 | 4 | 1        29 filters are taken as 8, 8, 8, 4 and 1
    pixels of a row       48 | 48 | ... | 16   float32 with AVX-512: 3 vectors at a time, then one

A strip is some output rows of a patch's filters; strips are shared out among the threads. A multiply-add takes about
half a load, so arithmetic sets the pace; the response goes to scratch in the L2 cache once and from there, through ReLU
and pooling, to memory.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, prange

from heatsim_kernels.bank.cpu_patch import FILTERS, VECTORS, lanes, respond
from heatsim_kernels.bank.cpu_strips import Strips, finish_row, laid_out, layout_of, workers
from heatsim_kernels.bank.geometry import Geometry
from heatsim_kernels.cpu_jit import jit, parallel_jit
from heatsim_kernels.cpu_memory import padded, pointer, shifted, widest_vectors
from heatsim_kernels.cpu_threads import limited


def run(images: np.ndarray, filters: np.ndarray, bias: np.ndarray, shape: Geometry, relu: bool) -> np.ndarray:
    """The bank's output; arrays are contiguous and of one type."""
    vector = lanes(images.itemsize)
    layout = layout_of(shape, vector)
    groups = _groups(shape.filters)
    strips = Strips.of(shape, int(groups[0, 1]), layout.columns, images.itemsize, relu)
    count = workers(shape, get_num_threads())
    plane = strips.scratch_rows * layout.columns
    scratch = padded(count * (FILTERS * plane + layout.columns), images.dtype).reshape(count, -1)
    out = np.empty((shape.batch, shape.filters, *shape.output), images.dtype)
    weights = _by_group(filters.reshape(shape.filters, -1), groups)
    with limited(count):
        copy = laid_out(images, shape, layout)
        _respond(copy, weights, bias, out, layout, strips, strips.in_an_image, groups, plane, vector, scratch)
    return out


def _groups(filters: int) -> np.ndarray:
    """(groups, 2): first filter and number of filters of each patch, the largest powers of two first."""
    found, first = [], 0
    while first < filters:
        size = min(FILTERS, 1 << ((filters - first).bit_length() - 1))
        found.append((first, size))
        first += size
    return np.array(found, np.int64)


def _by_group(filters: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Weights in the order that they are read: group, tap, filter of the group."""
    return np.concatenate([filters[first : first + size].T.reshape(-1) for first, size in groups])


@parallel_jit
def _respond(copy, weights, bias, out, layout, strips, each, groups, plane, vector, scratch):
    widest_vectors()
    zero, line = copy.dtype.type(0), layout.columns
    for worker in prange(scratch.shape[0]):
        for task in range(worker, strips.batch * each * len(groups), scratch.shape[0]):
            strip, group = task // len(groups), groups[task % len(groups)]
            image, first = strip // each, strip % each * strips.height
            last, top = min(first + strips.height, strips.out_rows), first * strips.step_y
            response = shifted(pointer(scratch[worker]), line)
            factors, start = shifted(pointer(weights), group[0] * layout.offsets.size), shifted(pointer(bias), group[0])
            for row in range(top, (last - 1) * strips.step_y + strips.window_y):
                pixels = shifted(pointer(copy), image * layout.image + row * layout.row)
                target = shifted(response, (row - top) * line)
                _row(target, plane, pixels, pointer(layout.offsets), factors, start, layout.offsets.size, group[1],
                     vector, line)  # fmt: skip
            for k in range(group[1]):
                for y in range(first, last):
                    source = shifted(response, k * plane + (y - first) * strips.step_y * line)
                    target = pointer(out[image, group[0] + k, y])
                    finish_row(target, source, line, pointer(scratch[worker]), strips, zero)


@jit
def _row(target, plane, pixels, offsets, weights, bias, depth, filters, vector, columns):
    """A row of pixels for a group of filters."""
    widest_vectors()
    x = 0
    while x < columns:
        wide = x + VECTORS * vector <= columns
        t, p = shifted(target, x), shifted(pixels, x)
        if wide and filters == 8:
            respond(t, plane, p, offsets, weights, bias, depth, 8, VECTORS)
        elif wide and filters == 4:
            respond(t, plane, p, offsets, weights, bias, depth, 4, VECTORS)
        elif wide and filters == 2:
            respond(t, plane, p, offsets, weights, bias, depth, 2, VECTORS)
        elif wide:
            respond(t, plane, p, offsets, weights, bias, depth, 1, VECTORS)
        elif filters == 8:
            respond(t, plane, p, offsets, weights, bias, depth, 8, 1)
        elif filters == 4:
            respond(t, plane, p, offsets, weights, bias, depth, 4, 1)
        elif filters == 2:
            respond(t, plane, p, offsets, weights, bias, depth, 2, 1)
        else:
            respond(t, plane, p, offsets, weights, bias, depth, 1, 1)
        x += VECTORS * vector if wide else vector
