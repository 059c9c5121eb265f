"""CUDA: the passes of conjugate gradients over whole fields, and what is summed over them.

    thread t of all T     t   t+T   t+2T ...    added in this order, float64
    block                 pairwise, in shared memory
    all blocks            one by one, by a last block of one thread's worth of sums

No atomics, so the same fields give the same bits. Bytes a cell: `step` 52, `dots` 20, `direction` 20, `dot` 16.
"""

from __future__ import annotations

from functools import cache
from math import isfinite, nan

import numpy as np
from numba import float64, uint64

from heatsim_kernels.device.cuda.api import cuda, inlined
from heatsim_kernels.device.cuda.arrays import Array, empty
from heatsim_kernels.device.cuda.vector_access import constant
from heatsim_kernels.field.cuda.block_reduction import THREADS, block_reduction, block_sum
from heatsim_kernels.solver.cuda.values import MAX_BLOCKS, CudaValues, first, launch, over_all, stride

block_largest = block_reduction(lambda a, b: max(a, b))


@inlined
def store_sum(sums, value):
    """Put the sum of the threads' values in a block into `sums`, (blocks, 1)."""
    total = block_sum(value)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x, 0] = total


@inlined
def store_of_block(sums, first, second, third):
    """Put three numbers of a block into `sums`, (blocks, 3)."""
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x, 0] = first
        sums[cuda.blockIdx.x, 1] = second
        sums[cuda.blockIdx.x, 2] = third


def build_dot(dtype_names):
    """The kernel `(x, y, sums)`: sums (blocks, 1) of x y."""

    def dot(x, y, sums):
        total = float64(0.0)
        i, step = first(), stride()
        while i < uint64(x.size):
            total += float64(x[i]) * float64(y[i])
            i += step
        store_sum(sums, total)

    return dot


def build_step(variant):
    """The kernel `(alpha, scale, p, q, x, r, b, sums)`: x += alpha p, r -= alpha q, b = scale r; sums of r r."""

    def step(alpha, scale, p, q, x, r, b, sums):
        total = float64(0.0)
        i, apart = first(), stride()
        while i < uint64(x.size):
            value = r[i] - alpha * constant(q, i)
            x[i] = x[i] + alpha * constant(p, i)
            r[i] = value
            b[i] = value * scale
            total += value * value
            i += apart
        store_sum(sums, total)

    return step


def build_dots(variant):
    """The kernel `(z, r, q, sums)`: sums (blocks, 3) of z r and z q, and the largest |z|."""

    def dots(z, r, q, sums):
        zr, zq, largest = float64(0.0), float64(0.0), float64(0.0)
        i, step = first(), stride()
        while i < uint64(r.size):
            value = float64(z[i])
            zr += value * r[i]
            zq += value * q[i]
            largest = max(largest, abs(value))
            i += step
        store_of_block(sums, block_sum(zr), block_sum(zq), block_largest(largest))

    return dots


def build_range(variant):
    """The kernel `(x, chosen, sums)`: sums (blocks, 3) of x, the largest -x and the largest x; of the cells that are
    chosen if that is the variant."""
    some = variant[0]

    def range_(x, chosen, sums):
        total, low, high = float64(0.0), float64(-np.inf), float64(-np.inf)
        i, step = first(), stride()
        while i < uint64(x.size):
            if not some or chosen[i] != 0:
                value = float64(x[i])
                total += value
                low, high = max(low, -value), max(high, value)
            i += step
        store_of_block(sums, block_sum(total), block_largest(low), block_largest(high))

    return range_


def build_direction(variant):
    """The kernel `(z, beta, unit, p)`: p = unit z + beta p."""

    def direction(z, beta, unit, p):
        i, step = first(), stride()
        while i < uint64(p.size):
            p[i] = float64(constant(z, i)) * unit + beta * p[i]
            i += step

    return direction


