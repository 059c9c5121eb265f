"""CUDA: the cells beside walls before each step of a sweep of `temporal`, left in memory for the energy ledger.

    some turns: lanes at walls of x and y put the        next turn: all warps of the block write what is there, line by
    cells they hold into a ring on the board             line, to the trace, where a line of cells is one, too

At the end of each plane all warps wait for the slowest. Putting cells down takes no waiting, and the way from the board
to memory, which does, is gone once in several turns, by all warps at once. Ends in z are few: there lanes write their
cells themselves. What places are made of is asked for anew each time: kept, it would take registers.

The trace has all levels, the first as well, which is the field before the sweep: cells at walls of x lie far apart
there, and reading them later would cost as much as all else.
"""

from __future__ import annotations

from numba import int32, uint32, uint64

from heatsim_kernels.runtime.cuda.api import inlined
from heatsim_kernels.runtime.cuda.register_tuples import cascade, each, part
from heatsim_kernels.runtime.cuda.warp_rows import WARP, anew, store_rows, thread_anew
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.temporal.level import Board, either
from heatsim_kernels.stencil.temporal.plan import TemporalTile, TileWalls
from heatsim_kernels.stencil.temporal.setup import into


def build_put(structure: StencilConfiguration, tile: TemporalTile, walls: TileWalls):
    """call(states, k, lane, board) puts the cells beside walls of x and y that came to the levels in turn k into the
    ring."""
    at_x, at_y = walls.x and not structure.periodic[0], walls.y and not structure.periodic[1]
    columns, rows, height, width, ring = tile.columns, tile.rows, tile.height, tile.width, Board.of(tile, structure)
    first_column, last_column = part(slice(0, None, columns)), part(slice(columns - 1, None, columns))
    top, bottom = part(slice(0, columns)), part(slice(-columns, None))
    at_columns, at_rows, turn, turns = ring.sides, ring.sides + ring.at_y, ring.turn, ring.turns
    chosen, write_column, write_row = each(either), store_rows(rows, True), store_rows(columns, True)

    def put_column(n, state, at, lane, board):
        outer = chosen(lane.at_left, first_column(state[1]), last_column(state[1]))
        write_column(board, at + uint64(n * int32(2 * height)), (uint32(0),), outer, uint32(1))
        return state, at

    def put_row(n, state, at, lane, board):
        outer = chosen(lane.at_top, top(state[1]), bottom(state[1]))
        write_row(board, at + uint64(n * int32(2 * width)), (uint32(0),), outer, uint32(1))
        return state, at

    put_columns, put_rows = cascade(put_column), cascade(put_row)

    @inlined
    def put(states, k, lane, board):
        if at_x and (lane.at_left or lane.at_right):
            _, band = thread_anew()
            at = uint64(at_columns) + uint64(k & int32(turns - 1)) * uint64(turn) + uint64(band * int32(rows))
            put_columns(states, at + uint64(0 if lane.at_left else height), lane, board)
        if at_y and (lane.at_top or lane.at_bottom):
            tx, _ = thread_anew()
            at = uint64(at_rows) + uint64(k & int32(turns - 1)) * uint64(turn) + uint64(tx * int32(columns))
            put_rows(states, at + uint64(0 if lane.at_top else width), lane, board)

    return put


def build(structure: StencilConfiguration, tile: TemporalTile, walls: TileWalls):
    """call(states, k, lane, span, board, source, trace) writes cells beside walls that came to the levels before this
    turn, k; `source`: the first cell of the lane in the plane to fetch in this turn.

    The trace holds for each step the FACES one after another, each in C order of its two axes.
    """
    steps, (wrap_x, wrap_y, wrap_z) = tile.steps, structure.periodic
    every = Board.of(tile, structure).turns - 1  # one place of the ring may be filled while others are emptied
    leave_at_x, leave_at_y, leave_ends = _lines(structure, tile, 0), _lines(structure, tile, 1), _ends(tile)
    at_x, at_y, at_z = walls.x and not wrap_x, walls.y and not wrap_y, walls.z and not wrap_z

    @inlined
    def leave(states, k, lane, span, board, source, trace):
        # In the last turn what is left over is written; some of it has been.
        if k % int32(every) == int32(0) or k == int32(span.end - int32(1) + int32(steps)):
            for upper in range(2):
                if at_x:
                    leave_at_x(upper, k, span, board, trace)
                if at_y:
                    leave_at_y(upper, k, span, board, trace)
        if at_z:
            leave_ends(states, k, lane, span, source, trace)

    return leave


