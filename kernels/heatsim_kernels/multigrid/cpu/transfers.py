"""CPU: transfers between a grid and one that is coarser along one axis; see `grids`.

Interpolation takes a kept cell as it is and a cell between two as their mean with weights w and 1 - w; restriction is
its transpose. Along y and z a whole row is one vector loop.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.multigrid.coarse_grids import Coarsening
from heatsim_kernels.runtime.cpu.compilation import jit, parallel_jit
from heatsim_kernels.runtime.cpu.pointers import load, pointer, shifted, store, widest_vectors
from heatsim_kernels.runtime.cpu.threads import limited, threads_for

BLOCKS = 256


@jit
def _restrict_row(n, out, c, lower, lower_weight, upper, upper_weight):
    """out = c + (1 - w) of the F cells below + w of those above; either may be missing (None)."""
    widest_vectors()
    for i in range(n):
        value = load(c, i)
        if lower is not None:
            value = value + (load(lower, i) - load(lower_weight, i) * load(lower, i))
        if upper is not None:
            value = value + load(upper_weight, i) * load(upper, i)
        store(out, i, value)


@jit
def _restrict_along_row(n, nc, nf, out, r, w):
    for i in range(nc):
        value = r[min(2 * i, n - 1)]
        j = i - 1 if i > 0 else nc - 1
        if j < nf:
            value += r[2 * j + 1] - w[j] * r[2 * j + 1]
        if i < nf:
            value += w[i] * r[2 * i + 1]
        out[i] = value


@parallel_jit
def _restrict(outer, n, inner, nf, r, w, out, blocks):
    """r (outer, n, inner) to out (outer, n - nf, inner), with w (outer, nf, inner)."""
    nc = n - nf
    rows = outer if inner == 1 else outer * nc
    for block in prange(blocks):
        u, weights, target = pointer(r), pointer(w), pointer(out)
        for row in range(block * rows // blocks, (block + 1) * rows // blocks):
            if inner == 1:
                _restrict_along_row(
                    n, nc, nf, shifted(target, row * nc), shifted(u, row * n), shifted(weights, row * nf)
                )
                continue
            o, i = row // nc, row % nc
            j = i - 1 if i > 0 else nc - 1
            c = shifted(u, (o * n + min(2 * i, n - 1)) * inner)
            lower, upper = shifted(u, (o * n + 2 * j + 1) * inner), shifted(u, (o * n + 2 * i + 1) * inner)
            below, above = shifted(weights, (o * nf + j) * inner), shifted(weights, (o * nf + i) * inner)
            to = shifted(target, row * inner)
            if j < nf and i < nf:
                _restrict_row(inner, to, c, lower, below, upper, above)
            elif j < nf:
                _restrict_row(inner, to, c, lower, below, None, None)
            elif i < nf:
                _restrict_row(inner, to, c, None, None, upper, above)
            else:
                _restrict_row(inner, to, c, None, None, None, None)


@jit
def _mean_row(n, out, lower, upper, w, add):
    """out (+)= w lower + (1 - w) upper, as upper + w (lower - upper): exact where both are equal."""
    widest_vectors()
    for i in range(n):
        value = load(upper, i) + load(w, i) * (load(lower, i) - load(upper, i))
        store(out, i, out[i] + value if add else value)


@jit
def _copy_row(n, out, c, add):
    widest_vectors()
    for i in range(n):
        store(out, i, out[i] + load(c, i) if add else load(c, i))


@jit
def _interpolate_along_row(n, nc, nf, out, c, w, add):
    for i in range(nc):
        k = min(2 * i, n - 1)
        out[k] = out[k] + c[i] if add else c[i]
    for j in range(nf):
        upper = c[j + 1 if j + 1 < nc else 0]
        value = upper + w[j] * (c[j] - upper)
        out[2 * j + 1] = out[2 * j + 1] + value if add else value


@parallel_jit
def _interpolate(outer, n, inner, nf, c, w, add, out, blocks):
    """c (outer, n - nf, inner) to out (outer, n, inner)."""
    nc = n - nf
    rows = outer if inner == 1 else outer * n
    for block in prange(blocks):
        u, weights, target = pointer(c), pointer(w), pointer(out)
        for row in range(block * rows // blocks, (block + 1) * rows // blocks):
            if inner == 1:
                to = shifted(target, row * n)
                _interpolate_along_row(n, nc, nf, to, shifted(u, row * nc), shifted(weights, row * nf), add)
                continue
            o, i = row // n, row % n
            j = i // 2
            to = shifted(target, row * inner)
            if i % 2 == 1 and j < nf:
                lower, upper = shifted(u, (o * nc + j) * inner), shifted(u, (o * nc + (j + 1) % nc) * inner)
                _mean_row(inner, to, lower, upper, shifted(weights, (o * nf + j) * inner), add)
            else:
                _copy_row(inner, to, shifted(u, (o * nc + (i + 1) // 2) * inner), add)


def _layout(coarsening):
    """The fine grid as (outer, n, inner) about the axis of its coarsening, and the blocks to share out."""
    nz, ny, nx = coarsening.fine
    outer, n, inner = ((1, nz, ny * nx), (nz, ny, nx), (nz * ny, nx, 1))[coarsening.axis]
    return outer, n, inner, coarsening.between


def restrict(coarsening: Coarsening, weights: np.ndarray, fine: np.ndarray, coarse: np.ndarray) -> None:
    """coarse = transpose of the interpolation times fine."""
    outer, n, inner, nf = _layout(coarsening)
    with limited(threads_for(fine.size)):
        _restrict(outer, n, inner, nf, fine, weights, coarse, min(BLOCKS, outer * (n if inner > 1 else 1)))


def interpolate(coarsening: Coarsening, weights: np.ndarray, coarse: np.ndarray, add: bool, fine: np.ndarray) -> None:
    """fine = interpolation of coarse, or with `add` what it was plus that."""
    outer, n, inner, nf = _layout(coarsening)
    with limited(threads_for(fine.size)):
        _interpolate(outer, n, inner, nf, coarse, weights, add, fine, min(BLOCKS, outer * (n if inner > 1 else 1)))