def build_accumulate(add):
    """The kernel `(x, factor, total)`: total = factor x, or added to it."""

    def accumulate(x, factor, total):
        i, step = first(), stride()
        while i < uint64(total.size):
            value = factor * constant(x, i)
            total[i] = total[i] + value if add else value
            i += step

    return accumulate


def build_product(variant):
    """The kernel `(matrix, b, out)` of a small dense matrix (n, n) float64, flat: out = matrix b, a row a block."""

    def product(matrix, b, out):
        row, n, j = uint64(cuda.blockIdx.x), uint64(out.size), uint64(cuda.threadIdx.x)
        total = float64(0.0)
        while j < n:
            total += matrix[row * n + j] * float64(b[j])
            j += uint64(THREADS)
        total = block_sum(total)
        if cuda.threadIdx.x == 0:
            out[row] = total

    return product


@cache
def _partial(columns: int) -> Array:
    """Where the blocks of a launch leave their sums; launches run one after another, so all can share it."""
    return empty((MAX_BLOCKS, columns), np.float64)


def sums_of_blocks(build, variant, items, args, columns):
    """(blocks, columns) on the host: what the blocks of a kernel over all items, whose last argument takes it, sum."""
    partial = _partial(columns)
    over_all(build, variant, items, (*args, partial))
    return partial.host()[: max(1, min(MAX_BLOCKS, -(-items // THREADS)))]


def dot(x: CudaValues, y: CudaValues) -> float:
    """x . y, float64."""
    dtype_names = x.dtype_name, y.dtype_name
    return float(sums_of_blocks(build_dot, dtype_names, x.size, (x.flat, y.flat), 1).sum())


def step(
    alpha: float, scale: float, p: CudaValues, q: CudaValues, x: CudaValues, r: CudaValues, b: CudaValues
) -> float:
    """x += alpha p, r -= alpha q, b = scale r in float32; returns r . r."""
    args = (np.float64(alpha), np.float64(scale), p.flat, q.flat, x.flat, r.flat, b.flat)
    return float(sums_of_blocks(build_step, None, x.size, args, 1).sum())


def dots(z: CudaValues, r: CudaValues, q: CudaValues) -> tuple[float, float, float]:
    """z . r, z . q and the largest |z|."""
    sums = sums_of_blocks(build_dots, None, r.size, (z.flat, r.flat, q.flat), 3)
    zr, zq = float(sums[:, 0].sum()), float(sums[:, 1].sum())
    return zr, zq, float(sums[:, 2].max()) if isfinite(zr) else nan


def extent(x: CudaValues, chosen: CudaValues | None = None) -> tuple[float, float]:
    """The least and the largest item, as on the CPU."""
    return extent_and_sum(x, chosen)[:2]


def extent_and_sum(x: CudaValues, chosen: CudaValues | None = None) -> tuple[float, float, float]:
    """The least and the largest item, and the sum, or of the items `chosen` by not being 0; not numbers where one item
    is none."""
    mask = x if chosen is None else chosen
    variant = chosen is not None, x.dtype_name, mask.dtype_name
    sums = sums_of_blocks(build_range, variant, x.size, (x.flat, mask.flat), 3)
    total = float(sums[:, 0].sum())
    if not isfinite(total):
        return nan, nan, total
    return -float(sums[:, 1].max()), float(sums[:, 2].max()), total


def direction(z: CudaValues, beta: float, unit: float, p: CudaValues) -> None:
    """p = unit z + beta p."""
    over_all(build_direction, None, p.size, (z.flat, np.float64(beta), np.float64(unit), p.flat))


def accumulate(x: CudaValues, factor: np.float32, add: bool, total: CudaValues) -> None:
    """total = factor x, or with `add` what it was plus that; float32."""
    over_all(build_accumulate, add, total.size, (x.flat, factor, total.flat))


def multiply(matrix: CudaValues, b: CudaValues, out: CudaValues) -> None:
    """out = matrix b, small and dense."""
    launch(build_product, None, (out.size, 1, 1), (THREADS, 1, 1), (matrix.flat, b.flat, out.flat))
