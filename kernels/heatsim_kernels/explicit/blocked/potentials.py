"""CUDA: Kirchhoff's potential of the cells of a lane, in `temporal` of a temperature-dependent material.

    phi(u) = a + d (b + d (c + d e)),   d = u - knot,   of the last piece whose knot is not above u

A block brings the pieces to shared memory, PIECE numbers each. The cells of a lane lie close together in the grid, and
mostly all on one piece, which also served the plane before. So a lane guesses the piece, and finds out whether it
serves its least cell and its greatest. If not, it goes on to the pieces above and below, for all cells that lie there.
A search for each cell takes more time, since shared memory hands out a quarter of the numbers that a multiprocessor
could multiply meanwhile; and without a guess, each level waits for a search before it can begin.
"""

from __future__ import annotations

import numpy as np
from numba import uint32, uint64

from heatsim_kernels.device.cuda.api import inlined
from heatsim_kernels.device.cuda.register_tuples import each, least_and_greatest, order_of
from heatsim_kernels.device.cuda.warp_rows import everywhere, load_rows
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

PIECE = 8  # numbers of a piece: knot, a, b, c; e, from where on it serves, the next knot, and one that means nothing
GUESS = 16  # bits of a guess, which is where a piece begins among the numbers of all


def piece_rows(pieces: np.ndarray) -> np.ndarray:
    """The pieces of a potential as kernels take them, (PIECE * n,), from their knots, a, b, c and e (5, n).

    Knots of pieces that there are not are infinite. The first piece serves all that is below the second knot. Before
    the first and behind the last comes no knot that anything reaches: not even cells that are infinite, as what lies
    beyond a tile may be.
    """
    rows = np.zeros((pieces.shape[1], PIECE))
    rows[:, :5] = pieces.T
    rows[0, 5], rows[1:, 5] = np.nan, pieces[0, 1:]
    following = np.append(pieces[0, 1:], np.inf)
    rows[:, 6] = np.where(np.isfinite(following), following, np.nan)
    return rows.reshape(-1)


def build_guess(configuration: StencilConfiguration, pieces_at: int):
    """Build call(noted, held, board, lane, span, k, cell_classes, plane): see `plane_notes.build_note`.

    The lower bits of a note are the piece that is guessed in this turn, for all levels: that of a cell of the plane
    before. The upper bits are that of a cell of this plane. So no level waits for a search.
    """
    count = configuration.pieces

    @inlined
    def guess(noted, held, board, lane, span, k, cell_classes, plane):
        u, at = plane[0], uint32(0)
        for half in (8, 4, 2, 1):
            ahead = uint32(at + uint32(half * PIECE))
            if half < count and u >= board[uint64(ahead + uint32(pieces_at))]:
                at = ahead
        return uint32(noted >> uint32(GUESS)) | uint32(at << uint32(GUESS)), held

    return guess


def build_potentials(configuration: StencilConfiguration, pieces_at: int):
    """Build call(cells, noted, board): the potentials of a lane's cells; the pieces begin at `pieces_at` on the
    board."""
    four, count, cubic, nowhere = load_rows(4, True), configuration.pieces, configuration.cubic, (uint32(0),)

    def on_piece(u, knot, a, b, c, e):
        d = u - knot
        return fma(fma(fma(e, d, c), d, b) if cubic else fma(c, d, b), d, a)

    at_piece = inlined(on_piece)

    def above(found, u, knot, a, b, c, e):
        return at_piece(u, knot, a, b, c, e) if u >= knot else found

    def below(found, u, end, knot, a, b, c, e):
        return at_piece(u, knot, a, b, c, e) if u < end else found

    of_all, of_those_above, of_those_below = each(on_piece), each(above), each(below)

    @inlined
    def numbers(at, board):
        place = uint64(at + uint32(pieces_at))
        return four(board, place, nowhere), four(board, place + uint64(4), nowhere)

    @inlined
    def potentials(cells, noted, board):
        guessed = uint32(noted & uint32((1 << GUESS) - 1))
        (knot, a, b, c), (e, first, following, _) = numbers(guessed, board)
        found = of_all(cells, knot, a, b, c, e)
        if count > 1:
            # The whole warp goes one way or the other: so the compiler need not provide for lanes that part. A lane
            # that goes too far finds no cells there.
            least, greatest = least_and_greatest(cells)
            at = guessed
            while not everywhere(not greatest >= order_of(following)):
                at = min(uint32(at + uint32(PIECE)), uint32((count - 1) * PIECE))
                (knot, a, b, c), (e, _, following, _) = numbers(at, board)
                found = of_those_above(found, cells, knot, a, b, c, e)
            at = guessed
            while not everywhere(not least <= order_of(first)):
                at, end = uint32(max(at, uint32(PIECE)) - uint32(PIECE)), first
                (knot, a, b, c), (e, first, _, _) = numbers(at, board)
                found = of_those_below(found, cells, end, knot, a, b, c, e)
        return found

    return potentials
