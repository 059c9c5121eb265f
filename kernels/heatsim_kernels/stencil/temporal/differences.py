"""CUDA: the physics of a level of `temporal`, for all cells of a lane in a plane; see `stencil.physics`.

What a level keeps of the plane below is what a step needs of it, called `low`: zm - 2c in a uniform material, c - zm
where each face has a rate of its own. It is made a turn ahead. So the functions of `physics` that add differences are
written here once more, with the same operations in the same order. Where each face has a rate, two cells share the
difference between them: what one adds with a rate the other subtracts, and both round alike.

Where there are several cell classes, cells come with theirs (`cell_classes`). Mostly all rows of a lane have the same
classes: inside a material, and at its ends in x and z. Then the rates of one row serve all. At ends in y and at
corners each cell looks up its own. Rates and heating rates are in shared memory.
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
from heatsim_kernels.stencil.cuda.configuration import FEW_CLASSES, StencilConfiguration
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


def build_step(configuration: StencilConfiguration, tile: TemporalTile, rates_at: int):
    """Build call(cells, sides, low, zp, classes, same_rows, rates, board, at): the cells one step later, or for a stage
    dt L of them. sides: those to the left and right, above and below.

    same_rows: whether in all lanes of the warp all rows have the classes of the first. On the board the numbers of the
    level begin at `at`, the rates of the classes at `rates_at`.
    """
    same_rates, several, with_heat = configuration.uniform, configuration.classes_by_cell, configuration.heat_table
    losses, loss_of, take_loss = configuration.losses, each(rate_on_board(rates_at, LOSS)), each(_take_loss)
    start_from, uniform = _start(configuration, tile), _uniform_step(configuration, tile)
    of_faces, of_each = each(_face_differences), each(_own_differences(rates_at))
    rises, to_above = _rises(tile), each(rise)
    every_row, first_row = cycled(tile.rows), part(slice(0, tile.columns))
    rate_xm, rate_xp, rate_ym, rate_yp, rate_zm, rate_zp = (each(rate_on_board(rates_at, face)) for face in range(6))
    heat_of, add_heat = each(_heat(heat_at(configuration))), each(_add_heat)

    @inlined
    def of_equal_rows(cells, sides, low, zp, classes, same_rows, rates, board, at):
        first_cells, k, start = first_row(cells), first_row(classes), start_from(cells)
        if with_heat:
            start = add_heat(start, rates.dt, every_row(heat_of(first_cells, k, board, at)))
        if losses:
            start = take_loss(start, cells, every_row(loss_of(first_cells, k, board)))
        if same_rates:
            return uniform(start, cells, sides, low, zp, rates)
        (dxm, dxp, dym, dyp), dzp = rises(cells, sides), to_above(cells, zp)
        rxm, rxp = every_row(rate_xm(first_cells, k, board)), every_row(rate_xp(first_cells, k, board))
        rym, ryp = every_row(rate_ym(first_cells, k, board)), every_row(rate_yp(first_cells, k, board))
        rzm, rzp = every_row(rate_zm(first_cells, k, board)), every_row(rate_zp(first_cells, k, board))
        return of_faces(start, dxm, dxp, dym, dyp, low, dzp, rxm, rxp, rym, ryp, rzm, rzp)

    @inlined
    def of_any_rows(cells, sides, low, zp, classes, rates, board, at):
        start = start_from(cells)
        if with_heat:
            start = add_heat(start, rates.dt, heat_of(cells, classes, board, at))
        if losses:
            start = take_loss(start, cells, loss_of(cells, classes, board))
        if same_rates:
            return uniform(start, cells, sides, low, zp, rates)
        dxm, dxp, dym, dyp = rises(cells, sides)
        return of_each(start, dxm, dxp, dym, dyp, low, to_above(cells, zp), classes, board)

    @inlined
    def anywhere(cells, sides, low, zp, classes, same_rows, rates, board, at):
        if same_rows:
            return of_equal_rows(cells, sides, low, zp, classes, same_rows, rates, board, at)
        return of_any_rows(cells, sides, low, zp, classes, rates, board, at)

    return anywhere if several else of_equal_rows


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


def _uniform_step(configuration, tile):
    """Build call(start, cells, sides, low, zp, rates): `start` and what the second differences bring. sides: of the
    cells of a lane those to the left and right, above and below."""
    columns, add_differences = tile.columns, each(_second_difference(configuration))
    but_bottom, but_top = part(slice(0, -columns)), part(slice(columns, None))
    to_right, to_left = entering_left(columns), entering_right(columns)

    @inlined
    def step(start, cells, sides, low, zp, rates):
        left, right, up, down = sides
        xm, xp, ym, yp = to_right(cells, left), to_left(cells, right), up + but_bottom(cells), but_top(cells) + down
        return add_differences(start, cells, xm, xp, ym, yp, low, zp, rates.rx, rates.ry, rates.rz)

    return step


def _rises(tile):
    """Build call(cells, sides): how cells rise along x and y from the one before them and to the next one, each found
    once for the two cells that it lies between; sides: see `_uniform_step`."""
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


def _own_differences(rates_at):
    """`_face_differences` of a cell that looks up its six rates on the board."""
    four, two, differences = load_rows(4, True), load_rows(2, True), inlined(_face_differences)

    def own_differences(start, dxm, dxp, dym, dyp, low, dzp, cell_class, board):
        at = uint64(rates_at) + uint64(cell_class) * uint64(RATES)
        rxm, rxp, rym, ryp = four(board, at, (uint32(0),))
        rzm, rzp = two(board, at, (uint32(4),))
        return differences(start, dxm, dxp, dym, dyp, low, dzp, rxm, rxp, rym, ryp, rzm, rzp)

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


def rate_on_board(rates_at: int, place: int):
    """Build call(cell, cell_class, board): the number at a place of the rates of a class."""

    def rate(cell, cell_class, board):
        return board[uint64(rates_at + place) + uint64(cell_class) * uint64(RATES)]

    return rate


def heat_at(configuration: StencilConfiguration) -> int:
    """Where the heating rates of the classes begin in the numbers of a level."""
    return BOUNDARY * (FEW_CLASSES if configuration.holds_boundary_of_classes else 1)


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
    held = each(_held_ghost(two))

    @inlined
    def of_classes(cells, classes, face, n, p, board, at, boundary):
        row = _row_of(boundary, n)
        return by_class(cells, classes, face, uint32(boundary.classes), row, boundary.a, boundary.b)

    @inlined
    def of_one(cells, classes, face, n, p, board, at, boundary):
        a, b = two(board, at + uint64(face) * uint64(2), (uint32(0),))
        return uniform(cells, a, b)

    @inlined
    def of_few_classes(cells, classes, face, n, p, board, at, boundary):
        return held(cells, classes, at + uint64(face) * uint64(2), board)

    if configuration.holds_boundary_of_classes:
        return of_few_classes
    return of_classes if configuration.class_dtype and configuration.looks_up(axis) else of_one


def _held_ghost(two):
    """Build the ghost value of a cell by the boundary values of its class on the board, which for the face begin at
    `at`."""

    def held_ghost(c, cell_class, at, board):
        # What is beyond the grid may have any class: see `_class_ghost`.
        few = min(uint32(cell_class), uint32(FEW_CLASSES - 1))
        a, b = two(board, at + uint64(few) * uint64(BOUNDARY), (uint32(0),))
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
