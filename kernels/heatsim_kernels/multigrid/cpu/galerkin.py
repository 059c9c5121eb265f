"""CPU: conductances of a coarser grid, and the weights that interpolate from it.

One axis is coarsened at a time. A cell F between two kept ones takes w T_lower + (1 - w) T_upper, with w the share of
the lower side in all its conductance along the axis (summed over the two other axes): next to an insulator it follows
the conductor that it belongs to (Alcouffe, Brandt, Dendy and Painter 1981; Dendy 1982, collapsed stencils). The coarse
operator is the Galerkin product P^T A P, with A written as a sum of g (T_i - T_j)^2:

    face C - F - C along the axis    g_lower (1 - w)^2 + g_upper w^2 - w (1 - w) (all other conductances of F)
    any other pair i, j              g p_i p_j to each pair of coarse cells that i and j are interpolated from

which makes 27 points of 7, and 27 of 27. Rows of P sum to one, so differences stay differences. What ties a cell to
the outside goes to the coarse cells by P^T and is kept out of weights and conductances: a new time step or wall
coefficient changes no more than that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange, types
from numba.extending import overload

from heatsim_kernels.multigrid.coarse_grids import Coarsening, Shape
from heatsim_kernels.multigrid.cpu.sweeps import BLOCKS, LATER, Conductances, around
from heatsim_kernels.runtime.cpu.compilation import jit, parallel_jit
from heatsim_kernels.runtime.cpu.pointers import load, pointer, shifted
from heatsim_kernels.runtime.cpu.threads import limited, threads_for

# Unit vectors (z, y, x) of an axis and of the two others, in the order of memory.
AXES = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
    ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
)


SAMPLED = 32  # cells an axis, or up to twice that, enough to decide by which axes to coarsen

# Offsets are data, not unrolled loops: a fraction of the time to compile. They are written (t, j, i), along the axis in
# question and the two others, and turned to (z, y, x) by `_turned`.
_THREE = (-1, 0, 1)
_STRAIGHT = [(t, 0, 0) for t in _THREE]
_COLUMNS = [[(t, j, i) for t in _THREE] for j, i in ((0, 1), (1, -1), (1, 0), (1, 1))]  # the later half of those around
_ALL = [(t, j, i) for t in _THREE for j in _THREE for i in _THREE]


class CouplingOffsets(NamedTuple):
    """What a cell is coupled to: `lower` and `upper` on either side of it along the axis, `others` not straight along
    it; `moves` (r, t), see `_across`; `columns` that coarse conductances lead to: those left out stay zero."""

    lower: list
    upper: list
    others: list
    moves: list
    columns: list


_REACH_7 = CouplingOffsets(
    [(-1, 0, 0)],
    [(1, 0, 0)],
    [(0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)],
    [(r, 0) for r in _THREE],
    [_COLUMNS[0], _COLUMNS[2]],
)
_REACH_27 = CouplingOffsets(
    [each for each in _ALL if each[0] == -1],
    [each for each in _ALL if each[0] == 1],
    [each for each in _ALL if each[1:] != (0, 0)],
    [(r, t) for r in _THREE for t in _THREE],
    _COLUMNS,
)


def _reach(g):
    return _REACH_7 if isinstance(g, tuple) else _REACH_27


def _turned(axis, offsets):
    return np.array(offsets) @ np.array(AXES[axis])


@jit
def moved(shape, cell, by):
    """The cell at an offset of one at most along each axis, wrapped."""
    return around(cell[0] + by[0], shape[0]), around(cell[1] + by[1], shape[1]), around(cell[2] + by[2], shape[2])


@jit
def flat(shape, cell):
    """Index of a cell in memory."""
    return (cell[0] * shape[1] + cell[1]) * shape[2] + cell[2]


@jit
def slot(shape, cell, by):
    """Where the conductance between a cell and a neighbour stands in `a` (nz, ny, 13, nx): with the earlier of both."""
    number = 9 * by[0] + 3 * by[1] + by[2]
    z, y, x = cell
    if number < 0:
        z, y, x = moved(shape, cell, by)
        number = -number
    return ((z * shape[1] + y) * LATER + number - 1) * shape[2] + x


@jit
def _of_faces(g, shape, cell, by):
    z, y, x = by
    at = flat(shape, cell if z + y + x > 0 else moved(shape, cell, by))
    if z * z + y * y + x * x != 1:
        return load(g[0], at) * 0
    return load(g[2], at) if z != 0 else (load(g[1], at) if y != 0 else load(g[0], at))


@jit
def _of_all(g, shape, cell, by):
    return load(g, slot(shape, cell, by))


def between(g, shape, cell, by):
    """Conductance between a cell and the neighbour at an offset; g: pointers to gx, gy, gz, or to the 13 a cell."""


@overload(between)
def _between(g, shape, cell, by):
    of = _of_faces if isinstance(g, types.BaseTuple) else _of_all
    return lambda g, shape, cell, by: of(g, shape, cell, by)


def pointers(g):
    """Pointers to the conductances of a level of either kind."""


@overload(pointers)
def _pointers(g):
    if isinstance(g, types.BaseTuple):
        return lambda g: (pointer(g[0]), pointer(g[1]), pointer(g[2]))
    return lambda g: pointer(g)


@jit
def _row(offsets, k):
    return load(offsets, 3 * k), load(offsets, 3 * k + 1), load(offsets, 3 * k + 2)


@jit
def _sum(g, shape, cell, offsets, count):
    """Sum of the conductances of a cell to its neighbours at some offsets."""
    total = np.float32(0)
    for k in range(count):
        total += np.float32(between(g, shape, cell, _row(offsets, k)))
    return total


@parallel_jit
def _sides(conductances, shape, lower_side, upper_side, of, start, stride, lower_share, out, blocks):
    """out (of): of every `stride`-th cell from `start` on the conductance to both sides, or the lower side's share."""
    rows, count = of[0] * of[1], len(lower_side)
    for block in prange(blocks):
        g = pointers(conductances)
        for row in range(block * rows // blocks, (block + 1) * rows // blocks):
            z, y = start[0] + stride[0] * (row // of[1]), start[1] + stride[1] * (row % of[1])
            for i in range(of[2]):
                cell = z, y, start[2] + stride[2] * i
                lower = max(_sum(g, shape, cell, pointer(lower_side), count), np.float32(0))
                total = lower + max(_sum(g, shape, cell, pointer(upper_side), count), np.float32(0))
                if lower_share:
                    total = lower / total if total > 0 else np.float32(0.5)
                out[row * of[2] + i] = total


@jit
def _neighbours_weights(coarse, axis, straight, of, w, cell):
    """Weights that F cells above and below a coarse cell give it, 0 where there is none, and whether there are any."""
    lower = moved(coarse, cell, _row(straight, 0))
    above, below = cell[axis] < of[axis], lower[axis] < of[axis]
    up = load(w, flat(of, cell)) if above else np.float32(0)
    down = np.float32(1) - load(w, flat(of, lower)) if below else np.float32(0)
    return up, down, above, below


@jit
def _along(g, shape, straight, others, count, c, w, has):
    """Coarse conductance along the axis itself, to the next coarse cell; `c` is the fine cell, w the F's weight."""
    if not has:
        return between(g, shape, c, _row(straight, 2))
    f = moved(shape, c, _row(straight, 2))
    lower = between(g, shape, f, _row(straight, 0))
    upper = between(g, shape, f, _row(straight, 2))
    return (1 - w) * (1 - w) * lower + w * w * upper - w * (1 - w) * _sum(g, shape, f, others, count)


@jit
def _across(g, shape, straight, moves, count, column, c, mine, theirs):
    """Coarse conductances to the cells lower, level and upper in another column, at the three offsets `column`.

    `mine` and `theirs` are the weights (up, down, has F above, has F below) of the two coarse cells. A move (r, t) is
    from the fine cell at r beside `c` to the one at r + t in the other column.
    """
    up, down, above, below = mine
    lower = level = upper = np.float32(0)
    for k in range(count):
        r, t = load(moves, 2 * k), load(moves, 2 * k + 1)
        if (r > 0 and not above) or (r < 0 and not below):
            continue
        p = up if r > 0 else (down if r < 0 else np.float32(1))
        flow = p * between(g, shape, moved(shape, c, _row(straight, r + 1)), _row(column, t + 1))
        if r + t > 0:
            share = theirs[0] if r + t == 1 and theirs[2] else np.float32(0)
            upper += flow - share * flow
        elif r + t < 0:
            share = theirs[1] if r + t == -1 and theirs[3] else np.float32(0)
            lower += flow - share * flow
        else:
            share = np.float32(1)
        level += share * flow
    return lower, level, upper


@parallel_jit
def _galerkin(conductances, shape, axis, straight, others, moves, columns, coarse, of, w, out, blocks):
    """out (coarse, 13 a row): the conductances of a grid coarser along an axis."""
    rows = coarse[0] * coarse[1]
    for block in prange(blocks):
        g, weights, ways, target = pointers(conductances), pointer(w), pointer(straight), pointer(out)
        for row in range(block * rows // blocks, (block + 1) * rows // blocks):
            for x in range(coarse[2]):
                cell = row // coarse[1], row % coarse[1], x
                ahead = min(cell[axis], shape[axis] - 1 - cell[axis])  # of the fine cell that this one stands for
                u = _row(ways, 2)
                c = cell[0] + ahead * u[0], cell[1] + ahead * u[1], cell[2] + ahead * u[2]
                mine = _neighbours_weights(coarse, axis, ways, of, weights, cell)
                value = _along(g, shape, ways, pointer(others), len(others), c, mine[0], mine[2])
                target[slot(coarse, cell, u)] = value
                for k in range(len(columns)):
                    column = shifted(pointer(columns), 9 * k)
                    beside = moved(coarse, cell, _row(column, 1))
                    theirs = _neighbours_weights(coarse, axis, ways, of, weights, beside)
                    values = _across(g, shape, ways, pointer(moves), len(moves), column, c, mine, theirs)
                    for t in range(3):
                        target[slot(coarse, cell, _row(column, t))] = values[t]


def strong_cells(g: Conductances, shape: Shape, share: float) -> np.ndarray:
    """(3,) number of cells, in a sample, with a conductance along z, y, x of at least `share` of their largest.

    Axes that are too short to be coarsened count as not conducting.
    """
    stride = tuple(n // SAMPLED | 1 for n in shape)  # odd: structures often repeat every 2, 4 or 8 cells
    sample = tuple(-(-n // step) for n, step in zip(shape, stride, strict=True))
    along = np.zeros((3, int(np.prod(sample))), np.float32)
    for axis, out in enumerate(along):
        if shape[axis] > 2:
            _for_cells(g, shape, axis, sample, (0, 0, 0), stride, False, out)
    return np.asarray((along >= np.float32(share) * along.max(axis=0)).sum(axis=1))


def interpolation(coarsening: Coarsening, g: Conductances, weights: np.ndarray) -> None:
    """Fill the weights of a coarsening from the conductances of its fine grid."""
    axis = coarsening.axis
    start = AXES[axis][0]
    stride = tuple(1 + unit for unit in start)
    _for_cells(g, coarsening.fine, axis, weights.shape, start, stride, True, weights.reshape(-1))


def _for_cells(g, shape, axis, of, start, stride, lower_share, out):
    lower, upper = _turned(axis, _reach(g).lower), _turned(axis, _reach(g).upper)
    with limited(threads_for(out.size)):
        _sides(g, shape, lower, upper, of, start, stride, lower_share, out, min(BLOCKS, of[0] * of[1]))


def galerkin(coarsening: Coarsening, g: Conductances, weights: np.ndarray, out: np.ndarray) -> None:
    """Fill the conductances `out` of the coarse grid, zero before."""
    axis, coarse, reach = coarsening.axis, coarsening.coarse, _reach(g)
    straight, others, columns = (_turned(axis, each) for each in (_STRAIGHT, reach.others, reach.columns))
    moves = np.array(reach.moves)
    of, w = weights.shape, weights.reshape(-1)
    blocks = min(BLOCKS, coarse[0] * coarse[1])
    with limited(threads_for(out.size)):
        _galerkin(g, coarsening.fine, axis, straight, others, moves, columns, coarse, of, w, out.reshape(-1), blocks)
