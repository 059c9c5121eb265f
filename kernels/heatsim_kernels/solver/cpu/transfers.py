"""CPU: from a level to a coarser one and back: restriction, interpolation, and the Galerkin product.

Each goes to a grid that is coarser along one axis, see `hierarchy`; what is computed for a cell is in `cell` and
`galerkin`. Along y and z a whole row of a transfer is one vector loop.
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numba.extending import overload

from heatsim_kernels.device.cpu.compilation import called, inlined, parallel_jit_for_levels
from heatsim_kernels.device.cpu.pointers import load, pointer, shifted, store, widest_vectors
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.solver import cell
from heatsim_kernels.solver import galerkin as cells
from heatsim_kernels.solver.cpu.sweeps import CpuConductances
from heatsim_kernels.solver.galerkin import CellSample
from heatsim_kernels.solver.hierarchy import Coarsening, Shape

BLOCKS = 256  # parts of a grid that threads share out

with_lower, with_upper, mean = inlined(cell.with_lower), inlined(cell.with_upper), inlined(cell.mean)
OF_FACES, OF_ALL = cells.build(inlined, called, load)


@called
def _restrict_row(n, out, c, has_lower, lower, lower_weight, has_upper, upper, upper_weight):
    """out = c + (1 - w) of the F cells below + w of those above, of which either may be missing."""
    widest_vectors()
    for i in range(n):
        value = load(c, i)
        if has_lower:
            value = with_lower(value, load(lower, i), load(lower_weight, i))
        if has_upper:
            value = with_upper(value, load(upper, i), load(upper_weight, i))
        store(out, i, value)


@called
def _restrict_along_row(n, nc, nf, out, r, w):
    for i in range(nc):
        value = r[min(2 * i, n - 1)]
        j = i - 1 if i > 0 else nc - 1
        if j < nf:
            value = with_lower(value, r[2 * j + 1], w[j])
        if i < nf:
            value = with_upper(value, r[2 * i + 1], w[i])
        out[i] = value


@parallel_jit_for_levels
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
            _restrict_row(inner, shifted(target, row * inner), c, j < nf, lower, below, i < nf, upper, above)


@called
def _mean_row(n, out, lower, upper, w, add):
    """out = the mean of both, or with `add` what it was plus that."""
    widest_vectors()
    for i in range(n):
        value = mean(load(lower, i), load(upper, i), load(w, i))
        store(out, i, out[i] + value if add else value)


@called
def _copy_row(n, out, c, add):
    widest_vectors()
    for i in range(n):
        store(out, i, out[i] + load(c, i) if add else load(c, i))


@called
def _interpolate_along_row(n, nc, nf, out, c, w, add):
    for i in range(nc):
        k = min(2 * i, n - 1)
        out[k] = out[k] + c[i] if add else c[i]
    for j in range(nf):
        value = mean(c[j], c[j + 1 if j + 1 < nc else 0], w[j])
        out[2 * j + 1] = out[2 * j + 1] + value if add else value


@parallel_jit_for_levels
def _interpolate(outer, n, inner, nf, c, w, add, out, blocks):
    """c (outer, n - nf, inner) to out (outer, n, inner)."""
    nc, rows = n - nf, (outer if inner == 1 else outer * n)
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


def _pointers(g):
    """Pointers to the conductances of a level of either kind."""


@overload(_pointers)
def _make_pointers(g):
    if len(g) == 1:
        return lambda g: (pointer(g[0]),)
    return lambda g: (pointer(g[0]), pointer(g[1]), pointer(g[2]))


def _sides(g, shape, axis, cell):
    """`GalerkinFunctions.sides` of conductances of either kind."""


@overload(_sides)
def _choose_sides(g, shape, axis, cell):
    sides = (OF_ALL if len(g) == 1 else OF_FACES).sides
    return lambda g, shape, axis, cell: sides(g, shape, axis, cell)


def _coarse_cell(g, shape, axis, coarse, of, w, out, cell):
    """`GalerkinFunctions.coarse_cell` of conductances of either kind."""


@overload(_coarse_cell)
def _choose_coarse_cell(g, shape, axis, coarse, of, w, out, cell):
    make = (OF_ALL if len(g) == 1 else OF_FACES).coarse_cell
    return lambda g, shape, axis, coarse, of, w, out, cell: make(g, shape, axis, coarse, of, w, out, cell)


@parallel_jit_for_levels
def _for_cells(conductances, shape, axis, of, start, stride, lower_share, out, blocks):
    """out (of): for every `stride`-th cell from `start` on the conductance to both sides, or the lower side's share."""
    rows = of[0] * of[1]
    for block in prange(blocks):
        g = _pointers(conductances)
        for row in range(block * rows // blocks, (block + 1) * rows // blocks):
            z, y = start[0] + stride[0] * (row // of[1]), start[1] + stride[1] * (row % of[1])
            for i in range(of[2]):
                lower, total = _sides(g, shape, axis, (z, y, start[2] + stride[2] * i))
                if lower_share:
                    total = lower / total if total > 0 else np.float32(0.5)
                out[row * of[2] + i] = total


@parallel_jit_for_levels
def _galerkin(conductances, shape, axis, coarse, of, w, out, blocks):
    """out (coarse, 13 a row): the conductances of a grid coarser along an axis."""
    rows = coarse[0] * coarse[1]
    for block in prange(blocks):
        g, weights, target = _pointers(conductances), pointer(w), pointer(out)
        for row in range(block * rows // blocks, (block + 1) * rows // blocks):
            for x in range(coarse[2]):
                here = row // coarse[1], row % coarse[1], x
                _coarse_cell(g, shape, axis, coarse, of, weights, target, here)


def _sampled(g, shape, axis, sample, lower_share, out):
    faces = g if isinstance(g, tuple) else (g,)
    with limited(threads_for(out.size)):
        blocks = min(BLOCKS, sample.shape[0] * sample.shape[1])
        _for_cells(faces, shape, axis, *sample, lower_share, out.reshape(-1), blocks)


def strong_cells(g: CpuConductances, shape: Shape, share: float) -> np.ndarray:
    """`galerkin.strong_cells` of a level."""

    return cells.strong_cells(shape, share, lambda axis, sample: sample_conductances(g, shape, axis, sample))


def sample_conductances(g: CpuConductances, shape: Shape, axis: int, sample: CellSample) -> np.ndarray:
    """The conductance of the cells of a sample to both sides along an axis, float32."""
    out = np.empty(sample.shape, np.float32)
    _sampled(g, shape, axis, sample, False, out)
    return out


def interpolation(coarsening: Coarsening, g: CpuConductances, weights: np.ndarray) -> None:
    """Fill the weights of a coarsening from the conductances of its fine grid."""
    _sampled(g, coarsening.fine, coarsening.axis, cells.cells_between(coarsening), True, weights)


def galerkin(coarsening: Coarsening, g: CpuConductances, weights: np.ndarray, out: np.ndarray) -> None:
    """Fill the conductances `out` of the coarse grid."""
    fine, coarse, faces = coarsening.fine, coarsening.coarse, g if isinstance(g, tuple) else (g,)
    blocks = min(BLOCKS, coarse[0] * coarse[1])
    with limited(threads_for(out.size)):
        _galerkin(faces, fine, coarsening.axis, coarse, weights.shape, weights.reshape(-1), out.reshape(-1), blocks)
