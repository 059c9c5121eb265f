"""ReLU and max pooling on the CPU, as kernels of their own: rows shared out among the threads.

    window 3 x 3, stride 2     first down:  a row of column maxima, vectorised      then along: 3 of them a result
    a a a . . . .              a             m m m m m m m                           o o o
    a a a . . . .              a
    a a a . . . .              a

A result costs rows + columns of its window over the stride, not their product. Each value comes from memory once; 4
bytes read for each cell and 4 written for each result, in float32.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, prange

from heatsim_kernels.bank.cpu_strips import copy_row, pool_row
from heatsim_kernels.bank.geometry import Pair, Pool
from heatsim_kernels.cpu_jit import parallel_jit
from heatsim_kernels.cpu_memory import pointer, shifted
from heatsim_kernels.cpu_threads import limited, threads_for

PIECE = 16384  # elements of a ReLU that a thread takes at once


def relu(values: np.ndarray) -> np.ndarray:
    """max(value, 0) of a contiguous array."""
    out = np.empty_like(values)
    with limited(threads_for(values.size)):
        _relu(values.reshape(-1), out.reshape(-1))
    return out


def max_pool(images: np.ndarray, pool: Pool, extent: Pair) -> np.ndarray:
    """Maxima of the windows of contiguous (planes, y, x); `extent` is how many windows there are."""
    out = np.empty((len(images), *extent), images.dtype)
    count = min(get_num_threads(), threads_for(images.size))
    lines = np.empty((count, images.shape[2]), images.dtype)
    with limited(count):
        _max_pool(images, out, *pool.window, *pool.step, lines)
    return out


@parallel_jit
def _relu(values, out):
    zero = values.dtype.type(0)
    for piece in prange(-(-values.size // PIECE)):
        first = piece * PIECE
        count = min(PIECE, values.size - first)
        copy_row(shifted(pointer(out), first), shifted(pointer(values), first), count, True, zero)


@parallel_jit
def _max_pool(images, out, window_y, window_x, step_y, step_x, lines):
    planes, rows, columns = out.shape
    for worker in prange(len(lines)):
        for number in range(worker, planes * rows, len(lines)):
            plane, y = number // rows, number % rows
            first = y * step_y
            height = min(window_y, images.shape[1] - first)
            pool_row(pointer(out[plane, y]), pointer(images[plane, first]), images.shape[2], pointer(lines[worker]),
                     height, images.shape[2], window_x, step_x, columns)  # fmt: skip
