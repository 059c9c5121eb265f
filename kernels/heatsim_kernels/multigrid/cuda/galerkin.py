"""CUDA: conductances of a coarser grid, and the weights that interpolate from it; the mathematics is in `cpu_galerkin`.

A thread has a coarse cell, or one between two, and computes all that is kept with it. Offsets (t, j, i) are along the
axis in question and the two others, in loops; the axis is an argument, so two kernels serve all grids of a kind of
conductances. Set-up is computed once an operator, in some milliseconds, so indices are plain signed numbers.
"""

from __future__ import annotations

import numpy as np
from numba import float32, int64

from heatsim_kernels.multigrid.coarse_grids import Coarsening, Shape
from heatsim_kernels.multigrid.cpu.galerkin import AXES, SAMPLED
from heatsim_kernels.multigrid.cuda.field import THREADS, CudaValues, launch, sent
from heatsim_kernels.multigrid.cuda.sweeps import Conductances
from heatsim_kernels.runtime.cuda.api import cuda, inlined
from heatsim_kernels.runtime.cuda.vector_access import constant

LATER = 13


@inlined
def turned(axis, t, j, i):
    """(z, y, x) of an offset (t, j, i)."""
    if axis == 0:
        return t, j, i
    if axis == 1:
        return j, t, i
    return j, i, t


@inlined
def moved(shape, cell, by):
    """The cell at an offset of one at most along each axis, wrapped."""
    z, y, x = cell[0] + by[0], cell[1] + by[1], cell[2] + by[2]
    z = z + shape[0] if z < 0 else (z - shape[0] if z >= shape[0] else z)
    y = y + shape[1] if y < 0 else (y - shape[1] if y >= shape[1] else y)
    x = x + shape[2] if x < 0 else (x - shape[2] if x >= shape[2] else x)
    return z, y, x


@inlined
def flat(shape, cell):
    """Index of a cell in memory."""
    return (cell[0] * shape[1] + cell[1]) * shape[2] + cell[2]


@inlined
def slot(shape, cell, by):
    """Where the conductance between a cell and a neighbour stands in `a` (nz, ny, 13, nx): with the earlier of both."""
    number = 9 * by[0] + 3 * by[1] + by[2]
    back = moved(shape, cell, by)
    z, y, x = back if number < 0 else cell
    return ((z * shape[1] + y) * LATER + abs(number) - 1) * shape[2] + x


@inlined
def of_faces(g, shape, cell, by):
    """Conductance between a cell and the neighbour at an offset, of gx, gy, gz: 0 unless they share a face."""
    z, y, x = by
    if z * z + y * y + x * x != 1:
        return float32(0)
    at = flat(shape, cell if z + y + x > 0 else moved(shape, cell, by))
    return constant(g[2], at) if z != 0 else (constant(g[1], at) if y != 0 else constant(g[0], at))


@inlined
def of_all(g, shape, cell, by):
    """Conductance between a cell and the neighbour at an offset, of the 13 a cell."""
    return constant(g[0], slot(shape, cell, by))


