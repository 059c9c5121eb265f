"""CUDA: the values that the solver works on, their arithmetic, and how its kernels are launched.

Values are flat in memory and know their shape, as NumPy's arrays do on the host. Their sums, differences and products
are new values, one launch each; they serve the integrators, whose formulas then stand once for both devices. The
solver's own inner loops are kernels that do more at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numba import uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.launch import Triple, kernel
from heatsim_kernels.device.cuda.vector_access import constant
from heatsim_kernels.field.cuda.block_reduction import THREADS

MAX_BLOCKS = 2 if SIMULATED else 1056  # of a launch that goes over a field: a few for each multiprocessor
_loaded: dict[Hashable, Any] = {}


def launch(build: Callable[..., Any], variant: Hashable, grid: Triple, block: Triple, args: tuple[Any, ...]) -> None:
    """Launch the kernel `build(variant)`. The variant settles the types of the arguments too: they are looked at in the
    first launch alone, as that takes longer than a coarse level."""
    found = _loaded.get((build, variant))
    if found is None:
        found = _loaded[build, variant] = kernel(build, variant, args)
    found(grid, block, args)


def over_all(build: Callable[..., Any], variant: Hashable, items: int, args: tuple[Any, ...]) -> None:
    """Launch a kernel whose threads go over any number of items, see `first` and `stride`."""
    blocks = max(1, min(MAX_BLOCKS, -(-items // THREADS)))
    launch(build, variant, (blocks, 1, 1), (THREADS, 1, 1), args)


@cache
def _name(dtype: np.dtype) -> str:
    """Its name, which NumPy makes anew each time: in a good part of the time of a launch."""
    return dtype.name


class CudaValues:
    """Values of a grid: `flat`, an `Array` of one dimension, and its shape."""

    __array_ufunc__ = None  # NumPy's numbers leave arithmetic with these values to them
    __slots__ = ("counts", "dtype", "dtype_name", "flat", "shape")

    def __init__(self, shape: tuple[int, ...], flat: Array) -> None:
        self.shape, self.flat, self.dtype = tuple(shape), flat, flat.dtype
        self.counts = tuple(map(np.uint32, self.shape))  # as kernels are given it
        self.dtype_name = _name(self.dtype)

    @property
    def size(self) -> int:
        """Number of items."""
        return prod(self.shape)

    def host(self) -> np.ndarray:
        """A copy on the host."""
        return self.flat.host().reshape(self.shape)

    def fill(self, value: float) -> CudaValues:
        """Set all items to a number; returns the field."""
        over_all(build_fill, self.dtype_name, self.size, (self.flat, self.dtype.type(value)))
        return self

    def put(self, other: CudaValues) -> CudaValues:
        """Take over the values of another field, rounded to the type of this one; returns this one."""
        dtype_names = other.dtype_name, self.dtype_name
        over_all(build_copy, dtype_names, self.size, (other.flat, self.flat))
        return self

    def __add__(self, other: CudaValues | float) -> CudaValues:
        return _linear(1.0, self, 1.0, other) if isinstance(other, CudaValues) else _linear(1.0, self, other, None)

    __radd__ = __add__

    def __sub__(self, other: CudaValues | float) -> CudaValues:
        return _linear(1.0, self, -1.0, other) if isinstance(other, CudaValues) else _linear(1.0, self, -other, None)

    def __rsub__(self, other: float) -> CudaValues:
        return _linear(-1.0, self, other, None)

    def __mul__(self, other: CudaValues | float) -> CudaValues:
        if not isinstance(other, CudaValues):
            return _linear(other, self, 0.0, None)
        out = room(self.shape, np.float64)
        dtype_names = self.dtype_name, other.dtype_name
        over_all(build_product, dtype_names, self.size, (self.flat, other.flat, out.flat))
        return out

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> CudaValues:
        return self * (1.0 / other)


def _linear(a: float, x: CudaValues, b: float, y: CudaValues | None) -> CudaValues:
    """a x + b y, or a x + b; float64."""
    out = room(x.shape, np.float64)
    other = x if y is None else y
    args = (np.float64(a), x.flat, np.float64(b), other.flat, out.flat)
    over_all(build_linear, (y is not None, x.dtype_name, other.dtype_name), x.size, args)
    return out


def room(shape: tuple[int, ...], dtype: Any) -> CudaValues:
    """A field of whatever was there."""
    return CudaValues(shape, empty(prod(shape), dtype))


def sent(values: np.ndarray) -> CudaValues:
    """A copy of an array of the host."""
    return CudaValues(values.shape, on_device(values.reshape(-1)))


@inlined
def first():
    """The item that a thread begins with."""
    return uint64(cuda.blockIdx.x) * uint64(THREADS) + uint64(cuda.threadIdx.x)


@inlined
def stride():
    """From one item of a thread to the next."""
    return uint64(cuda.gridDim.x) * uint64(THREADS)


def build_fill(dtype_name):
    """The kernel `(out, value)`: out = value."""

    def fill(out, value):
        i, step = first(), stride()
        while i < uint64(out.size):
            out[i] = value
            i += step

    return fill


def build_copy(dtype_names):
    """The kernel `(source, out)`: out = source."""

    def copy(source, out):
        i, step = first(), stride()
        while i < uint64(out.size):
            out[i] = constant(source, i)
            i += step

    return copy


def build_linear(variant):
    """The kernel `(a, x, b, y, out)` in float64: out = a x + b y, or a x + b where there are not two fields."""
    two = variant[0]

    def linear(a, x, b, y, out):
        i, step = first(), stride()
        while i < uint64(out.size):
            out[i] = a * x[i] + b * y[i] if two else a * x[i] + b
            i += step

    return linear


def build_product(dtype_names):
    """The kernel `(x, y, out)` in float64: out = x y."""

    def product(x, y, out):
        i, step = first(), stride()
        while i < uint64(out.size):
            out[i] = x[i] * y[i]
            i += step

    return product
