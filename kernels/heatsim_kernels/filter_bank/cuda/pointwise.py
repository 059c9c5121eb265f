"""ReLU and max pooling on CUDA, as kernels of their own.

    relu        thread i:  out[4 i .. 4 i + 3] = max(x[...], 0)      8 bytes a value in float32, four at a time
    max_pool    thread i:  out[i] = the largest of its window        4 bytes a cell and 4 a result; windows that
                                                                     overlap share their cells in the caches

Blocks are numbered in one row, so that no array is too long for a launch. Behind a filter bank both cost nothing: there
they are applied before the response is written (see `cuda_block`).
"""

from __future__ import annotations

from typing import NamedTuple

from numba import types, uint32, uint64

from heatsim_kernels.filter_bank.geometry import Pool
from heatsim_kernels.filter_bank.pointwise import larger, rectified
from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.runtime.cuda.register_tuples import each
from heatsim_kernels.runtime.cuda.vector_access import CELLS, load4, store4

THREADS = 8 if SIMULATED else 256


class Extents(NamedTuple):
    """Rows and columns of the images and of the output, and results in all; uint32 but for the last, uint64."""

    ny: int
    nx: int
    rows: int
    columns: int
    count: int


def build_relu(dtype: str):
    """`kernel(x, out)` for flat arrays of a type that start on a 16-byte boundary, a thread for each CELLS values."""
    rectify, rectify_each, zero = inlined(rectified), each(rectified), getattr(types, dtype)

    def relu(x, out):
        i = (uint64(cuda.blockIdx.x) * uint64(THREADS) + uint64(cuda.threadIdx.x)) * uint64(CELLS)
        size = uint64(out.size)
        if i + uint64(CELLS) <= size:
            store4(out, i, rectify_each(load4(x, i), zero(0)))
        else:
            while i < size:
                out[i] = rectify(x[i], zero(0))
                i = i + uint64(1)

    return relu


def build_max_pool(pool: Pool):
    """`kernel(images, out, extents)` for flat arrays of (planes, y, x). A window is cut off where the image ends."""
    (wide_y, wide_x), (step_y, step_x) = pool
    pick = inlined(larger)

    def max_pool(images, out, extents):
        i = uint64(cuda.blockIdx.x) * uint64(THREADS) + uint64(cuda.threadIdx.x)
        if i < extents.count:
            columns, rows = uint64(extents.columns), uint64(extents.rows)
            line, x = uint64(i // columns), uint32(uint32(i % columns) * uint32(step_x))
            plane, y = uint64(line // rows), uint32(uint32(line % rows) * uint32(step_y))
            first = (plane * uint64(extents.ny) + uint64(y)) * uint64(extents.nx) + uint64(x)
            best = images[first]
            for right in range(min(uint32(wide_x), uint32(extents.nx - x))):
                for down in range(min(uint32(wide_y), uint32(extents.ny - y))):
                    best = pick(best, images[first + uint64(down) * uint64(extents.nx) + uint64(right)])
            out[i] = best

    return max_pool
