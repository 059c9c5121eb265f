"""CUDA: the physics of a level of `temporal`, for all cells of a lane in a plane; see `stencil.physics`.

What a level keeps of the plane below is what a step needs of it, called `low`: zm - 2c in a uniform material, else c -
zm. It is made a turn ahead. So the functions of `physics` that add differences are written here once more, with the
same operations in the same order. Where each face has a rate, two cells share the difference between them: what one
adds with a rate the other subtracts, and both round alike.

Where there are several cell classes, cells come with theirs. Mostly all rows of a lane are of one material, and all
planes of the levels have the same classes. Then rates are looked up once a turn, else row by row or cell by cell: see
`turn_kinds`. Rates and heating rates are in shared memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int32, uint32, uint64

from heatsim_kernels.runtime.cuda.api import inlined
from heatsim_kernels.runtime.cuda.register_tuples import (
    counted,
    cycled,
    each,
    entering_left,
    entering_right,
    part,
    repeated,
)
from heatsim_kernels.runtime.cuda.warp_rows import load_rows, thread_anew
from heatsim_kernels.runtime.fma import fma
from heatsim_kernels.stencil import physics
from heatsim_kernels.stencil.cuda.cell_update import LOSS, RATES
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.temporal.periodic_index import into, wrapped
from heatsim_kernels.stencil.temporal.plan import TemporalTile

_ghost, _wrapped = inlined(physics.ghost), inlined(wrapped)
BOUNDARY = 12  # numbers of a level, or of a class in it: a and b of six faces


class LevelBoundary(NamedTuple):
    """Boundary values of a batch of steps: a and b, (rows, values), FACES in order, of each cell class or of each
    boundary cell in C order of its two axes; the first step of the sweep; the cells of the grid along each axis."""

    a: Any
    b: Any
    rows: int
    first: int
    classes: int
    shape: Any


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
    `build_rates_of_rows`. by_row: whether the turn is BY_ROW (`turn_kinds`). On the board the numbers of the level
    begin at `at`, the rates of the classes at `rates_at`.
    """
    begin = _beginning(configuration, tile, rates_at)
    uniform, of_layer = (
        _of_cells_beside(tile, build(configuration)) for build in (_second_difference, _layer_differences)
    )
    of_rows, of_cells = _step_of_rows(configuration, tile), _step_of_cells(configuration, tile, rates_at)
    rates_of, to_above = _rates_of_layer(rates_at), each(rise)
    rates_of_rows = _held_of_rows(configuration, tile) if holds else build_rates_of_rows(configuration, tile, rates_at)

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
        found = rates_of_rows(held) if holds else rates_of_rows(cells, classes, board)
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


def rates_held(configuration: StencilConfiguration, tile: TemporalTile) -> int:
    """How many rates a lane holds in registers from level to level and from turn to turn: in layers the last that it
    looked up, by cell class those of turns that are STILL."""
    if configuration.uniform or not configuration.class_dtype:
        return 0
    return 4 if configuration.layered else tile.columns * (3 if configuration.paired else 6)


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


def _held_of_rows(configuration, tile):
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
    rates_of, differences = _rates_of_faces(rates_at), inlined(_face_differences)

    def own_differences(start, dxm, dxp, dym, dyp, low, dzp, cell_class, board):
        rxm, rxp, rym, ryp, rzm, rzp = rates_of(cell_class, board)
        return differences(start, dxm, dxp, dym, dyp, low, dzp, rxm, rxp, rym, ryp, rzm, rzp)

    return own_differences


def _own_layer_differences(configuration, rates_at):
    """`_layer_differences` of a cell that looks up its four rates on the board."""
    rates_of, differences = _rates_of_layer(rates_at), inlined(_layer_differences(configuration))

    def own_differences(start, c, xm, xp, ym, yp, low, dzp, cell_class, board):
        rx, ry, rzm, rzp = rates_of(cell_class, board)
        return differences(start, c, xm, xp, ym, yp, low, dzp, rx, ry, rzm, rzp)

    return own_differences


def _rates_of_faces(rates_at):
    """Build call(cell_class, board): the six rates of a class."""
    four, two = load_rows(4, True), load_rows(2, True)

    @inlined
    def rates(cell_class, board):
        at = uint64(rates_at) + uint64(cell_class) * uint64(RATES)
        return four(board, at, (uint32(0),)) + two(board, at, (uint32(4),))

    return rates


def _rates_of_layer(rates_at):
    """Build call(cell_class, board): the rates of a class in x, in y, and through both faces in z."""
    of_faces = _rates_of_faces(rates_at)

    @inlined
    def rates(cell_class, board):
        xm, _, ym, _, zm, zp = of_faces(cell_class, board)
        return xm, ym, zm, zp

    return rates


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


def rate_on_board(rates_at: int, place: int):
    """Build call(cell, cell_class, board): the number at a place of the rates of a class."""

    def rate(cell, cell_class, board):
        return board[uint64(rates_at + place) + uint64(cell_class) * uint64(RATES)]

    return rate


def heat_at(configuration: StencilConfiguration) -> int:
    """Where the heating rates of the classes begin in the numbers of a level."""
    return BOUNDARY * (configuration.room_for_classes if configuration.holds_boundary_of_classes else 1)