def _lines(structure, tile, axis):
    """call(upper, k, span, board, trace): half warps (warps for stages, which have few registers) write the lines
    beside a wall of `axis`, 0 for x and 1 for y, that were put down since the last were written, if the tile is there.
    """
    steps, bands, ring = tile.steps, tile.bands, Board.of(tile, structure)
    extent, length = (tile.width, tile.height) if axis == 0 else (tile.height, tile.width)  # across and along the wall
    across, along, wraps = ring.corner + 3 * axis, ring.corner + 3 * (1 - axis), structure.periodic[1 - axis]
    sides, turn, turns = ring.sides + axis * ring.at_y, ring.turn, ring.turns
    parts = 1 if structure.stage else 2
    lanes = WARP // parts

    @inlined
    def line_of(upper, n, p, span):
        """Where the line of a plane would be in the trace if the wall were as long."""
        nz, ny, nx = anew(span.nz), anew(span.ny), anew(span.nx)
        line = uint64(uint32(ny if axis == 0 else nx))
        before = uint64(uint32(nz)) * (uint64(uint32(upper)) * line + uint64(2 * axis) * uint64(uint32(ny)))
        return uint64(uint32(n)) * _boundary(span) + before + uint64(uint32(p)) * line

    @inlined
    def lines(upper, k, span, board, trace):
        if int32(board[across]) == (
            int32(anew(span.nx if axis == 0 else span.ny) - int32(extent)) if upper else int32(0)
        ):
            first, low, high = int32(board[along]), int32(board[along + 1]), int32(board[along + 2])
            lane, item = thread_anew()
            if parts > 1:
                lane, item = int32(lane % int32(lanes)), int32(int32(parts) * item + lane // int32(lanes))
            while item < int32((turns - 1) * steps):
                n, j = int32(item % int32(steps)), int32(k - int32(1) - item // int32(steps))
                p = int32(j - n)
                if p >= span.first and p < span.end:
                    source = uint64(sides) + uint64(j & int32(turns - 1)) * uint64(turn)
                    source = uint64(source + uint64(n * int32(2 * length)) + uint64(upper * length))
                    target = line_of(upper, n, p, span)
                    for i in range(0, length, lanes):
                        own = int32(lane + i)
                        place = int32(first + own)
                        if own < length and place >= low and place < high:
                            if wraps:
                                place = into(place, anew(span.ny if axis == 0 else span.nx))
                            trace[target + uint64(uint32(place))] = board[source + uint64(own)]
                item = int32(item + int32(parts * bands))

    return lines


def _ends(tile):
    """call(states, k, lane, span, source, trace): lanes write the cells beside walls of z."""
    ahead, write = tile.ahead, store_rows(tile.columns, False)

    def leave_level(n, state, k, lane, span, source, trace):
        _, cells = state
        p = int32(k - int32(1) - n)
        last = int32(span.nz - int32(1))
        if (p == int32(0) or p == last) and p >= span.first and p < span.end:
            # From where the lane is in the field to where it is in the plane beside z_min.
            back = uint64(int32(ahead) + int32(1) + n + p) * span.plane
            at = uint64(uint64(n + int32(1)) * _boundary(span) - uint64(2) * span.plane + source - back)
            if p == int32(0):
                write(trace, at, span.rows, cells, lane.owned)
            if p == last:
                write(trace, at + span.plane, span.rows, cells, lane.owned)
        return state, k

    leave_levels = cascade(leave_level)

    @inlined
    def ends(states, k, lane, span, source, trace):
        leave_levels(states, k, lane, span, source, trace)

    return ends


@inlined
def _boundary(span):
    """Cells of all faces."""
    nz, ny, nx = uint64(uint32(anew(span.nz))), uint64(uint32(anew(span.ny))), uint64(uint32(anew(span.nx)))
    return uint64(2) * (nz * ny + nz * nx + ny * nx)
