"""CUDA: the physics of a level of `temporal`, for all cells of a lane in a plane; see `explicit.physics`.

What a level keeps of the plane below is what a step needs of it, called `low`: zm - 2c in a uniform material, else c -
zm. It is made a turn ahead. So the functions of `physics` that add differences are written here once more, with the
same operations in the same order. Where each face has a rate, two cells share the difference between them: what one
adds with a rate the other subtracts, and both round alike.

Where there are several cell classes, cells come with theirs, and with their rates (`class_rates`).
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from heatsim_kernels.device.cuda.api import inlined
from heatsim_kernels.device.cuda.register_tuples import (
    cycled,
    each,
    entering_left,
    entering_right,
    part,
    repeated,
)
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.blocked.class_rates import (
    build_held_rates,
    build_rates_of_rows,
    rate_on_board,
    rates_of_faces,
    rates_of_layer,
)
from heatsim_kernels.explicit.blocked.ghosts import BOUNDARY
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.explicit.cuda_cell.cell_update import LOSS
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration


def build_low(configuration: StencilConfiguration):
    """Build call(c, zm): `low` of a plane and the one below."""
    minus_two = np.dtype(configuration.dtype).type(-2)

    def less_twice(c, zm):
        return fma(minus_two, c, zm)

    def less(c, zm):
        return c - zm

    return each(less_twice if configuration.uniform else less)


def build_step(configuration: StencilConfiguration, tile: TemporalTile, rates_at: int, holds: bool, by_row: bool):
    """Build call(cells, sides, low, zp, classes, held, rates, board, at): the cells one step later, or for a stage
    dt L of them; and the rates that the lane holds then. sides: those to the left and right, above and below.

    holds: whether rates are held that serve these cells: of their layer, see `rates_held`, or of a still turn, see
    `build_rates_to_hold`. by_row: whether the turn is BY_ROW (`turn_kinds`). On the board the numbers of the level
    begin at `at`, the rates of the classes at `rates_at`.
    """
    begin = _beginning(configuration, tile, rates_at)
    uniform, of_layer = (
        _of_cells_beside(tile, build(configuration)) for build in (_second_difference, _layer_differences)
    )
    of_rows, of_cells = _step_of_rows(configuration, tile), _step_of_cells(configuration, tile, rates_at)
    rates_of, to_above = rates_of_layer(rates_at), each(rise)
    held_rates, rates_of_rows = (
        build_held_rates(configuration, tile),
        build_rates_of_rows(configuration, tile, rates_at),
    )

    @inlined
    def of_axes(cells, sides, low, zp, classes, held, rates, board, at):
        of_axis = rates.rx, rates.ry, rates.rz
        return uniform(begin(cells, classes, rates, board, at), cells, sides, low, zp, of_axis), held

    @inlined
    def of_layers(cells, sides, low, zp, classes, held, rates, board, at):
        if not holds:
            held = rates_of(classes[0], board)
        return of_layer(begin(cells, classes, rates, board, at), cells, sides, low, to_above(cells, zp), held), held

    @inlined
    def of_material(cells, sides, low, zp, classes, held, rates, board, at):
        start = begin(cells, classes, rates, board, at)
        found = held_rates(held) if holds else rates_of_rows(cells, classes, board)
        return of_rows(start, cells, sides, low, to_above(cells, zp), found), held

    @inlined
    def of_classes(cells, sides, low, zp, classes, held, rates, board, at):
        start = begin(cells, classes, rates, board, at)
        return of_cells(start, cells, sides, low, to_above(cells, zp), classes, board), held

    if configuration.uniform:
        return of_axes
    if configuration.layered:
        return of_layers
    return of_material if holds or by_row else of_classes


def build_beginning(configuration: StencilConfiguration):
    """Build call(stored, from_below, rates, board, at): what the step of cells begins with that have potentials: what
    is stored of them, with their source, and what comes from the plane below, from which the potential rises so."""
    add_below, add_heat = each(_fall), each(_add_heat)
    with_heat, place = configuration.heat_table, heat_at(configuration)

    @inlined
    def begin(stored, from_below, rates, board, at):
        if with_heat:
            stored = add_heat(stored, rates.dt, board[at + uint64(place)])
        return add_below(stored, from_below, rates.rz)

    return begin


def build_step_of_potentials(tile: TemporalTile):
    """Build call(begun, cells, sides, to_above, rates): the rest of `physics.axis_differences`."""
    rises, add_rises, add_rise = _rises(tile), each(_add_rises), each(_add_rise)

    @inlined
    def step(begun, cells, sides, to_above, rates):
        dxm, dxp, dym, dyp = rises(cells, sides)
        return add_rise(add_rises(add_rises(begun, dxm, dxp, rates.rx), dym, dyp, rates.ry), to_above, rates.rz)

    return step


def _beginning(configuration, tile, rates_at):
    """Build call(cells, classes, rates, board, at): what differences are added to, the cells with their sources and
    losses, or for a stage these alone."""
    with_heat, losses, start_from = configuration.heat_table, configuration.losses, _start(configuration, tile)
    heat_of, add_heat = each(_heat(heat_at(configuration))), each(_add_heat)
    loss_of, take_loss = each(rate_on_board(rates_at, LOSS)), each(_take_loss)

    @inlined
    def begin(cells, classes, rates, board, at):
        start = start_from(cells)
        if with_heat:
            start = add_heat(start, rates.dt, heat_of(cells, classes, board, at))
        if losses:
            start = take_loss(start, cells, loss_of(cells, classes, board))
        return start

    return begin


def _step_of_rows(configuration, tile):
    """Build call(start, cells, sides, low, dzp, of_rows): `start` and what differences bring, dzp being that to the
    plane above; of_rows: see `build_rates_of_rows`."""
    rises, every_row, other_rows = _rises(tile), cycled(tile.rows), cycled(tile.rows - 1)
    of_faces, of_layer = each(_face_differences), _of_cells_beside(tile, _layer_differences(configuration))

    @inlined
    def by_face(start, cells, sides, low, dzp, of_rows):
        xm, xp, top, between, zm, zp, bottom = of_rows
        dxm, dxp, dym, dyp = rises(cells, sides)
        in_x, in_z = (every_row(xm), every_row(xp)), (every_row(zm), every_row(zp))
        in_y = top + other_rows(between), other_rows(between) + bottom
        return of_faces(start, dxm, dxp, dym, dyp, low, dzp, *in_x, *in_y, *in_z)

    @inlined
    def by_axis(start, cells, sides, low, dzp, of_rows):
        x, y, zm, zp = of_rows
        return of_layer(start, cells, sides, low, dzp, (every_row(x), every_row(y), every_row(zm), every_row(zp)))

    return by_axis if configuration.paired else by_face


def _step_of_cells(configuration, tile, rates_at):
    """Build call(start, cells, sides, low, dzp, classes, board): the same with the rates of each cell's class."""
    rises, of_each = _rises(tile), each(_own_differences(rates_at))
    of_own_layer = _of_cells_beside(tile, _own_layer_differences(configuration, rates_at))

    @inlined
    def by_face(start, cells, sides, low, dzp, classes, board):
        dxm, dxp, dym, dyp = rises(cells, sides)
        return of_each(start, dxm, dxp, dym, dyp, low, dzp, classes, board)

    @inlined
    def by_layer(start, cells, sides, low, dzp, classes, board):
        return of_own_layer(start, cells, sides, low, dzp, (classes, board))

    return by_layer if configuration.paired else by_face


