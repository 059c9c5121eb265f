"""CUDA: the exchange rates of a lane's cells in `temporal`, looked up by class in shared memory or held in registers.

Mostly all rows of a lane are of one material, and all planes of the levels have the same classes. Then a lane holds the
rates of its rows from turn to turn. Else they are looked up row by row or cell by cell: see `turn_kinds`. On the board
the rates of the classes begin at `rates_at`, RATES apart.
"""

from __future__ import annotations

from numba import uint32, uint64

from heatsim_kernels.device.cuda.api import inlined
from heatsim_kernels.device.cuda.register_tuples import each, part
from heatsim_kernels.device.cuda.warp_rows import load_rows
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.explicit.cuda_cell.cell_update import RATES
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration


def rates_held(configuration: StencilConfiguration, tile: TemporalTile) -> int:
    """How many rates a lane holds in registers from level to level and from turn to turn: in layers the last that it
    looked up, by cell class those of turns that are STILL."""
    if configuration.uniform or not configuration.class_dtype:
        return 0
    return 4 if configuration.layered else tile.columns * (3 if configuration.paired else 6)


def build_rates_of_rows(configuration: StencilConfiguration, tile: TemporalTile, rates_at: int):
    """Build call(cells, classes, board): the rates of a lane's cells in a turn that is STILL or BY_ROW (`turn_kinds`).
    Of its first row: through both faces in x, above it, between rows, through both faces in z; then below the last row.
    Or, where faces along x have one rate, and along y: in x, in y, through both faces in z."""
    first_row, last_row = part(slice(0, tile.columns)), part(slice(-tile.columns, None))
    rate_xm, rate_xp, rate_ym, rate_yp, rate_zm, rate_zp = (each(rate_on_board(rates_at, face)) for face in range(6))

    @inlined
    def of_faces(cells, classes, board):
        c, k = first_row(cells), first_row(classes)
        in_x, in_y = (rate_xm(c, k, board), rate_xp(c, k, board)), (rate_ym(c, k, board), rate_yp(c, k, board))
        in_z = rate_zm(c, k, board), rate_zp(c, k, board)
        return in_x + in_y + in_z + (rate_yp(last_row(cells), last_row(classes), board),)

    @inlined
    def of_axes(cells, classes, board):
        c, k = first_row(cells), first_row(classes)
        return rate_xm(c, k, board), rate_ym(c, k, board), rate_zm(c, k, board), rate_zp(c, k, board)

    return of_axes if configuration.paired else of_faces


def build_rates_to_hold(configuration: StencilConfiguration, tile: TemporalTile, rates_at: int):
    """Build call(cells, classes, board): the rates that a lane holds in turns that are STILL, flat: those of
    `build_rates_of_rows`, with one for both faces in z."""
    rates_of = build_rates_of_rows(configuration, tile, rates_at)

    @inlined
    def of_faces(cells, classes, board):
        xm, xp, top, between, z, _, bottom = rates_of(cells, classes, board)
        return xm + xp + top + between + z + bottom

    @inlined
    def of_axes(cells, classes, board):
        x, y, z, _ = rates_of(cells, classes, board)
        return x + y + z

    return of_axes if configuration.paired else of_faces


def build_held_rates(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(held): what `build_rates_of_rows` gives, from what `build_rates_to_hold` gave."""
    columns = tile.columns
    first, second, third, fourth, fifth, sixth = (part(slice(at * columns, (at + 1) * columns)) for at in range(6))

    @inlined
    def of_faces(held):
        z = fifth(held)
        return first(held), second(held), third(held), fourth(held), z, z, sixth(held)

    @inlined
    def of_axes(held):
        return first(held), second(held), third(held), third(held)

    return of_axes if configuration.paired else of_faces


def rates_of_faces(rates_at: int):
    """Build call(cell_class, board): the six rates of a class."""
    four, two = load_rows(4, True), load_rows(2, True)

    @inlined
    def rates(cell_class, board):
        at = uint64(rates_at) + uint64(cell_class) * uint64(RATES)
        return four(board, at, (uint32(0),)) + two(board, at, (uint32(4),))

    return rates


def rates_of_layer(rates_at: int):
    """Build call(cell_class, board): the rates of a class in x, in y, and through both faces in z."""
    of_faces = rates_of_faces(rates_at)

    @inlined
    def rates(cell_class, board):
        xm, _, ym, _, zm, zp = of_faces(cell_class, board)
        return xm, ym, zm, zp

    return rates


def rate_on_board(rates_at: int, place: int):
    """Build call(cell, cell_class, board): the number at a place of the rates of a class."""

    def rate(cell, cell_class, board):
        return board[uint64(rates_at + place) + uint64(cell_class) * uint64(RATES)]

    return rate
