"""Conductances of a coarser grid, and the weights that interpolate from it; once for the CPU and for CUDA.

One axis is coarsened at a time. A cell F between two kept ones takes w T_lower + (1 - w) T_upper, with w the share of
the lower side in all its conductance along the axis (summed over the two other axes): next to an insulator it follows
the conductor that it belongs to (Alcouffe, Brandt, Dendy and Painter 1981; Dendy 1982, collapsed stencils). The coarse
operator is the Galerkin product P^T A P, with A written as a sum of g (T_i - T_j)^2:

    face C - F - C along the axis    g_lower (1 - w)^2 + g_upper w^2 - w (1 - w) (all other conductances of F)
    any other pair i, j              g p_i p_j to each pair of coarse cells that i and j are interpolated from

which makes 27 points of 7, and 27 of 27. Rows of P sum to one, so differences stay differences. What ties a cell to
the outside goes to the coarse cells by P^T and is kept out of weights and conductances: a new time step or boundary
face coefficient changes no more than that.

Conductances are a tuple of arrays: (gx, gy, gz) of the finest level, (a,) of the others, see `sweeps`. `build` makes
the functions of a cell for either; a target says how they are inlined and how an array is read. Offsets are written
(t, j, i), along the axis in question and the two others, in loops that are not unrolled: a fraction of the time to
compile. The order of every sum is fixed, and every product is rounded by itself, so both targets give the same bits.
Conductances of faces are taken as float64, and so is what is made of them; what is made of the 13 is float32 but along
the axis, where terms cancel. (Results are kept in float32.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.device.fma import product
from heatsim_kernels.solver.hierarchy import LATER, Coarsening, Shape

SAMPLED = 32  # cells an axis, or up to twice that, enough to decide by which axes to coarsen

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class CellSample(NamedTuple):
    """Every `stride`-th cell of a grid from `start` on, `shape` of them; along z, y, x."""

    shape: Shape
    start: Shape
    stride: Shape


def strong_cells(shape: Shape, share: float, conductance: Callable[[int, CellSample], np.ndarray]) -> np.ndarray:
    """(3,) number of cells, in a sample, with a conductance along z, y, x of at least `share` of their largest.

    `conductance` gives that of a sample to both sides along an axis, float32. Axes that are too short to be coarsened
    count as not conducting. A cell that conducts along none, as void does, is strong along none.
    """
    nz, ny, nx = (n // SAMPLED | 1 for n in shape)  # odd: structures often repeat every 2, 4 or 8 cells
    sz, sy, sx = (-(-n // step) for n, step in zip(shape, (nz, ny, nx), strict=True))
    sample = CellSample((sz, sy, sx), (0, 0, 0), (nz, ny, nx))
    along = np.zeros((3, *sample.shape), np.float32)
    for axis in range(3):
        if shape[axis] > 2:
            along[axis] = conductance(axis, sample)
    strong = (along > 0) & (along >= np.float32(share) * along.max(axis=0))
    return np.asarray(strong.sum(axis=(1, 2, 3)))


def cells_between(coarsening: Coarsening) -> CellSample:
    """The F cells of a coarsening, those between two that are kept."""
    z, y, x = (int(axis == coarsening.axis) for axis in range(3))
    return CellSample(coarsening.weights, (z, y, x), (1 + z, 1 + y, 1 + x))


class GalerkinFunctions(NamedTuple):
    """What is computed of a cell.

    sides(g, shape, axis, cell): its conductance to the lower side along an axis, and to both; neither negative.
    coarse_cell(g, shape, axis, coarse, of, w, out, cell): put the 13 conductances that a cell of the coarse grid keeps
        into `out` (coarse, 13 a row), zero before; `of` is the shape of the weights w.
    """

    sides: Callable[..., Any]
    coarse_cell: Callable[..., Any]


def build(
    inlined: Decorator, called: Decorator, read: Callable[..., Any]
) -> tuple[GalerkinFunctions, GalerkinFunctions]:
    """The functions for the conductances of faces, and those for 13 a cell.

    `inlined` and `called` compile small functions and large ones; `read(array, i)` is an item of an array.
    """
    places = _places(inlined)
    weights_beside = called(_build_weights_beside(read, places))
    found = []
    for faces in (True, False):
        between = called(_build_between(read, places, faces))
        along = called(_build_along(between, inlined, places, faces))
        across = called(_build_across(between, places, faces))
        sides = called(_build_sides(between, places, faces))
        found.append(GalerkinFunctions(sides, called(_build_coarse_cell(weights_beside, along, across, places, faces))))
    return found[0], found[1]


class _CellPlaces(NamedTuple):
    moved: Callable[..., Any]
    flat: Callable[..., Any]
    slot: Callable[..., Any]
    turned: Callable[..., Any]


def _places(inlined):
    """Neighbours of a cell, and where things stand in memory."""

    @inlined
    def around(i, n):
        return i + n if i < 0 else (i - n if i >= n else i)

    @inlined
    def moved(shape, cell, by):
        """The cell at an offset (z, y, x) of one at most along each axis, wrapped."""
        z, y, x = cell[0] + by[0], cell[1] + by[1], cell[2] + by[2]
        return around(z, shape[0]), around(y, shape[1]), around(x, shape[2])

    @inlined
    def flat(shape, cell):
        """Index of a cell in memory."""
        return (cell[0] * shape[1] + cell[1]) * shape[2] + cell[2]

    @inlined
    def slot(shape, cell, by):
        """Where the conductance between a cell and a neighbour stands in `a` (nz, ny, 13, nx): with the earlier one."""
        number = 9 * by[0] + 3 * by[1] + by[2]
        z, y, x = moved(shape, cell, by) if number < 0 else cell
        return ((z * shape[1] + y) * LATER + abs(number) - 1) * shape[2] + x

    @inlined
    def turned(axis, t, j, i):
        """(z, y, x) of an offset (t, j, i)."""
        if axis == 0:
            return t, j, i
        if axis == 1:
            return j, t, i
        return j, i, t

    return _CellPlaces(moved, flat, slot, turned)


def _build_between(read, places, faces):
    moved, flat, slot, _ = places

    def of_faces(g, shape, cell, by):
        """Conductance between a cell and the neighbour at an offset, of gx, gy, gz: 0 unless they share a face."""
        z, y, x = by
        if z * z + y * y + x * x != 1:
            return np.float64(0)
        at = flat(shape, cell if z + y + x > 0 else moved(shape, cell, by))
        return np.float64(read(g[2], at) if z != 0 else (read(g[1], at) if y != 0 else read(g[0], at)))

    def of_all(g, shape, cell, by):
        """Conductance between a cell and the neighbour at an offset, of the 13 a cell."""
        return read(g[0], slot(shape, cell, by))

    return of_faces if faces else of_all


def _build_sides(between, places, faces):
    turned = places.turned
    first, last = (4, 5) if faces else (0, 9)  # of the nine neighbours on a side; of faces only the one straight ahead

    def sides(g, shape, axis, cell):
        lower, upper = np.float32(0), np.float32(0)
        for n in range(first, last):
            j, i = n // 3 - 1, n % 3 - 1
            lower += np.float32(between(g, shape, cell, turned(axis, -1, j, i)))
            upper += np.float32(between(g, shape, cell, turned(axis, 1, j, i)))
        lower = max(lower, np.float32(0))
        return lower, lower + max(upper, np.float32(0))

    return sides


def _build_along(between, inlined, places, faces):
    moved, turned = places.moved, places.turned
    count = 4 if faces else 24

    def other(k):
        """Offset number k of those that are not straight along the axis; faces come axis by axis."""
        if faces:
            side = 2 * (k % 2) - 1
            return (0, side, 0) if k < 2 else (0, 0, side)
        column = k % 8 + (1 if k % 8 > 3 else 0)
        return k // 8 - 1, column // 3 - 1, column % 3 - 1

    offset = inlined(other)

    def along(g, shape, axis, c, w, has):
        """Coarse conductance to the next coarse cell along the axis; `c` is the fine cell, w the weight of the F cell
        ahead if it has one."""
        f = moved(shape, c, turned(axis, 1 if has else 0, 0, 0))
        upper = between(g, shape, f, turned(axis, 1, 0, 0))
        if not has:
            return np.float64(upper)
        lower = between(g, shape, f, turned(axis, -1, 0, 0))
        others = np.float32(0)
        for k in range(count):
            t, j, i = offset(k)
            others += np.float32(between(g, shape, f, turned(axis, t, j, i)))
        rest = np.float64(1) - np.float64(w)
        value = product(rest * rest, lower) + product(w * w, upper)
        return value - product(np.float64(w) * rest, others)

    return along


def _build_across(between, places, faces):
    moved, turned = places.moved, places.turned
    low, high = (0, 1) if faces else (-1, 2)  # a face leads straight across
    real = np.float64 if faces else np.float32

    def across(g, shape, axis, j, i, c, mine, theirs):
        """Coarse conductances to the cells lower, level and upper in the column at (j, i).

        `mine` and `theirs` are the weights (up, down, has F above, has F below) of the two coarse cells. A move (r, t)
        is from the fine cell at r beside `c` to the one at r + t in the other column.
        """
        lower, level, upper = real(0), real(0), real(0)
        for r in range(-1, 2):
            if (r > 0 and not mine[2]) or (r < 0 and not mine[3]):
                continue
            p = mine[0] if r > 0 else (mine[1] if r < 0 else np.float32(1))
            f = moved(shape, c, turned(axis, r, 0, 0))
            for t in range(low, high):
                flow = product(p, between(g, shape, f, turned(axis, t, j, i)))
                share = np.float32(1)
                if r + t > 0:
                    share = theirs[0] if r + t == 1 and theirs[2] else np.float32(0)
                    upper += flow - product(share, flow)
                elif r + t < 0:
                    share = theirs[1] if r + t == -1 and theirs[3] else np.float32(0)
                    lower += flow - product(share, flow)
                level += product(share, flow)
        return lower, level, upper

    return across


def _build_weights_beside(read, places):
    moved, flat, _, turned = places

    def weights_beside(axis, coarse, of, w, cell):
        """Weights that F cells above and below a coarse cell give it, 0 where there is none, and whether there is."""
        lower = moved(coarse, cell, turned(axis, -1, 0, 0))
        above, below = cell[axis] < of[axis], lower[axis] < of[axis]
        up = read(w, flat(of, cell)) if above else np.float32(0)
        down = np.float32(1) - read(w, flat(of, lower)) if below else np.float32(0)
        return up, down, above, below

    return weights_beside


def _build_coarse_cell(weights_beside, along, across, places, faces):
    moved, _, slot, turned = places
    apart = 2 if faces else 1  # of columns: faces lead to no cell beside an edge

    def coarse_cell(g, shape, axis, coarse, of, w, out, cell):
        ahead = min(cell[axis], shape[axis] - 1 - cell[axis])  # of the fine cell that this one stands for
        u = turned(axis, 1, 0, 0)
        c = cell[0] + ahead * u[0], cell[1] + ahead * u[1], cell[2] + ahead * u[2]
        mine = weights_beside(axis, coarse, of, w, cell)
        out[slot(coarse, cell, u)] = along(g, shape, axis, c, mine[0], mine[2])
        for column in range(0, 4, apart):  # the later half of those around: (0, 1), (1, -1), (1, 0), (1, 1)
            j, i = min(column, 1), 1 if column == 0 else column - 2
            theirs = weights_beside(axis, coarse, of, w, moved(coarse, cell, turned(axis, 0, j, i)))
            values = across(g, shape, axis, j, i, c, mine, theirs)
            for t in range(3):
                out[slot(coarse, cell, turned(axis, t - 1, j, i))] = values[t]

    return coarse_cell
