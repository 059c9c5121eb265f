"""CUDA: the boundary trace of a sweep of `temporal`, the cells beside the faces before each step, for the ledger.

    some turns: lanes at ends in x and y put the        then one turn: all warps of the block write what is there to
    cells that they hold into a ring on the board       the trace, line by line; a line of cells is one there, too

At the end of each plane all warps wait for the slowest. Putting cells on the board takes no waiting; the way from there
to memory does. So it is gone once in several turns, by all warps at once. Ends in z are few: there lanes write their
cells themselves. What the places are made of is asked for anew each time: to keep it would take registers.

The trace has all levels, also the first, which is the field before the sweep: there cells at ends in x lie far apart,
and to read them later would cost as much as all else.
"""

from __future__ import annotations

from numba import int32, uint32, uint64

from heatsim_kernels.device.cuda.api import inlined
from heatsim_kernels.device.cuda.register_tuples import cascade, each, part
from heatsim_kernels.device.cuda.warp_rows import WARP, anew, store_rows, thread_anew
from heatsim_kernels.explicit.blocked.board import Board
from heatsim_kernels.explicit.blocked.level import either
from heatsim_kernels.explicit.blocked.periodic_index import into
from heatsim_kernels.explicit.blocked.plan import TemporalTile, TouchedFaces
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration


def build_buffer(configuration: StencilConfiguration, tile: TemporalTile, touched: TouchedFaces):
    """Build call(states, k, lane, board), which puts the cells beside the faces of x and y that came to the levels in
    turn k into the ring."""
    at_x, at_y = touched.x and not configuration.periodic[0], touched.y and not configuration.periodic[1]
    columns, rows, height, width, ring = tile.columns, tile.rows, tile.height, tile.width, Board.of(tile, configuration)
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
    def buffer(states, k, lane, board):
        if at_x and (lane.at_left or lane.at_right):
            _, band = thread_anew()
            at = uint64(at_columns) + uint64(k & int32(turns - 1)) * uint64(turn) + uint64(band * int32(rows))
            put_columns(states, at + uint64(0 if lane.at_left else height), lane, board)
        if at_y and (lane.at_top or lane.at_bottom):
            tx, _ = thread_anew()
            at = uint64(at_rows) + uint64(k & int32(turns - 1)) * uint64(turn) + uint64(tx * int32(columns))
            put_rows(states, at + uint64(0 if lane.at_top else width), lane, board)

    return buffer


def build_writer(configuration: StencilConfiguration, tile: TemporalTile, touched: TouchedFaces):
    """Build call(states, k, lane, span, board, source, trace), which writes the cells beside the faces that came to the
    levels before turn k. source: the lane's first cell in the plane to ask for in this turn.

    The trace holds for each step the FACES one after another, each in C order of its two axes.
    """
    steps, (wrap_x, wrap_y, wrap_z) = tile.steps, configuration.periodic
    # The ring has one place more than a writing empties: while slow warps still read the places of earlier turns, fast
    # ones fill that of this turn. Between a place's writing here and its next filling lies the barrier that ends each
    # turn, and between its filling and its writing, too. So the ring needs no barrier of its own.
    every = Board.of(tile, configuration).turns - 1
    write_at_x, write_at_y, write_ends = _lines(configuration, tile, 0), _lines(configuration, tile, 1), _ends(tile)
    at_x, at_y, at_z = touched.x and not wrap_x, touched.y and not wrap_y, touched.z and not wrap_z

    @inlined
    def write_trace(states, k, lane, span, board, source, trace):
        # The last turn writes what is left over, and some of it for the second time.
        if k % int32(every) == int32(0) or k == int32(span.end - int32(1) + int32(steps)):
            for upper in range(2):
                if at_x:
                    write_at_x(upper, k, span, board, trace)
                if at_y:
                    write_at_y(upper, k, span, board, trace)
        if at_z:
            write_ends(states, k, lane, span, source, trace)

    return write_trace


def _lines(configuration, tile, axis):
    """Build call(upper, k, span, board, trace): if the tile lies at an end of `axis` (0 for x, 1 for y), half warps
    write the lines there that were put into the ring since the last writing. Stages leave few registers: whole warps
    there.
    """
    steps, bands, ring = tile.steps, tile.bands, Board.of(tile, configuration)
    extent, length = (tile.width, tile.height) if axis == 0 else (tile.height, tile.width)  # across and along the face
    across, along, wraps = ring.corner + 3 * axis, ring.corner + 3 * (1 - axis), configuration.periodic[1 - axis]
    sides, turn, turns = ring.sides + axis * ring.at_y, ring.turn, ring.turns
    parts = 1 if configuration.stage else 2
    lanes = WARP // parts

    @inlined
    def line_of(upper, n, p, span):
        """Where the line of plane p begins in the trace of level n."""
        nz, ny, nx = anew(span.nz), anew(span.ny), anew(span.nx)
        line = uint64(uint32(ny if axis == 0 else nx))
        before = uint64(uint32(nz)) * (uint64(uint32(upper)) * line + uint64(2 * axis) * uint64(uint32(ny)))
        return uint64(uint32(n)) * _boundary(span) + before + uint64(uint32(p)) * line

    @inlined
    def write_lines(upper, k, span, board, trace):
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

    return write_lines


def _ends(tile):
    """Build call(states, k, lane, span, source, trace): lanes write the cells beside the faces of z."""
    ahead, write = tile.ahead, store_rows(tile.columns, False)

    def write_level(n, state, k, lane, span, source, trace):
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

    write_levels = cascade(write_level)

    @inlined
    def ends(states, k, lane, span, source, trace):
        write_levels(states, k, lane, span, source, trace)

    return ends


@inlined
def _boundary(span):
    """Cells beside all six faces."""
    nz, ny, nx = uint64(uint32(anew(span.nz))), uint64(uint32(anew(span.ny))), uint64(uint32(anew(span.nx)))
    return uint64(2) * (nz * ny + nz * nx + ny * nx)