def build_sides(faces):
    """The kernel `(shape, axis, of, start, apart, lower_share, g..., out)`: of every `apart`-th cell from `start` on
    the conductance to both sides along the axis, or the lower side's share in it; out (of)."""
    between = of_faces if faces else of_all

    def sides(shape, axis, of, start, apart, lower_share, g, out):
        k = int64(cuda.blockIdx.x) * THREADS + int64(cuda.threadIdx.x)
        if k >= out.size:
            return
        z, y, x = k // (of[1] * of[2]), k // of[2] % of[1], k % of[2]
        cell = start[0] + apart[0] * z, start[1] + apart[1] * y, start[2] + apart[2] * x
        lower, upper = float32(0), float32(0)
        for n in range(18):
            t = 1 if n > 8 else -1
            flow = between(g, shape, cell, turned(axis, t, n // 3 % 3 - 1, n % 3 - 1))
            if t > 0:
                upper += flow
            else:
                lower += flow
        lower = max(lower, float32(0))
        total = lower + max(upper, float32(0))
        if lower_share:
            out[k] = lower / total if total > 0 else float32(0.5)
        else:
            out[k] = total

    return sides


@inlined
def weights_beside(axis, coarse, of, w, cell):
    """Weights that F cells above and below a coarse cell give it, 0 where there is none, and whether there is."""
    lower = moved(coarse, cell, turned(axis, -1, 0, 0))
    above, below = cell[axis] < of[axis], lower[axis] < of[axis]
    up = constant(w, flat(of, cell)) if above else float32(0)
    down = float32(1) - constant(w, flat(of, lower)) if below else float32(0)
    return up, down, above, below


def coarse_along(between):
    """What computes conductances along the axis, from those that `between` tells of the fine grid."""

    @inlined
    def along(g, shape, axis, c, w, has):
        """Coarse conductance to the next coarse cell along the axis; `c` is the fine cell, w the F's weight."""
        f = moved(shape, c, turned(axis, 1 if has else 0, 0, 0))
        lower, upper, others = float32(0), float32(0), float32(0)
        for n in range(27):
            t, j, i = n // 9 - 1, n // 3 % 3 - 1, n % 3 - 1
            flow = between(g, shape, f, turned(axis, t, j, i)) if n != 13 else float32(0)
            if j != 0 or i != 0:
                others += flow
            elif t > 0:
                upper = flow
            else:
                lower += flow
        rest = float32(1) - w
        return rest * rest * lower + w * w * upper - w * rest * others if has else upper

    return along


def coarse_across(between):
    """What computes conductances to a column beside, from those that `between` tells of the fine grid."""

    @inlined
    def across(g, shape, axis, j, i, c, mine, theirs):
        """Coarse conductances to the cells lower, level and upper in the column at (j, i)."""
        lower, level, upper = float32(0), float32(0), float32(0)
        for r in range(-1, 2):
            if (r > 0 and not mine[2]) or (r < 0 and not mine[3]):
                continue
            p = mine[0] if r > 0 else (mine[1] if r < 0 else float32(1))
            f = moved(shape, c, turned(axis, r, 0, 0))
            for t in range(-1, 2):
                flow = p * between(g, shape, f, turned(axis, t, j, i))
                share = float32(1)
                if r + t > 0:
                    share = theirs[0] if r + t == 1 and theirs[2] else float32(0)
                    upper += flow - share * flow
                elif r + t < 0:
                    share = theirs[1] if r + t == -1 and theirs[3] else float32(0)
                    lower += flow - share * flow
                level += share * flow
        return lower, level, upper

    return across


def build_galerkin(faces):
    """The kernel `(shape, axis, coarse, of, g, w, out)`: out (coarse, 13 a row) of a grid coarser along an axis; the
    weights are (of)."""
    between = of_faces if faces else of_all
    along, across = coarse_along(between), coarse_across(between)

    def galerkin(shape, axis, coarse, of, g, w, out):
        k = int64(cuda.blockIdx.x) * THREADS + int64(cuda.threadIdx.x)
        if k >= coarse[0] * coarse[1] * coarse[2]:
            return
        cell = k // (coarse[1] * coarse[2]), k // coarse[2] % coarse[1], k % coarse[2]
        ahead = min(cell[axis], shape[axis] - 1 - cell[axis])  # of the fine cell that this one stands for
        u = turned(axis, 1, 0, 0)
        c = cell[0] + ahead * u[0], cell[1] + ahead * u[1], cell[2] + ahead * u[2]
        mine = weights_beside(axis, coarse, of, w, cell)
        out[slot(coarse, cell, u)] = along(g, shape, axis, c, mine[0], mine[2])
        for column in range(4):  # the later half of those around: (0, 1), (1, -1), (1, 0), (1, 1)
            j, i = min(column, 1), 1 if column == 0 else column - 2
            theirs = weights_beside(axis, coarse, of, w, moved(coarse, cell, turned(axis, 0, j, i)))
            values = across(g, shape, axis, j, i, c, mine, theirs)
            for t in range(3):
                out[slot(coarse, cell, turned(axis, t - 1, j, i))] = values[t]

    return galerkin


def _numbers(values):
    return tuple(map(np.int64, values))


def _flats(g: Conductances):
    return tuple(each.flat for each in g) if isinstance(g, tuple) else (g.flat,)


def _for_cells(g, shape, axis, of, start, apart, lower_share, out):
    geometry = _numbers(shape), np.int64(axis), _numbers(of), _numbers(start), _numbers(apart), np.int64(lower_share)
    args = (*geometry, _flats(g), out.flat)
    launch(build_sides, isinstance(g, tuple), (-(-out.size // THREADS), 1, 1), (THREADS, 1, 1), args)


def strong_cells(g: Conductances, shape: Shape, share: float) -> np.ndarray:
    """(3,) number of cells, in a sample, with a conductance along z, y, x of at least `share` of their largest.

    Axes that are too short to be coarsened count as not conducting.
    """
    apart = tuple(n // SAMPLED | 1 for n in shape)  # odd: structures often repeat every 2, 4 or 8 cells
    sample = tuple(-(-n // step) for n, step in zip(shape, apart, strict=True))
    along = np.zeros((3, *sample), np.float32)
    room = sent(along[0])
    for axis in range(3):
        if shape[axis] > 2:
            _for_cells(g, shape, axis, sample, (0, 0, 0), apart, False, room)
            along[axis] = room.host()
    return np.asarray((along >= np.float32(share) * along.max(axis=0)).sum(axis=(1, 2, 3)))


def interpolation(coarsening: Coarsening, g: Conductances, weights: CudaValues) -> None:
    """Fill the weights of a coarsening from the conductances of its fine grid."""
    start = AXES[coarsening.axis][0]
    apart = tuple(1 + unit for unit in start)
    _for_cells(g, coarsening.fine, coarsening.axis, weights.shape, start, apart, True, weights)


def galerkin(coarsening: Coarsening, g: Conductances, weights: CudaValues, out: CudaValues) -> None:
    """Fill the conductances `out` of the coarse grid."""
    shape, coarse, of = map(_numbers, (coarsening.fine, coarsening.coarse, coarsening.weights))
    args = (shape, np.int64(coarsening.axis), coarse, of, _flats(g), weights.flat, out.flat)
    cells = out.size // LATER
    launch(build_galerkin, isinstance(g, tuple), (-(-cells // THREADS), 1, 1), (THREADS, 1, 1), args)
