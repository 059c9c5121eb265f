"""CUDA: one time step of one plane in `temporal`, in the registers of a block.

           up (band above)          A warp is a band of rows, a lane some columns of it. Neighbours in y are in the
      xm [ c c | c c | c c ] xp     lane, or in the bands above and below, which have put the ends of theirs on a board
      xm [ c c | c c | c c ] xp     in shared memory; neighbours in x are in the lane or in the lanes beside. For z a
           down (band below)        lane keeps zm - 2c of each cell, which is all that it needs of the plane below.

Ends of the grid are ends of a tile, so ghosts concern the first or last lane, row and band alone: known beforehand but
for the lane and band.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int32, uint32, uint64

from ..cuda_lanes import from_neighbours, load_rows, store_rows
from ..cuda_tuples import cascade, each, entering_left, entering_right, part
from ..fma import fma
from . import physics
from .structure import Structure
from .temporal_plan import Tile

NUMBERS = 16  # shared numbers of a level: a and b for each of six walls, then the heating rate
HEAT = 12


class Lane(NamedTuple):
    """The place of a lane in its tile: which walls its outer cells touch; bit r of `owned` is set where it owns row r.

    ends: where on the board the ends of its rows go; wall_x, wall_y: where its walls' numbers are; trace_x, trace_y,
    trace_z: where the cells beside its walls go in the trace, at plane 0.
    """

    at_left: bool
    at_right: bool
    at_top: bool
    at_bottom: bool
    owned: int
    ends: int
    wall_x: int
    wall_y: int
    trace_x: int
    trace_y: int
    trace_z: int


class Board(NamedTuple):
    """Shared memory, in elements: of each band its first and its last row, for each level, in two buffers; numbers.

    start: where the first buffer begins, after room for a row above the first band, which may be read but means
    nothing. So does the row below the last band of a level.
    """

    start: int
    level: int
    buffer: int
    numbers: int
    size: int

    @classmethod
    def of(cls, tile: Tile) -> Board:
        """The board of a tile."""
        level = 2 * tile.bands * tile.width
        buffer = tile.steps * level
        numbers = tile.width + 2 * buffer
        return cls(tile.width, level, buffer, numbers, numbers + tile.steps * NUMBERS)


class Walls(NamedTuple):
    """At which ends a plane's cells may lie: of x and y, and of z."""

    xy: bool
    z: bool


