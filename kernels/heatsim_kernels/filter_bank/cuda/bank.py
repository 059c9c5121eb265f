"""Filter banks, ReLU and max pooling on a CUDA device, for arrays that are there."""

from __future__ import annotations

from importlib import import_module
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from heatsim_kernels.filter_bank.cuda import pointwise
from heatsim_kernels.filter_bank.cuda.block import GROUP, BankConfiguration, Sizes
from heatsim_kernels.filter_bank.cuda.pointwise import THREADS, Extents
from heatsim_kernels.filter_bank.geometry import WHOLE, BankGeometry, Pair, Pool
from heatsim_kernels.runtime.cuda.arrays import Array, empty, on_device
from heatsim_kernels.runtime.cuda.launch import kernel
from heatsim_kernels.runtime.cuda.vector_access import CELLS


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
        return tuple((n - w) // s + 1 for n, w, s in zip(response, *self._pool, strict=True))


def movement(name: str) -> ModuleType:
    """The module of a kernel."""
    return import_module(f"heatsim_kernels.filter_bank.{'cuda' if name == 'register' else 'ladder'}.{name}")


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


def relu(values: Array) -> Array:
    """max(value, 0) of a flat array."""
    out = empty(values.shape, values.dtype)
    _launch(pointwise.build_relu, values.dtype.name, -(-out.shape[0] // CELLS), (values, out))
    return out


def max_pool(images: Array, planes: int, image: Pair, pool: Pool, extent: Pair) -> Array:
    """Maxima of the windows of flat (planes, y, x); `extent` is how many windows there are."""
    count = planes * prod(extent)
    out = empty(count, images.dtype)
    extents = Extents(*map(np.uint32, (*image, *extent)), np.uint64(count))
    _launch(pointwise.build_max_pool, pool, count, (images, out, extents))
    return out


def _launch(build: Any, variant: Any, count: int, args: tuple[Any, ...]) -> None:
    """So many threads."""
    kernel(build, variant, args)((-(-count // THREADS), 1, 1), (THREADS, 1, 1), args)
