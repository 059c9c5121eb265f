"""CUDA: the cells beside walls after each step of a sweep of `temporal`, left in memory for the energy ledger.

Few warps are at a wall, but all others of their block wait for them at the end of each plane. So where these cells go
is found anew in each turn, from what is at hand: kept, it would take registers that all lanes need.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import int32, uint32, uint64

from ..cuda_api import inlined
from ..cuda_lanes import anew, load_rows, store_rows, thread_anew
from ..cuda_tuples import cascade, counted, each, part
from .structure import Structure
from .temporal_level import Board
from .temporal_place import into, wrapped
from .temporal_plan import Tile, Walls


class Beside(NamedTuple):
    """Where the cells of a lane go in the trace, those of plane 0 after the first step: beside the wall at x and at y
    that it may touch, and at z_min. side: offsets of its rows at x; level: the values of a step."""

    x: int
    y: int
    z: int
    side: object
    level: int
    owned: int


def build(structure: Structure, tile: Tile, walls: Walls):
    """call(states, k, lane, span, board, trace) writes the cells beside walls that the levels made in this
    turn, k.

    The trace holds for each step but the last the FACES one after another, each in C order of its two axes.
    """
    wrap_x, wrap_y, wrap_z = structure.periodic
    wall_x, wall_y, wall_z = walls.xy and not wrap_x, walls.xy and not wrap_y, walls.z and not wrap_z
    columns, place = tile.columns, _place(structure, tile)
    first_column, last_column = part(slice(0, None, columns)), part(slice(columns - 1, None, columns))
    top, bottom = part(slice(0, columns)), part(slice(-columns, None))
    write_column, write_rows = store_rows(1, False), store_rows(columns, False)

    def either(flag, one, other):
        return one if flag else other

    chosen = each(either)

    def leave(n, state, k, lane, span, beside, trace):
        p = int32(k - int32(1) - n)
        if n > 0 and p >= span.first and p < span.end:
            _, cells = state
            level, plane = uint64(int32(n - int32(1))) * beside.level, uint64(uint32(p))
            if wall_x and (lane.at_left or lane.at_right):
                outer = chosen(lane.at_left, first_column(cells), last_column(cells))
                at = beside.x + level + plane * uint64(uint32(span.ny))
                write_column(trace, at, beside.side, outer, beside.owned)
            if wall_y and (lane.at_top or lane.at_bottom) and beside.owned > 0:
                outer = chosen(lane.at_top, top(cells), bottom(cells))
                at = beside.y + level + plane * uint64(uint32(span.nx))
                write_rows(trace, at, (uint32(0),), outer, uint32(1))
            if wall_z and p == int32(0):
                write_rows(trace, beside.z + level, span.rows, cells, beside.owned)
            if wall_z and p == int32(span.nz - int32(1)):
                write_rows(trace, beside.z + level + span.plane, span.rows, cells, beside.owned)
        return state, k

    leave_all = cascade(leave)

    @inlined
    def leave_trace(states, k, lane, span, board, trace):
        leave_all(states, k, lane, span, place(board, lane, span), trace)

    return leave_trace


def _place(structure: Structure, tile: Tile):
    """call(board, lane, span): the `Beside` of a lane."""
    wrap_x, wrap_y, _ = structure.periodic
    columns, rows, count_rows, around = tile.columns, tile.rows, counted(tile.rows), each(wrapped)
    at, corner = Board.of(tile, structure).corner, load_rows(2, True)

    @inlined
    def place(board, lane, span):
        (tx, band), (x0, y0) = thread_anew(), corner(board, uint64(at), (uint32(0),))
        nz, ny, nx = anew(span.nz), anew(span.ny), anew(span.nx)
        x, y = int32(int32(x0) + tx * int32(columns)), int32(int32(y0) + band * int32(rows))
        x_face, y_face = uint64(uint32(nz * ny)), uint64(uint32(nz * nx))
        if wrap_x:
            x = into(x, nx)
        if wrap_y:
            side, y = around(count_rows(uint32(into(y, ny)), uint32(1)), uint32(ny)), int32(0)
        else:
            side = count_rows(uint32(0), uint32(1))
        after_x, after_y = uint64(2) * x_face, uint64(2) * (x_face + y_face)
        return Beside(
            (x_face if lane.at_right else uint64(0)) + uint64(uint32(y)),
            after_x + (y_face if lane.at_bottom else uint64(0)) + uint64(uint32(x)),
            after_y + uint64(uint32(y)) * uint64(uint32(nx)) + uint64(uint32(x)),
            side,
            after_y + uint64(2) * uint64(uint32(ny * nx)),
            uint32(anew(int32(lane.owned))),
        )

    return place