def build(structure: Structure, tile: Tile, walls: Walls):
    """call(states, plane, k, board, read, write, lane, span, rates): all steps of a sweep, each on its plane.

    Level n, counting from 0, takes step n + 1 of plane k - 1 - n; `plane` is plane k before the sweep, and the result
    is plane k - steps after it. A state is (zm - 2c, c) of a level.
    """
    wrap_x, wrap_y, wrap_z = structure.periodic
    wall_x, wall_y, wall_z = walls.xy and not wrap_x, walls.xy and not wrap_y, walls.z and not wrap_z
    columns = tile.columns
    skip, numbers, width = Board.of(tile).level, Board.of(tile).numbers, tile.width
    minus_two = np.dtype(structure.dtype).type(-2)
    with_heat = structure.heat_table

    def new_value(start, c, xm, xp, ym, yp, curvature, zp, rx, ry, rz):
        """`physics.second_difference`, with zm - 2c at hand; fma(-2, c, s) rounds as s - (c + c) does."""
        dx, dy = fma(minus_two, c, xm + xp), fma(minus_two, c, ym + yp)
        return fma(rz, curvature + zp, fma(ry, dy, fma(rx, dx, start)))

    def less_twice(c, zm):
        return fma(minus_two, c, zm)

    def heated(c, dt, rate):
        return fma(dt, rate, c)

    def either(flag, one, other):
        return one if flag else other

    stepped, lessened, warmed, chosen = each(new_value), each(less_twice), each(heated), each(either)
    beyond = each(physics.ghost)
    first_column, last_column = part(slice(0, None, columns)), part(slice(columns - 1, None, columns))
    top, bottom = part(slice(0, columns)), part(slice(-columns, None))
    but_bottom, but_top = part(slice(0, -columns)), part(slice(columns, None))
    from_lanes, to_right, to_left = from_neighbours(columns), entering_left(columns), entering_right(columns)
    read_ends, write_ends = load_rows(columns, True), store_rows(columns, True)

    def level(n, state, above, k, board, read, write, lane, span, rates):
        curvature, cells = state
        shift, at = uint64(n * int32(skip)), uint64(n * int32(NUMBERS))
        beside = read_ends(board, read + shift + lane.ends - uint64(width), (uint32(0), uint32(3 * width)))
        up, down = top(beside), bottom(beside)
        left, right = from_lanes(cells)
        if wall_x:
            a, b = board[lane.wall_x + at], board[lane.wall_x + at + uint64(1)]
            left = chosen(lane.at_left, beyond(first_column(cells), a, b), left)
            right = chosen(lane.at_right, beyond(last_column(cells), a, b), right)
        if wall_y:
            a, b = board[lane.wall_y + at], board[lane.wall_y + at + uint64(1)]
            up = chosen(lane.at_top, beyond(top(cells), a, b), up)
            down = chosen(lane.at_bottom, beyond(bottom(cells), a, b), down)
        at = at + uint64(numbers)
        zp, start = above, cells
        p = int32(k - int32(1) - n)
        if wall_z:
            if p == int32(0):
                zm = beyond(cells, board[at + uint64(8)], board[at + uint64(9)])
                curvature = lessened(cells, zm)
            if p == int32(span.nz - int32(1)):
                zp = beyond(cells, board[at + uint64(10)], board[at + uint64(11)])
        if with_heat:
            start = warmed(cells, rates.dt, board[at + uint64(HEAT)])
        xm, xp = to_right(cells, left), to_left(cells, right)
        ym, yp = up + but_bottom(cells), but_top(cells) + down
        new = stepped(start, cells, xm, xp, ym, yp, curvature, zp, rates.rx, rates.ry, rates.rz)
        ends = uint32(0), uint32(width)
        write_ends(board, write + shift + lane.ends, ends, top(above) + bottom(above), uint32(3))
        return (lessened(above, cells), above), new

    return cascade(level)


def build_trace(structure: Structure, tile: Tile, walls: Walls):
    """call(states, k, lane, span, trace) writes the cells beside walls that the levels made in this turn, k.

    The trace holds for each step but the last the FACES one after another, each in C order of its two axes.
    """
    wrap_x, wrap_y, wrap_z = structure.periodic
    wall_x, wall_y, wall_z = walls.xy and not wrap_x, walls.xy and not wrap_y, walls.z and not wrap_z
    columns = tile.columns
    first_column, last_column = part(slice(0, None, columns)), part(slice(columns - 1, None, columns))
    top, bottom = part(slice(0, columns)), part(slice(-columns, None))
    write_column, write_rows = store_rows(1, False), store_rows(columns, False)

    def leave(n, state, k, lane, span, trace):
        p = int32(k - int32(1) - n)
        if n > 0 and p >= span.first and p < span.end:
            _, cells = state
            base = uint64(int32(n - int32(1))) * span.trace
            beside_x = base + uint64(lane.trace_x) + uint64(p) * uint64(span.ny)
            beside_y = base + uint64(lane.trace_y) + uint64(p) * uint64(span.nx)
            if wall_x and lane.at_left:
                write_column(trace, beside_x, span.side, first_column(cells), lane.owned)
            if wall_x and lane.at_right:
                write_column(trace, beside_x, span.side, last_column(cells), lane.owned)
            if wall_y and lane.at_top and lane.owned > 0:
                write_rows(trace, beside_y, (uint32(0),), top(cells), uint32(1))
            if wall_y and lane.at_bottom and lane.owned > 0:
                write_rows(trace, beside_y, (uint32(0),), bottom(cells), uint32(1))
            if wall_z and p == int32(0):
                write_rows(trace, base + uint64(lane.trace_z), span.rows, cells, lane.owned)
            if wall_z and p == int32(span.nz - int32(1)):
                write_rows(trace, base + uint64(lane.trace_z) + span.plane, span.rows, cells, lane.owned)
        return state, k

    return cascade(leave)
