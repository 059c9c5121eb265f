"""CUDA: the cells beside walls before each step of a sweep of `temporal`, left in memory for the energy ledger.

    turn k: lanes at walls of x put the     turn k + 1: for each wall and level one warp takes the line of cells
    cells they hold on the board            from the board, and writes it to the trace, where it is a line, too

At the end of each plane all warps wait for the slowest. So lanes at walls do little, and lines are shared out among
warps. Those along x are on the board at any rate, for the bands beside. Ends in z are few: lanes write their cells
themselves. What places are made of is asked for anew in each turn: kept, it would take registers.

The trace has all levels, the first as well, which is the field before the sweep: cells at walls of x lie far apart
there, and reading them later would cost as much as all else.
"""

from __future__ import annotations

from numba import int32, uint32, uint64

from ..cuda_api import inlined
from ..cuda_lanes import WARP, anew, store_rows, thread_anew
from ..cuda_tuples import cascade, each, part
from .structure import Structure
from .temporal_level import Board
from .temporal_place import into
from .temporal_plan import Tile, Walls

SIDES = 4  # walls at x and y, FACES in order


def build_put(structure: Structure, tile: Tile):
    """call(states, k, lane, board) puts the cells beside walls at x that came to the levels in turn k on the board."""
    columns, rows, layout = tile.columns, tile.rows, Board.of(tile, structure)
    first_column, last_column = part(slice(0, None, columns)), part(slice(columns - 1, None, columns))
    sides, buffer, side, line = layout.sides, layout.sides_buffer, layout.side, tile.height
    chosen, write = each(_either), store_rows(rows, True)

    def put_level(n, state, at, lane, board):
        _, cells = state
        outer = chosen(lane.at_left, first_column(cells), last_column(cells))
        write(board, at + uint64(n * int32(line)), (uint32(0),), outer, uint32(1))
        return state, at

    put_levels = cascade(put_level)

    @inlined
    def put(states, k, lane, board):
        if lane.at_left or lane.at_right:
            _, band = thread_anew()
            at = uint64(sides) + uint64(k & int32(1)) * uint64(buffer) + uint64(band * int32(rows))
            put_levels(states, at + uint64(0 if lane.at_left else side), lane, board)

    return put


def build(structure: Structure, tile: Tile, walls: Walls):
    """call(states, k, lane, span, board, read, source, trace) writes the cells beside walls that came to the levels in
    the turn before this, k; `source`: the first cell of the lane in the plane to fetch in this turn.

    The trace holds for each step the FACES one after another, each in C order of its two axes.
    """
    leave_lines, leave_ends = _lines(structure, tile), _ends(tile)
    at_sides, at_ends = walls.xy and not all(structure.periodic[:2]), walls.z and not structure.periodic[2]

    @inlined
    def leave(states, k, lane, span, board, read, source, trace):
        if at_sides:
            leave_lines(k, span, board, read, trace)
        if at_ends:
            leave_ends(states, k, lane, span, source, trace)

    return leave


def _lines(structure, tile):
    """call(k, span, board, read, trace): a warp writes the lines that fall to it."""
    wrap_x, wrap_y, _ = structure.periodic
    steps, bands, width, height, layout = tile.steps, tile.bands, tile.width, tile.height, Board.of(tile, structure)
    skip, corner, last_row = layout.level, layout.corner, (2 * tile.bands - 1) * tile.width
    sides, buffer, side_size = layout.sides, layout.sides_buffer, layout.side

    @inlined
    def line_at_x(upper, n, k, p, tx, span, board, trace):
        if int32(board[corner]) != (int32(span.nx - int32(width)) if upper else int32(0)):
            return
        y0, top, bottom = int32(board[corner + 3]), int32(board[corner + 4]), int32(board[corner + 5])
        face = uint64(uint32(anew(span.nz))) * uint64(uint32(span.ny))
        target = uint64(uint32(n)) * _boundary(span) + uint64(uint32(p)) * uint64(uint32(span.ny))
        source = uint64(sides) + uint64((k + int32(1)) & int32(1)) * uint64(buffer) + uint64(n * int32(height))
        if upper:
            target, source = uint64(target + face), uint64(source + uint64(side_size))
        while tx < int32(height):
            y = int32(y0 + tx)
            if y >= top and y < bottom:
                trace[target + uint64(uint32(into(y, span.ny) if wrap_y else y))] = board[source + uint64(tx)]
            tx = int32(tx + int32(WARP))

    @inlined
    def line_at_y(upper, n, p, tx, span, board, read, trace):
        if int32(board[corner + 3]) != (int32(span.ny - int32(height)) if upper else int32(0)):
            return
        x0, left, right = int32(board[corner]), int32(board[corner + 1]), int32(board[corner + 2])
        before = uint64(2) * uint64(uint32(anew(span.nz))) * uint64(uint32(span.ny))
        face = uint64(uint32(anew(span.nz))) * uint64(uint32(span.nx))
        target = uint64(uint32(n)) * _boundary(span) + before + uint64(uint32(p)) * uint64(uint32(span.nx))
        source = read + uint64(n * int32(skip))
        if upper:
            target, source = uint64(target + face), uint64(source + uint64(last_row))
        while tx < int32(width):
            x = int32(x0 + tx)
            if x >= left and x < right:
                trace[target + uint64(uint32(into(x, span.nx) if wrap_x else x))] = board[source + uint64(tx)]
            tx = int32(tx + int32(WARP))

    @inlined
    def lines(k, span, board, read, trace):
        tx, item = thread_anew()
        while item < int32(SIDES * steps):
            side, n = int32(item // int32(steps)), int32(item % int32(steps))
            p = int32(k - int32(1) - n)
            if p >= span.first and p < span.end:
                upper = side % int32(2) == int32(1)
                if side < int32(2):
                    if not wrap_x:
                        line_at_x(upper, n, k, p, tx, span, board, trace)
                elif not wrap_y:
                    line_at_y(upper, n, p, tx, span, board, read, trace)
            item = int32(item + int32(bands))

    return lines


def _ends(tile):
    """call(states, k, lane, span, source, trace): the lanes write the planes beside walls of z."""
    columns, ahead = tile.columns, tile.ahead
    write = store_rows(columns, False)

    def leave_level(n, state, k, lane, span, source, trace):
        _, cells = state
        p = int32(k - int32(1) - n)
        last = int32(span.nz - int32(1))
        if (p == int32(0) or p == last) and p >= span.first and p < span.end:
            cell = uint64(source - uint64(int32(ahead) + int32(1) + n) * span.plane)  # of the field
            at = uint64(n + int32(1)) * _boundary(span) - uint64(2) * span.plane
            if p == int32(0):
                write(trace, at + cell, span.rows, cells, lane.owned)
            if p == last:
                at_end = uint64(at + span.plane + cell - uint64(uint32(p)) * span.plane)
                write(trace, at_end, span.rows, cells, lane.owned)
        return state, k

    leave_levels = cascade(leave_level)

    @inlined
    def ends(states, k, lane, span, source, trace):
        leave_levels(states, k, lane, span, source, trace)

    return ends


@inlined
def _boundary(span):
    """Cells of all faces."""
    nz, ny, nx = (uint64(uint32(anew(span.nz))), uint64(uint32(anew(span.ny))), uint64(uint32(anew(span.nx))))
    return uint64(2) * (nz * ny + nz * nx + ny * nx)


def _either(flag, one, other):
    return one if flag else other
