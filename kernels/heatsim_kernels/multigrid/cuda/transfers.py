"""CUDA: transfers between a grid and one that is coarser along one axis, a thread a cell; see `grids`.

The fine grid is (outer, n, inner) about the axis. Interpolation takes a kept cell as it is and a cell between two as
their mean with weights w and 1 - w; restriction is its transpose, gathered, so no two threads add to one cell.
"""

from __future__ import annotations

import numpy as np
from numba import uint32

from heatsim_kernels.multigrid.coarse_grids import Coarsening
from heatsim_kernels.multigrid.cuda.field import THREADS, CudaValues, launch
from heatsim_kernels.runtime.cuda.api import cuda
from heatsim_kernels.runtime.cuda.vector_access import constant

ZERO, ONE, TWO = np.uint32(0), np.uint32(1), np.uint32(2)


def build_restrict(variant):
    """The kernel `(n, inner, nf, r, w, out)`: r (outer, n, inner) to out (outer, n - nf, inner); w (outer, nf, inner)
    are the weights."""

    def restrict(n, inner, nf, r, w, out):
        i = uint32(uint32(cuda.blockIdx.x) * uint32(THREADS) + uint32(cuda.threadIdx.x))
        if i >= uint32(out.size):
            return
        nc = uint32(n - nf)
        line, column = uint32(i // inner), uint32(i % inner)
        o, c = uint32(line // nc), uint32(line % nc)
        fine, between = uint32(o * n), uint32(o * nf)
        value = constant(r, uint32(uint32(fine + min(uint32(TWO * c), uint32(n - ONE))) * inner + column))
        j = uint32(c - ONE) if c > ZERO else uint32(nc - ONE)
        if j < nf:
            below = constant(r, uint32(uint32(fine + uint32(TWO * j) + ONE) * inner + column))
            value = value + (below - constant(w, uint32(uint32(between + j) * inner + column)) * below)
        if c < nf:
            above = constant(r, uint32(uint32(fine + uint32(TWO * c) + ONE) * inner + column))
            value = value + constant(w, uint32(uint32(between + c) * inner + column)) * above
        out[i] = value

    return restrict


def build_interpolate(add):
    """The kernel `(n, inner, nf, c, w, out)`: c (outer, n - nf, inner) to out (outer, n, inner), or added to it."""

    def interpolate(n, inner, nf, c, w, out):
        i = uint32(uint32(cuda.blockIdx.x) * uint32(THREADS) + uint32(cuda.threadIdx.x))
        if i >= uint32(out.size):
            return
        nc = uint32(n - nf)
        line, column = uint32(i // inner), uint32(i % inner)
        o, k = uint32(line // n), uint32(line % n)
        coarse, j = uint32(o * nc), uint32(k // TWO)
        if k % TWO == ONE and j < nf:
            after = uint32(j + ONE) if uint32(j + ONE) < nc else ZERO
            lower = constant(c, uint32(uint32(coarse + j) * inner + column))
            upper = constant(c, uint32(uint32(coarse + after) * inner + column))
            value = upper + constant(w, uint32(uint32(uint32(o * nf) + j) * inner + column)) * (lower - upper)
        else:
            value = constant(c, uint32(uint32(coarse + uint32(k + ONE) // TWO) * inner + column))
        out[i] = out[i] + value if add else value

    return interpolate


def _layout(coarsening: Coarsening) -> tuple[np.uint32, np.uint32, np.uint32]:
    """n, inner and the number of F cells of a line."""
    nz, ny, nx = coarsening.fine
    n, inner = ((nz, ny * nx), (ny, nx), (nx, 1))[coarsening.axis]
    return np.uint32(n), np.uint32(inner), np.uint32(coarsening.between)


def restrict(coarsening: Coarsening, weights: CudaValues, fine: CudaValues, coarse: CudaValues) -> None:
    """coarse = transpose of the interpolation times fine."""
    args = (*_layout(coarsening), fine.flat, weights.flat, coarse.flat)
    launch(build_restrict, None, (-(-coarse.size // THREADS), 1, 1), (THREADS, 1, 1), args)


def interpolate(coarsening: Coarsening, weights: CudaValues, coarse: CudaValues, add: bool, fine: CudaValues) -> None:
    """fine = interpolation of coarse, or with `add` what it was plus that."""
    args = (*_layout(coarsening), coarse.flat, weights.flat, fine.flat)
    launch(build_interpolate, add, (-(-fine.size // THREADS), 1, 1), (THREADS, 1, 1), args)