def _of_cells_beside(tile, function):
    """Build call(start, cells, sides, low, above, others): `function` of each cell, those beside it along x and y, what
    is below and above, and others. sides: the cells to the left and right of those of a lane, above and below."""
    columns, of_each = tile.columns, each(function)
    but_bottom, but_top = part(slice(0, -columns)), part(slice(columns, None))
    to_right, to_left = entering_left(columns), entering_right(columns)

    @inlined
    def step(start, cells, sides, low, above, others):
        left, right, up, down = sides
        xm, xp, ym, yp = to_right(cells, left), to_left(cells, right), up + but_bottom(cells), but_top(cells) + down
        return of_each(start, cells, xm, xp, ym, yp, low, above, *others)

    return step


def _rises(tile):
    """Build call(cells, sides): how cells rise along x and y from the one before them and to the next one, each found
    once for the two cells that it lies between; sides: see `_of_cells_beside`."""
    columns, difference = tile.columns, each(rise)
    from_left, to_left = entering_left(columns), entering_right(columns)
    first_column, top = part(slice(0, None, columns)), part(slice(0, columns))
    but_bottom, but_top = part(slice(0, -columns)), part(slice(columns, None))

    @inlined
    def rises(cells, sides):
        left, right, up, down = sides
        in_x = difference(cells, to_left(cells, right))
        in_y = difference(cells, but_top(cells) + down)
        first_in_x, first_in_y = difference(left, first_column(cells)), difference(up, top(cells))
        return from_left(in_x, first_in_x), in_x, first_in_y + but_bottom(in_y), in_y

    return rises


