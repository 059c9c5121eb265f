"""CUDA: a field made small before it crosses the bus: parts of it gathered, or the whole rounded."""

from __future__ import annotations

import numpy as np
from numba import int64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.launch import kernel

THREADS = 4 if SIMULATED else 128  # a block


def build_cells(variant):
    """The kernel `(u, indices, out)`: out[i] = u[indices[i]]."""

    def cells(u, indices, out):
        i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        if i < out.size:
            out[i] = u[indices[i]]

    return cells


def read_cells(values: Array, indices: np.ndarray) -> np.ndarray:
    """The values of some cells, by flat index; any shape. Waits for the device."""
    if not indices.size:
        return np.empty(indices.shape, values.dtype)
    found = gathered(values, on_device(np.asarray(indices, np.int64).reshape(-1)))
    return np.asarray(found.host().reshape(indices.shape))


def gathered(values: Array, indices: Array) -> Array:
    """The values of some cells, by flat index (m,) int64."""
    out = empty(indices.shape[0], values.dtype)
    args = (values, indices, out)
    kernel(build_cells, None, args)(grid(indices.shape[0]), (THREADS, 1, 1), args)
    return out


def build_plane(variant):
    """The kernel `(u, first, columns, row_stride, column_stride, out)`: a plane of rows of `columns` cells, flat."""

    def plane(u, first, columns, row_stride, column_stride, out):
        i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        if i < out.size:
            out[i] = u[first + i // columns * row_stride + i % columns * column_stride]

    return plane


def build_rounded(variant):
    """The kernel `(u, out)`: out[i] = u[i], rounded to the type of `out`."""

    def rounded(u, out):
        i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        if i < out.size:
            out[i] = u[i]

    return rounded


def grid(items: int) -> tuple[int, int, int]:
    """Blocks for that many items."""
    return -(-items // THREADS), 1, 1
