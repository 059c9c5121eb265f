"""CUDA: one time step of one plane in `temporal`, in the registers of a block.

           up (band above)          A warp is a band of rows, and a lane holds some columns of it. Neighbours in y are
      xm [ c c | c c | c c ] xp     in the lane, or in the bands above and below, which have put their end rows on a
      xm [ c c | c c | c c ] xp     board in shared memory. Neighbours in x are in the lane or in the lanes beside. Of
           down (band below)        the plane below a lane keeps zm - 2c of each cell: that is all that it needs.

Ends of the grid are ends of a tile, so only the first or last lane, row and band need ghost values. Which cells these
are is known when the kernel is compiled, but for the lane and the band.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import int32, uint32, uint64

from heatsim_kernels.device.cuda.api import cuda, inlined
from heatsim_kernels.device.cuda.register_tuples import cascade, each, part, repeated
from heatsim_kernels.device.cuda.warp_rows import everywhere, from_neighbours, load_rows, store_rows
from heatsim_kernels.explicit import physics
from heatsim_kernels.explicit.blocked import differences
from heatsim_kernels.explicit.blocked.board import Board
from heatsim_kernels.explicit.blocked.class_rates import rates_held
from heatsim_kernels.explicit.blocked.ghosts import build_ghost
from heatsim_kernels.explicit.blocked.plan import TemporalTile, TouchedFaces
from heatsim_kernels.explicit.blocked.plane_notes import (
    classes_in_still_turns,
    classes_of_level,
    is_of_kind,
    told,
    until,
)
from heatsim_kernels.explicit.blocked.potentials import build_potentials
from heatsim_kernels.explicit.blocked.turn_kinds import BY_ROW, STILL
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration


def build_levels(
    configuration: StencilConfiguration, tile: TemporalTile, touched: TouchedFaces, holds: bool, rows_apart: bool
):
    """Build call(states, (arriving, held), k, board, read, write, lane, span, rates, boundary, (noted, cell_classes)):
    all steps of a sweep, each on its plane. It gives the states, what leaves with what is held, and what is noted.
    held: see `class_rates.rates_held`. holds: whether levels take these while they are in one layer. Then levels read
    what is told of turns, and `build_note` does not. rows_apart: whether turns that are BY_ROW have a way of their own.

    Level n, counting from 0, takes step n + 1 of plane k - 1 - n. Plane k of before the sweep arrives, and plane
    k - steps of after it leaves. The state of a level is (kept, c); for this, and for stages in place of steps, see
    `LevelScheme`. read, write: where the two buffers of end rows begin; they take turns. noted: see `plane_notes`.
    """
    if configuration.classes_by_cell:
        return _levels_of_classes(configuration, tile, touched, rows_apart and not touched.z)
    if configuration.pieces:
        look_up = cascade(_level_of_potentials(configuration, tile, touched))
    else:
        look_up = cascade(_level_of_cells(configuration, tile, touched, False))

    @inlined
    def levels(states, given, k, board, read, write, lane, span, rates, boundary, notes):
        noted, _ = notes
        states, given = look_up(states, given, k, board, read, write, lane, span, rates, boundary, noted)
        return states, given, noted

    if not holds:
        return levels
    hold, steps = cascade(_level_of_cells(configuration, tile, touched, True)), tile.steps

    @inlined
    def levels_of_layers(states, given, k, board, read, write, lane, span, rates, boundary, notes):
        noted, cell_classes = notes
        if k < until(noted):
            states, given = hold(states, given, k, board, read, write, lane, span, rates, boundary, noted)
        else:
            noted = told(cell_classes.of_lanes, k, steps)
            states, given = look_up(states, given, k, board, read, write, lane, span, rates, boundary, noted)
        return states, given, noted

    return levels_of_layers


def _levels_of_classes(configuration, tile, touched, rows_apart):
    """`build_levels` where each cell has a class. A warp looks up rates once for all levels, or row by row, or cell by
    cell, as kinds of turns allow (`classify_turns`). It goes one way for all levels: so no level waits for the next way
    to be known, and the compiler shares out the work of all."""
    by_cell, by_row = (cascade(_level_of_cells(configuration, tile, touched, False, rows)) for rows in (False, True))
    at_once, apart = cascade(_level_of_cells(configuration, tile, touched, True)), not touched.z
    nothing, zero = repeated(rates_held(configuration, tile)), np.dtype(configuration.dtype).type(0)

    @inlined
    def levels(states, given, k, board, read, write, lane, span, rates, boundary, notes):
        noted, _ = notes
        arriving, _ = given
        without_rates = arriving, nothing(zero)
        # In all lanes it is the same, which the compiler is to know.
        if apart and everywhere(is_of_kind(noted, STILL)):
            states, given = at_once(states, given, k, board, read, write, lane, span, rates, boundary, noted)
        elif rows_apart and everywhere(is_of_kind(noted, BY_ROW)):
            states, given = by_row(states, without_rates, k, board, read, write, lane, span, rates, boundary, noted)
        else:
            states, given = by_cell(states, without_rates, k, board, read, write, lane, span, rates, boundary, noted)
        return states, given, noted

    return levels


def _level_of_cells(configuration, tile, touched, held, rows=False):
    """Build the step of a level whose differences are of the cells. held: whether its rates are held, in layers or in
    still turns; rows: whether they are looked up row by row."""
    end_z = touched.z and not configuration.periodic[2]
    layout, lowered = Board.of(tile, configuration), differences.build_low(configuration)
    step_cells = differences.build_step(configuration, tile, layout.rates, held, rows)
    above_in, low_of, complete, keep, hand_on = scheme_of(configuration)
    ghosts, at_level = build_ghost(configuration, tile, layout.corner, 2), _numbers_at(layout)
    around, publish = _around(configuration, tile, touched), _publish(tile, layout)
    still = held and configuration.classes_by_cell
    classes_of = classes_in_still_turns(tile) if still else classes_of_level(configuration, tile)

    def level(n, state, given, k, board, read, write, lane, span, rates, boundary, noted):
        (kept, cells), (arriving, held) = state, given
        above, low = above_in(arriving), low_of(kept, cells)
        classes, at = classes_of(board, lane, k, n, noted), at_level(n)
        p = int32(k - int32(1) - n)
        sides, zp = around(cells, classes, n, p, board, read, at, lane, boundary), above
        if end_z:
            if p == int32(0):
                low = lowered(cells, ghosts(cells, classes, int32(4), n, p, board, at, boundary))
            if p == int32(span.nz - int32(1)):
                zp = ghosts(cells, classes, int32(5), n, p, board, at, boundary)
        new, held = step_cells(cells, sides, low, zp, classes, held, rates, board, at)
        new = complete(new, cells, arriving, n, rates)
        publish(above, n, board, write, lane)
        return (keep(above, cells), above), (hand_on(new, kept), held)

    return level


def _level_of_potentials(configuration, tile, touched):
    """Build the step of a level whose differences are of Kirchhoff's potential.

    Planes arrive as the field stores them. The cells of a level are their potentials. Beside these it keeps the sum
    that their step begins with (`physics.axis_differences`): so what is stored need not be kept.
    """
    layout, end_z = Board.of(tile, configuration), touched.z and not configuration.periodic[2]
    look_up = build_potentials(configuration, layout.pieces)
    begin, step_cells = differences.build_beginning(configuration), differences.build_step_of_potentials(tile)
    ghosts, at_level = build_ghost(configuration, tile, layout.corner, 2), _numbers_at(layout)
    around, publish = _around(configuration, tile, touched), _publish(tile, layout)
    classes_of, rises = classes_of_level(configuration, tile), each(differences.rise)

    def level(n, state, given, k, board, read, write, lane, span, rates, boundary, noted):
        (begun, cells), (arriving, held) = state, given
        above, classes, at = look_up(arriving, noted, board), classes_of(board, lane, k, n, noted), at_level(n)
        p = int32(k - int32(1) - n)
        sides = around(cells, classes, n, p, board, read, at, lane, boundary)
        to_above = rises(cells, above)
        from_below = to_above
        if end_z:
            if p == int32(-1):
                from_below = rises(ghosts(above, classes, int32(4), n, int32(0), board, at, boundary), above)
            if p == int32(span.nz - int32(1)):
                to_above = rises(cells, ghosts(cells, classes, int32(5), n, p, board, at, boundary))
        new = step_cells(begun, cells, sides, to_above, rates)
        publish(above, n, board, write, lane)
        return (begin(arriving, from_below, rates, board, at), above), (new, held)

    return level


def _numbers_at(layout):
    """Build call(n): where the numbers of level n begin on the board."""
    numbers, count = layout.numbers, layout.number_count

    @inlined
    def at(n):
        return uint64(numbers + n * int32(count))

    return at


def _around(configuration, tile, touched):
    """Build call(cells, classes, n, p, board, read, at, lane, boundary): the cells to the left and right, above and
    below in the plane, with ghost values where a lane lies at an end of the grid.

    Beyond a tile that ends within the grid may lie anything. Potentials, whose look-up takes longer if they leave their
    piece, take the cells at its edge for those beyond.
    """
    potentials, last_band, choose = configuration.pieces > 0, tile.bands - 1, each(either)
    level_size, width, columns = Board.of(tile, configuration).level, tile.width, tile.columns
    from_lanes, read_ends = from_neighbours(columns), load_rows(columns, True)
    top, bottom = part(slice(0, columns)), part(slice(-columns, None))
    with_ghosts = _ghosts_beside(configuration, tile, touched)

    @inlined
    def around(cells, classes, n, p, board, read, at, lane, boundary):
        first = read + uint64(n * int32(level_size)) + lane.ends - uint64(width)
        beside = read_ends(board, first, (uint32(0), uint32(3 * width)))
        up, down = top(beside), bottom(beside)
        if potentials:
            up = choose(cuda.threadIdx.y == 0, top(cells), up)
            down = choose(cuda.threadIdx.y == last_band, bottom(cells), down)
        left, right = from_lanes(cells)
        return with_ghosts(cells, classes, n, p, board, at, lane, boundary, (left, right, up, down))

    return around


def _publish(tile, layout):
    """Build call(cells, n, board, write, lane), which puts the end rows of a lane on the board, for the bands beside it
    in the next turn."""
    level_size, width, columns = layout.level, tile.width, tile.columns
    top, bottom, write_ends = part(slice(0, columns)), part(slice(-columns, None)), store_rows(columns, True)

    @inlined
    def publish(cells, n, board, write, lane):
        place, ends = write + uint64(n * int32(level_size)) + lane.ends, (uint32(0), uint32(width))
        write_ends(board, place, ends, top(cells) + bottom(cells), uint32(3))

    return publish


def either(flag, one, other):
    """One of two values; with `each`, of tuples, a select and no branch."""
    return one if flag else other


def _ghosts_beside(configuration, tile, touched):
    """Build call(cells, classes, n, p, board, at, lane, boundary, sides): the cells to the left and right, above and
    below, with ghost values where a lane lies at an end of the grid."""
    wrap_x, wrap_y, _ = configuration.periodic
    end_x, end_y, columns = touched.x and not wrap_x, touched.y and not wrap_y, tile.columns
    outer_columns = part(slice(0, None, columns)), part(slice(columns - 1, None, columns))
    columns_beside = _ghosts_at_ends(configuration, tile, *outer_columns, 0)
    rows_beside = _ghosts_at_ends(configuration, tile, part(slice(0, columns)), part(slice(-columns, None)), 1)

    @inlined
    def with_ghosts(cells, classes, n, p, board, at, lane, boundary, sides):
        left, right, up, down = sides
        if end_x:
            ends_x = lane.at_left, lane.at_right, lane.face_x
            left, right = columns_beside(cells, classes, n, p, board, at, ends_x, boundary, left, right)
        if end_y:
            ends_y = lane.at_top, lane.at_bottom, lane.face_y
            up, down = rows_beside(cells, classes, n, p, board, at, ends_y, boundary, up, down)
        return left, right, up, down

    return with_ghosts


def _ghosts_at_ends(configuration, tile, first, last, axis):
    """Build call(cells, classes, n, p, board, at, ends, boundary, before, behind): what lies before the first and
    behind the last cells along an axis, with ghost values at the ends of the grid. ends: whether the lane lies at the
    lower end, at the upper, and the face at which it lies."""
    corner, lower, upper = Board.of(tile, configuration).corner, 2 * axis, 2 * axis + 1
    ghosts, choose = build_ghost(configuration, tile, corner, axis), each(either)

    @inlined
    def looked_up(cells, classes, n, p, board, at, ends, boundary, before, behind):
        # A branch: few warps lie at a boundary, and the boundary values of their cells are in global memory.
        if ends[0]:
            before = ghosts(first(cells), first(classes), int32(lower), n, p, board, at, boundary)
        if ends[1]:
            behind = ghosts(last(cells), last(classes), int32(upper), n, p, board, at, boundary)
        return before, behind

    @inlined
    def of_one_class(cells, classes, n, p, board, at, ends, boundary, before, behind):
        one, other = first(cells), last(cells)
        before = choose(ends[0], ghosts(one, first(classes), ends[2], n, p, board, at, boundary), before)
        return before, choose(ends[1], ghosts(other, last(classes), ends[2], n, p, board, at, boundary), behind)

    @inlined
    def of_classes(cells, classes, n, p, board, at, ends, boundary, before, behind):
        # One look-up: no lane lies at both ends: there are several lanes along x, and bands along y.
        own, own_classes = choose(ends[0], first(cells), last(cells)), choose(ends[0], first(classes), last(classes))
        found = ghosts(own, own_classes, ends[2], n, p, board, at, boundary)
        return choose(ends[0], found, before), choose(ends[1], found, behind)

    if configuration.looks_up(axis):
        return looked_up
    return of_classes if configuration.classes_by_cell else of_one_class


# What a level keeps from turn to turn, and what it makes of differences: a time step, or a two-term stage.
#
# A two-term stage (see `rk_stages`) is made of two fields, W_{n+1} = W_n - nu (W_n - W_{n-1}) + rate dt L(W_n). Besides
# what a time step needs, level n wants for each cell the value of W_{n-1} in that cell, two planes behind the one that
# level n - 1 takes in:
#
#     plane       k-n+1     k-n      k-1-n         Level n-1 has kept the plane below its cells for their z neighbours.
#     level n-1   arrives   cells    below --+     It is all of W_{n-1} that level n lacks, and arrives there with the
#     level n               arrives  cells   |     plane of W_n: no register more, no barrier more. For the first level
#     W_n         W_n <---- before <---------+     it comes from memory.
#
# A time step keeps what is needed of the plane below, made a turn ahead (`low`, see `differences`). A stage keeps the
# plane itself and makes `low` when it is needed. Both take equally many operations.


class StageRates(NamedTuple):
    """`StepRates`, and the coefficients nu and rate of the stage of each level."""

    rx: np.floating[Any]
    ry: np.floating[Any]
    rz: np.floating[Any]
    dt: np.floating[Any]
    nu: tuple[np.floating[Any], ...]
    rate: tuple[np.floating[Any], ...]


class LevelScheme(NamedTuple):
    """Device functions. `kept` is what a level keeps of the plane below, `arriving` what the level before hands on.

    above(arriving): the plane above. low(kept, cells): see `differences`. complete(new, cells, arriving, n, rates): the
    cells after level n, from their differences. keep(above, cells): what to keep for the next turn, in which `above`
    will be the plane of the cells. hand_on(new, kept): what arrives at the next level.
    """

    above: Callable[..., Any]
    low: Callable[..., Any]
    complete: Callable[..., Any]
    keep: Callable[..., Any]
    hand_on: Callable[..., Any]


def scheme_of(configuration: StencilConfiguration) -> LevelScheme:
    """The scheme of levels that take steps, or two-term stages."""
    return _stages(configuration) if configuration.stage else _steps(configuration)


def _steps(configuration):
    lowered = differences.build_low(configuration)

    @inlined
    def above(arriving):
        return arriving

    @inlined
    def low(kept, cells):
        return kept

    @inlined
    def complete(new, cells, arriving, n, rates):
        return new

    @inlined
    def hand_on(new, kept):
        return new

    return LevelScheme(above, low, complete, lowered, hand_on)


def _stages(configuration):
    lowered, staged = differences.build_low(configuration), each(physics.staged_of_two)

    @inlined
    def above(arriving):
        return arriving[0]

    @inlined
    def low(kept, cells):
        return lowered(cells, kept)

    @inlined
    def complete(new, cells, arriving, n, rates):
        return staged(new, cells, arriving[1], rates.nu[n], rates.rate[n])

    @inlined
    def keep(above, cells):
        return cells

    @inlined
    def hand_on(new, kept):
        return new, kept

    return LevelScheme(above, low, complete, keep, hand_on)