def rise(one, next_one):
    """The difference from a cell to the next one along an axis."""
    return next_one - one


def _add_rises(start, from_before, to_next, rate):
    return fma(rate, to_next - from_before, start)


def _add_rise(start, to_next, rate):
    return fma(rate, to_next, start)


def _fall(start, from_before, rate):
    return fma(-rate, from_before, start)


def _second_difference(configuration):
    minus_two = np.dtype(configuration.dtype).type(-2)

    def second_difference(start, c, xm, xp, ym, yp, low, zp, rx, ry, rz):
        """`physics.second_difference` with zm - 2c given. 2c is exact, so fma(-2, c, s) rounds as s - (c + c) does."""
        dx, dy = fma(minus_two, c, xm + xp), fma(minus_two, c, ym + yp)
        return fma(rz, low + zp, fma(ry, dy, fma(rx, dx, start)))

    return second_difference


def _face_differences(start, dxm, dxp, dym, dyp, low, dzp, rxm, rxp, rym, ryp, rzm, rzp):
    """`physics.face_differences` with differences along the axes given, from the cell before and to the next."""
    start = fma(rxp, dxp, fma(-rxm, dxm, start))
    start = fma(ryp, dyp, fma(-rym, dym, start))
    return fma(rzp, dzp, fma(-rzm, low, start))


def _layer_differences(configuration):
    minus_two = np.dtype(configuration.dtype).type(-2)

    def layer_differences(start, c, xm, xp, ym, yp, low, dzp, rx, ry, rzm, rzp):
        """`physics.layer_differences` with differences along z given; see `_second_difference`."""
        start = fma(ry, fma(minus_two, c, ym + yp), fma(rx, fma(minus_two, c, xm + xp), start))
        return fma(rzp, dzp, fma(-rzm, low, start))

    return layer_differences


def _own_differences(rates_at):
    """`_face_differences` of a cell that looks up its six rates on the board."""
    rates_of, differences = rates_of_faces(rates_at), inlined(_face_differences)

    def own_differences(start, dxm, dxp, dym, dyp, low, dzp, cell_class, board):
        rxm, rxp, rym, ryp, rzm, rzp = rates_of(cell_class, board)
        return differences(start, dxm, dxp, dym, dyp, low, dzp, rxm, rxp, rym, ryp, rzm, rzp)

    return own_differences


def _own_layer_differences(configuration, rates_at):
    """`_layer_differences` of a cell that looks up its four rates on the board."""
    rates_of, differences = rates_of_layer(rates_at), inlined(_layer_differences(configuration))

    def own_differences(start, c, xm, xp, ym, yp, low, dzp, cell_class, board):
        rx, ry, rzm, rzp = rates_of(cell_class, board)
        return differences(start, c, xm, xp, ym, yp, low, dzp, rx, ry, rzm, rzp)

    return own_differences


def _add_heat(c, dt, rate):
    return fma(dt, rate, c)


def _take_loss(start, c, loss):
    return fma(-loss, c, start)


def _start(configuration, tile):
    """Build call(cells): what differences are added to, the cells themselves, or zeros for a stage."""
    zeros, zero = repeated(tile.columns * tile.rows), np.dtype(configuration.dtype).type(0)

    @inlined
    def from_cells(cells):
        return cells

    @inlined
    def from_nothing(cells):
        return zeros(zero)

    return from_nothing if configuration.stage else from_cells


def heat_at(configuration: StencilConfiguration) -> int:
    """Where the heating rates of the classes begin in the numbers of a level."""
    return BOUNDARY * (configuration.room_for_classes if configuration.holds_boundary_of_classes else 1)


def _heat(first):
    def heat(cell, cell_class, board, at):
        return board[at + uint64(first) + uint64(cell_class)]

    return heat
