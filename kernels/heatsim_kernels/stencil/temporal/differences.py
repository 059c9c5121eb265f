"""CUDA: the physics of a level of `temporal`, for all cells of a lane in a plane; see `physics`.

A level keeps of the plane below what a step needs of it, `low`: zm - 2c of a uniform material, zm - c where each face
has a rate of its own. Where there are several kinds, cells come with theirs (`temporal_kinds`). Mostly the
rows of a lane are alike, inside a material as at its ends in x and z: then the rates of one row serve all; at ends in y
and at corners each cell has its own looked up. Both are in shared memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int32, uint32, uint64

from heatsim_kernels.runtime.cuda.api import inlined
from heatsim_kernels.runtime.cuda.register_tuples import cycled, each, part, repeated
from heatsim_kernels.runtime.cuda.warp_rows import load_rows
from heatsim_kernels.runtime.fma import fma
from heatsim_kernels.stencil import physics
from heatsim_kernels.stencil.cuda.cell_update import RATES
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.temporal.plan import TemporalTile

HEAT = 12  # where the heating rates of the kinds begin in the numbers of a level, after a and b of six walls


class LevelBoundary(NamedTuple):
    """What levels need to know of walls: those of a batch of steps, the first step, and how many kinds there are.

    a, b: (rows, 6 n), FACES in order.
    """

    a: object
    b: object
    rows: int
    first: int
    kinds: int


def build_low(structure: StencilConfiguration):
    """call(c, zm): `low` of a plane and the one below."""
    minus_two = np.dtype(structure.dtype).type(-2)

    def less_twice(c, zm):
        return fma(minus_two, c, zm)

    def less(c, zm):
        return zm - c

    return each(less_twice if structure.uniform else less)


def build(structure: StencilConfiguration, tile: TemporalTile, rates_at: int):
    """call(cells, xm, xp, ym, yp, low, zp, kinds, alike, rates, board, at): the cells one step later, or for a stage
    dt L of them. alike: whether in all lanes of the warp all rows have the kinds of the first. On the board the numbers
    of the level begin at `at`, the rates of the kinds at `rates_at`."""
    minus_two = np.dtype(structure.dtype).type(-2)
    same_rates, several, with_heat = structure.uniform, structure.kinds != "", structure.heat_table
    begin = _begin(structure, tile)

    def second_difference(start, c, xm, xp, ym, yp, low, zp, rx, ry, rz):
        """`physics.second_difference`, with zm - 2c at hand; fma(-2, c, s) rounds as s - (c + c) does."""
        dx, dy = fma(minus_two, c, xm + xp), fma(minus_two, c, ym + yp)
        return fma(rz, low + zp, fma(ry, dy, fma(rx, dx, start)))

    uniform, of_faces, of_each = each(second_difference), each(_face_differences), each(_own_differences(rates_at))
    every_row, first_row = cycled(tile.rows), part(slice(0, tile.columns))
    rate_of = [each(_rate(rates_at, face)) for face in range(6)]
    rate_xm, rate_xp, rate_ym, rate_yp, rate_zm, rate_zp = rate_of
    heat_of, warmed = each(_heat), each(_heated)

    @inlined
    def of_equal_rows(cells, xm, xp, ym, yp, low, zp, kinds, alike, rates, board, at):
        some, of, start = first_row(cells), first_row(kinds), begin(cells)
        if with_heat:
            start = warmed(start, rates.dt, every_row(heat_of(some, of, board, at)))
        if same_rates:
            return uniform(start, cells, xm, xp, ym, yp, low, zp, rates.rx, rates.ry, rates.rz)
        rxm, rxp = every_row(rate_xm(some, of, board)), every_row(rate_xp(some, of, board))
        rym, ryp = every_row(rate_ym(some, of, board)), every_row(rate_yp(some, of, board))
        rzm, rzp = every_row(rate_zm(some, of, board)), every_row(rate_zp(some, of, board))
        return of_faces(start, cells, xm, xp, ym, yp, low, zp, rxm, rxp, rym, ryp, rzm, rzp)

    @inlined
    def of_any(cells, xm, xp, ym, yp, low, zp, kinds, rates, board, at):
        start = begin(cells)
        if with_heat:
            start = warmed(start, rates.dt, heat_of(cells, kinds, board, at))
        if same_rates:
            return uniform(start, cells, xm, xp, ym, yp, low, zp, rates.rx, rates.ry, rates.rz)
        return of_each(start, cells, xm, xp, ym, yp, low, zp, kinds, board)

    @inlined
    def anywhere(cells, xm, xp, ym, yp, low, zp, kinds, alike, rates, board, at):
        if alike:
            return of_equal_rows(cells, xm, xp, ym, yp, low, zp, kinds, alike, rates, board, at)
        return of_any(cells, xm, xp, ym, yp, low, zp, kinds, rates, board, at)

    return anywhere if several else of_equal_rows


def _face_differences(start, c, xm, xp, ym, yp, low, zp, rxm, rxp, rym, ryp, rzm, rzp):
    """`physics.face_differences`, with zm - c at hand."""
    start = fma(rxp, xp - c, fma(rxm, xm - c, start))
    start = fma(ryp, yp - c, fma(rym, ym - c, start))
    return fma(rzp, zp - c, fma(rzm, low, start))


def _own_differences(rates_at):
    """A cell whose six rates are looked up on the board."""
    four, two, differences = load_rows(4, True), load_rows(2, True), inlined(_face_differences)

    def own_differences(start, c, xm, xp, ym, yp, low, zp, of, board):
        at = uint64(rates_at) + uint64(of) * uint64(RATES)
        rxm, rxp, rym, ryp = four(board, at, (uint32(0),))
        rzm, rzp = two(board, at, (uint32(4),))
        return differences(start, c, xm, xp, ym, yp, low, zp, rxm, rxp, rym, ryp, rzm, rzp)

    return own_differences


def _heated(c, dt, rate):
    return fma(dt, rate, c)


def _begin(structure, tile):
    """call(cells): what differences are added to: the cells themselves, or nothing where a stage is made of them."""
    zeros, zero = repeated(tile.columns * tile.rows), np.dtype(structure.dtype).type(0)

    @inlined
    def from_cells(cells):
        return cells

    @inlined
    def from_nothing(cells):
        return zeros(zero)

    return from_nothing if structure.stage else from_cells


def _rate(rates_at, face):
    def rate(cell, of, board):
        return board[uint64(rates_at + face) + uint64(of) * uint64(RATES)]

    return rate


def _heat(cell, of, board, at):
    return board[at + uint64(HEAT) + uint64(of)]


def build_ghost(structure: StencilConfiguration):
    """call(cells, kinds, face, n, board, at, media): what is beyond a wall, FACES number `face`, of cells beside it
    in the step of level n, whose numbers begin at `at`."""
    by_kind, uniform, two = each(_ghost_by_kind), each(physics.ghost), load_rows(2, True)

    @inlined
    def of_kinds(cells, kinds, face, n, board, at, media):
        row = uint32(min(int32(media.first + n), int32(media.rows - int32(1))))
        return by_kind(cells, kinds, face, uint32(media.kinds), row, media.a, media.b)

    @inlined
    def of_one(cells, kinds, face, n, board, at, media):
        a, b = two(board, at + uint64(face) * uint64(2), (uint32(0),))
        return uniform(cells, a, b)

    return of_kinds if structure.kinds else of_one


_ghost = inlined(physics.ghost)


def _ghost_by_kind(c, of, face, count, row, a, b):
    # Of planes beyond the grid nothing was fetched, and the kind may be any byte.
    place = uint32(uint32(face) * count + min(of, uint32(count - uint32(1))))
    return _ghost(c, a[row, place], b[row, place])
