"""CPU: the passes of conjugate gradients over whole fields, each as much work as one look at the memory allows.

Fields of the gradient are float64, the preconditioner's float32. Sums are taken over fixed parts of a field, each in
eight lanes, and then over the parts: the same bits for any number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.runtime.cpu.compilation import jit, parallel_jit
from heatsim_kernels.runtime.cpu.pointers import load, pointer, shifted, store, widest_vectors
from heatsim_kernels.runtime.cpu.threads import limited, threads_for

PART = 4096  # cells; two fields of them stay in the first cache
LANES = 8


@jit
def _dot(n, x, y):
    """Sum of x*y in float64, in eight lanes that do not wait for each other."""
    widest_vectors()
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = n - n % LANES
    for i in range(0, whole, LANES):
        s0 += np.float64(load(x, i)) * np.float64(load(y, i))
        s1 += np.float64(load(x, i + 1)) * np.float64(load(y, i + 1))
        s2 += np.float64(load(x, i + 2)) * np.float64(load(y, i + 2))
        s3 += np.float64(load(x, i + 3)) * np.float64(load(y, i + 3))
        s4 += np.float64(load(x, i + 4)) * np.float64(load(y, i + 4))
        s5 += np.float64(load(x, i + 5)) * np.float64(load(y, i + 5))
        s6 += np.float64(load(x, i + 6)) * np.float64(load(y, i + 6))
        s7 += np.float64(load(x, i + 7)) * np.float64(load(y, i + 7))
    for i in range(whole, n):
        s0 += np.float64(load(x, i)) * np.float64(load(y, i))
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@jit
def _largest(n, x):
    """Largest size of the values; not a number if one is not."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(np.float64(load(x, i))))
    return largest


@jit
def _step_part(n, alpha, scale, p, q, x, r, b):
    widest_vectors()
    for i in range(n):
        store(x, i, load(x, i) + alpha * load(p, i))
    for i in range(n):
        value = load(r, i) - alpha * load(q, i)
        store(r, i, value)
        store(b, i, np.float32(value * scale))


@parallel_jit
def _step(alpha, scale, p, q, x, r, b, sums):
    for part in prange(len(sums)):
        first = part * PART
        n = min(PART, x.size - first)
        at = shifted(pointer(r), first)
        _step_part(
            n,
            alpha,
            scale,
            shifted(pointer(p), first),
            shifted(pointer(q), first),
            shifted(pointer(x), first),
            at,
            shifted(pointer(b), first),
        )
        sums[part] = _dot(n, at, at)


@parallel_jit
def _dots(z, r, q, sums):
    """sums (parts, 3): z.r, z.q and the largest |z| of each part."""
    for part in prange(len(sums)):
        first = part * PART
        n = min(PART, r.size - first)
        at = shifted(pointer(z), first)
        sums[part, 0] = _dot(n, at, shifted(pointer(r), first))
        sums[part, 1] = _dot(n, at, shifted(pointer(q), first))
        sums[part, 2] = _largest(n, at)


@parallel_jit
def _dot_parts(x, y, sums):
    for part in prange(len(sums)):
        first = part * PART
        n = min(PART, x.size - first)
        sums[part] = _dot(n, shifted(pointer(x), first), shifted(pointer(y), first))


@jit
def _direction_part(n, z, beta, unit, p):
    widest_vectors()
    for i in range(n):
        store(p, i, np.float64(load(z, i)) * unit + beta * load(p, i))


@parallel_jit
def _direction(z, beta, unit, p, parts):
    for part in prange(parts):
        first = part * PART
        n = min(PART, p.size - first)
        _direction_part(n, shifted(pointer(z), first), beta, unit, shifted(pointer(p), first))


def _parts(field):
    return -(-field.size // PART)


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """x . y."""
    sums = np.empty(_parts(x))
    with limited(threads_for(x.size)):
        _dot_parts(x, y, sums)
    return float(sums.sum())


def step(
    alpha: float, scale: float, p: np.ndarray, q: np.ndarray, x: np.ndarray, r: np.ndarray, b: np.ndarray
) -> float:
    """x += alpha p, r -= alpha q, b = scale r in float32; returns r . r."""
    sums = np.empty(_parts(x))
    with limited(threads_for(x.size)):
        _step(alpha, scale, p, q, x, r, b, sums)
    return float(sums.sum())


def dots(z: np.ndarray, r: np.ndarray, q: np.ndarray) -> tuple[float, float, float]:
    """z . r, z . q and the largest |z|."""
    sums = np.empty((_parts(r), 3))
    with limited(threads_for(r.size)):
        _dots(z, r, q, sums)
    return float(sums[:, 0].sum()), float(sums[:, 1].sum()), float(sums[:, 2].max())


def direction(z: np.ndarray, beta: float, unit: float, p: np.ndarray) -> None:
    """p = unit z + beta p."""
    with limited(threads_for(p.size)):
        _direction(z, beta, unit, p, _parts(p))