def _heat(first):
    def heat(cell, cell_class, board, at):
        return board[at + uint64(first) + uint64(cell_class)]

    return heat


def build_ghost(configuration: StencilConfiguration, tile: TemporalTile, corner: int, axis: int):
    """Build call(cells, classes, face, n, p, board, at, boundary): the ghost values of cells in plane p beside FACES
    number `face`, in the step of level n, whose numbers begin at `at`.

    axis: 0, 1 or 2 for faces of x, y or z, at which the cells are an outer column, an outer row or all of a lane.
    corner: where on the board that of the tile is.
    """
    if configuration.boundary_per_cell and configuration.looks_up(axis):
        return _cell_ghosts(configuration, tile, corner, axis)
    by_class, uniform, two = each(_class_ghost), each(physics.ghost), load_rows(2, True)
    held = each(_held_ghost(two, configuration.room_for_classes - 1))

    @inlined
    def of_classes(cells, classes, face, n, p, board, at, boundary):
        row = _row_of(boundary, n)
        return by_class(cells, classes, face, uint32(boundary.classes), row, boundary.a, boundary.b)

    @inlined
    def of_one(cells, classes, face, n, p, board, at, boundary):
        a, b = two(board, at + uint64(face) * uint64(2), (uint32(0),))
        return uniform(cells, a, b)

    @inlined
    def of_classes_held(cells, classes, face, n, p, board, at, boundary):
        return held(cells, classes, at + uint64(face) * uint64(2), board)

    if configuration.holds_boundary_of_classes:
        return of_classes_held
    return of_classes if configuration.class_dtype and configuration.looks_up(axis) else of_one


def _held_ghost(two, last):
    """Build the ghost value of a cell by the boundary values of its class on the board, which for the face begin at
    `at`."""

    def held_ghost(c, cell_class, at, board):
        # What is beyond the grid may have any class: see `_class_ghost`.
        held = min(uint32(cell_class), uint32(last))
        a, b = two(board, at + uint64(held) * uint64(BOUNDARY), (uint32(0),))
        return _ghost(c, a, b)

    return held_ghost


@inlined
def _row_of(boundary, n):
    """The row of boundary values for the step of level n."""
    return uint32(min(int32(boundary.first + n), int32(boundary.rows - int32(1))))


@inlined
def first_of_face(face, shape):
    """Where the values of FACES number `face` begin, where they come one a boundary cell."""
    of_x, of_y = uint32(shape.nz * shape.ny), uint32(shape.nz * shape.nx)
    size = of_x if face < 2 else (of_y if face < 4 else uint32(shape.ny * shape.nx))
    before = uint32(0) if face < 2 else (of_x if face < 4 else uint32(of_x + of_y))
    return uint32(uint32(2) * before + (face & uint32(1)) * size)


def _cell_ghosts(configuration, tile, corner, axis):
    """`build_ghost` where each boundary cell has values of its own: FACES in order, each in C order of its two axes.
    Where a lane is, is asked for anew: see `boundary_trace`."""
    (wrap_x, wrap_y, wrap_z), columns, rows = configuration.periodic, tile.columns, tile.rows
    count = (rows, columns, rows * columns)[axis]
    numbers, ghosts = counted(count), each(_own_ghost, whole=2)

    def place_of(number, x, y, z, ny, nx):
        """The place on the face of a cell, given its number among those of the lane."""
        if axis == 0:
            return uint32(z * ny + _wrapped(uint32(y + number), ny))
        if axis == 1:
            return uint32(z * nx + _wrapped(uint32(x + number), nx))
        line = _wrapped(uint32(y + number // uint32(columns)), ny)
        return uint32(line * nx + _wrapped(uint32(x + number % uint32(columns)), nx))

    places_of = each(place_of)

    @inlined
    def of_cells(cells, classes, face, n, p, board, at, boundary):
        tx, band = thread_anew()
        nz, ny, nx = int32(boundary.shape.nz), int32(boundary.shape.ny), int32(boundary.shape.nx)
        x = int32(int32(board[corner]) + tx * int32(columns))
        y = int32(int32(board[corner + 3]) + band * int32(rows))
        # Planes beyond the grid read the values of one inside it; what comes of them is never stored.
        z = into(p, nz) if wrap_z else max(int32(0), min(p, int32(nz - int32(1))))
        x, y = into(x, nx) if wrap_x else x, into(y, ny) if wrap_y else y
        first = first_of_face(uint32(face), boundary.shape)
        places = places_of(numbers(uint32(0), uint32(1)), uint32(x), uint32(y), uint32(z), uint32(ny), uint32(nx))
        return ghosts(cells, places, first, _row_of(boundary, n), boundary.a, boundary.b)

    return of_cells


def _own_ghost(c, place, first, row, a, b):
    return _ghost(c, a[row, uint32(first + place)], b[row, uint32(first + place)])


def _class_ghost(c, cell_class, face, count, row, a, b):
    # For planes beyond the grid no classes were read, and this may be any byte: it is kept inside the table, and what
    # comes of it is never stored.
    place = uint32(uint32(face) * count + min(cell_class, uint32(count - uint32(1))))
    return _ghost(c, a[row, place], b[row, place])
