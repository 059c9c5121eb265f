"""Filter banks, ReLU and max pooling on a CUDA device, for arrays that are there.

ReLU and max pooling as kernels of their own:

    relu        thread i:  out[4 i .. 4 i + 3] = max(x[...], 0)      8 bytes a value in float32, four at a time
    max_pool    thread i:  out[i] = the largest of its window        4 bytes a cell and 4 a result; windows that
                                                                     overlap share their cells in the caches

Blocks are numbered in one row, so that no array is too long for a launch. Behind a filter bank both cost nothing: there
they are applied before the response is written (see `block`).
"""

from __future__ import annotations

from importlib import import_module
from math import prod
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.device.cuda.register_tuples import each
from heatsim_kernels.device.cuda.vector_access import CELLS, load4, store4
from heatsim_kernels.field.filter_bank.cuda.block import GROUP, BankConfiguration, Count, Sizes
from heatsim_kernels.field.filter_bank.geometry import WHOLE, BankGeometry, Pair, Pool
from heatsim_kernels.field.filter_bank.pointwise import larger, rectified

THREADS = 8 if SIMULATED else 256


class CudaFilterBank:
    """Filters on the GPU, ready for images of one shape; `respond` launches and does not wait."""

    def __init__(self, filters: np.ndarray, bias: np.ndarray, shape: BankGeometry, relu: bool, name: str) -> None:
        module = movement(name)
        structure = BankConfiguration.of(shape, filters.dtype.name, relu)
        self._pool = Pool((1, 1), (1, 1))
        if not module.block(structure).fits(structure) and shape.pool != WHOLE:
            # The pooling window is larger than a block's tile: pooled in a second pass.
            self._pool, shape = shape.pool, shape._replace(pool=WHOLE, output=shape.response)
            structure = structure._replace(pool=WHOLE)
        self.shape, self._block = shape, module.block(structure)
        if not self._block.fits(structure):
            raise ValueError(f"a mask of {shape.mask[0]} x {shape.mask[1]} does not fit the shared memory of kernel "
                             f"{name!r}; 'direct' takes any")  # fmt: skip
        self._filters, self._bias = on_device(arranged(filters)), on_device(filled(bias))
        self._sizes = Sizes(*map(np.uint32, Sizes.of(shape)))
        flat = self._filters  # stands for all arrays: they are of one type
        args = flat, flat, flat, flat, self._sizes
        self.kernel = kernel(module.build, structure, args, self._block.bounds(structure))

    def respond(self, images: Array, out: Array | None = None) -> Array:
        """The output (batch, filters, y, x), flat, for flat images; `out` spares the allocation of the kernel's own."""
        shape = self.shape
        if out is None:
            out = empty(shape.batch * shape.filters * prod(shape.output), images.dtype)
        args = images, self._filters, self._bias, out, self._sizes
        self.kernel((self._block.count(shape), 1, 1), self._block.threads, args)
        if self._pool == WHOLE:
            return out
        return max_pool(out, shape.batch * shape.filters, shape.output, self._pool, self.output)

    @property
    def output(self) -> Pair:
        """Rows and columns of the output."""
        response = self.shape.output
        rows, columns = ((n - w) // s + 1 for n, w, s in zip(response, *self._pool, strict=True))
        return rows, columns


def movement(name: str) -> ModuleType:
    """The module of a kernel."""
    return import_module(f"heatsim_kernels.field.filter_bank.{'cuda' if name == 'register' else 'ladder'}.{name}")


def fits(shape: BankGeometry, dtype: Any, name: str) -> bool:
    """Whether a kernel's tile for this bank, pooling aside, fits shared memory."""
    structure = BankConfiguration.of(shape._replace(pool=WHOLE), np.dtype(dtype).name, relu=False)
    return bool(movement(name).block(structure).fits(structure))


def arranged(filters: np.ndarray) -> np.ndarray:
    """Filters (k, c, y, x) as (c, y, x, k), flat, k filled up to a multiple of GROUP with zeros."""
    spare = -len(filters) % GROUP
    return np.pad(filters.reshape(len(filters), -1).T, ((0, 0), (0, spare))).reshape(-1)


def filled(bias: np.ndarray) -> np.ndarray:
    """The bias, filled up as the filters are."""
    return np.pad(bias, (0, -len(bias) % GROUP))


class Extents(NamedTuple):
    """Rows and columns of the images and of the output, and results in all; uint32 but for the last, uint64."""

    ny: Count
    nx: Count
    rows: Count
    columns: Count
    results: Count


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
        if i < extents.results:
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


def relu(values: Array) -> Array:
    """max(value, 0) of a flat array."""
    out = empty(values.shape, values.dtype)
    _launch(build_relu, values.dtype.name, -(-out.shape[0] // CELLS), (values, out))
    return out


def max_pool(images: Array, planes: int, image: Pair, pool: Pool, extent: Pair) -> Array:
    """Maxima of the windows of flat (planes, y, x); `extent` is how many windows there are."""
    count = planes * prod(extent)
    out = empty(count, images.dtype)
    ny, nx, rows, columns = map(np.uint32, (*image, *extent))
    extents = Extents(ny, nx, rows, columns, np.uint64(count))
    _launch(build_max_pool, pool, count, (images, out, extents))
    return out


def _launch(build: Any, variant: Any, count: int, args: tuple[Any, ...]) -> None:
    """So many threads."""
    kernel(build, variant, args)((-(-count // THREADS), 1, 1), (THREADS, 1, 1), args)
