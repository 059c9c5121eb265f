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

from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.runtime.cuda.register_tuples import cascade, each, part, repeated
from heatsim_kernels.runtime.cuda.warp_rows import (
    WARP,
    everywhere,
    from_neighbours,
    load_bytes,
    load_rows,
    store_rows,
    unequal_rows,
)
from heatsim_kernels.stencil import physics
from heatsim_kernels.stencil.cuda.cell_update import RATES
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.temporal import differences
from heatsim_kernels.stencil.temporal.cell_classes import MAX_CLASSES, class_slots_of, lane_bytes
from heatsim_kernels.stencil.temporal.periodic_index import into
from heatsim_kernels.stencil.temporal.plan import TemporalTile, TouchedFaces
from heatsim_kernels.stencil.temporal.potentials import PIECE, build_guess, build_potentials

TURNS, TURNS_OF_STAGES = 8, 4  # turns whose cells beside the faces the board keeps; powers of two


class Lane(NamedTuple):
    """The place of a lane in its tile: at which ends of the grid its outer cells lie; bit r of `owned` is set where it
    owns row r. counted: bit i where it owns cell i and no lane before it does.

    ends, ring, classes: where on the board its end rows go, and the first cells and classes that it asks for. face_x,
    face_y: the numbers of the FACES that it may touch.
    """

    at_left: bool
    at_right: bool
    at_top: bool
    at_bottom: bool
    owned: int
    counted: int
    ends: int
    ring: int
    classes: int
    face_x: int
    face_y: int


class Board(NamedTuple):
    """The layout of shared memory, in elements. One after another:

        start       two buffers: for each level and each band its first and last row. Before them there is room for a
                    row above the first band, which may be read but means nothing; so does the row below the last.
        numbers     boundary values of each level, of each class if they are few, and heating rates of the classes
        rates       exchange rates of the cell classes
        pieces      of Kirchhoff's potential, PIECE numbers each (`potentials`)
        ring        planes on their way from memory
        before      the same of the field before, where levels take stages
        class_ring  the same of the cell classes
        sides       the cells beside the faces in some turns, a ring (`boundary_trace`)
        corner      of the tile: x of its first cell, and from where to where it owns cells in x; then the same in y

    Sizes: level and buffer of the end rows; number_count, of a level's numbers; plane; lane and classes of the classes
    of a lane and of a plane; turn of the cells beside the faces in one of the `turns`: for each level the columns at
    both ends of x, then, from at_y on, for each level the rows at both ends of y.
    """

    start: int
    level: int
    buffer: int
    numbers: int
    number_count: int
    rates: int
    pieces: int
    ring: int
    plane: int
    before: int
    class_ring: int
    lane: int
    classes: int
    sides: int
    turns: int
    turn: int
    at_y: int
    corner: int
    size: int

    @classmethod
    def of(cls, tile: TemporalTile, configuration: StencilConfiguration | None = None) -> Board:
        """The board of a tile for a configuration; None: for a uniform material in float32."""
        configuration = configuration or StencilConfiguration("float32", True, "", False, False, False, (False,) * 3)
        level = 2 * tile.bands * tile.width
        buffer = tile.steps * level
        numbers = tile.width + 2 * buffer
        heat = MAX_CLASSES if configuration.class_dtype else 4  # 4, of which one is needed, keep what follows aligned
        count = differences.heat_at(configuration) + (heat if configuration.heat_table else 4)
        rates = numbers + tile.steps * count
        looked_up = not configuration.uniform or configuration.losses
        pieces = rates + (RATES * (MAX_CLASSES if configuration.class_dtype else 1) if looked_up else 0)
        ring = pieces + PIECE * configuration.pieces
        plane = tile.width * tile.height
        before = ring + tile.slots * plane
        class_ring = before + ((tile.slots + 1) * plane if configuration.stage else 0)
        lane = lane_bytes(tile) // (1 if SIMULATED else np.dtype(configuration.dtype).itemsize)
        classes = lane * WARP * tile.bands
        sides = class_ring + (class_slots_of(tile) * classes if configuration.classes_by_cell else 0)
        at_y, turn = 2 * tile.steps * tile.height, 2 * tile.steps * (tile.height + tile.width)
        turns = TURNS_OF_STAGES if configuration.stage else TURNS
        corner = sides + turns * turn
        sizes = ring, plane, before, class_ring, lane, classes, sides, turns, turn, at_y, corner, corner + 6
        return cls(tile.width, level, buffer, numbers, count, rates, pieces, *sizes)


def build_levels(configuration: StencilConfiguration, tile: TemporalTile, touched: TouchedFaces, may_hold: bool):
    """Build call(states, (arriving, held), k, board, read, write, lane, span, rates, boundary, noted): all steps of a
    sweep, each on its plane. held: see `differences.rates_held`; may_hold: whether levels need not look them up.

    Level n, counting from 0, takes step n + 1 of plane k - 1 - n. Plane k of before the sweep arrives, and plane
    k - steps of after it leaves. The state of a level is (kept, c); for this, and for stages in place of steps, see
    `LevelScheme`. read, write: where the two buffers of end rows begin; they take turns. noted: see `build_note`.
    """
    if configuration.pieces:
        return cascade(_level_of_potentials(configuration, tile, touched))
    look_up = cascade(_level_of_cells(configuration, tile, touched, False))
    if not (may_hold and differences.rates_held(configuration)):
        return look_up
    hold, still = cascade(_level_of_cells(configuration, tile, touched, True)), build_still(tile)

    @inlined
    def levels(states, given, k, board, read, write, lane, span, rates, boundary, noted):
        if still(noted):
            return hold(states, given, k, board, read, write, lane, span, rates, boundary, noted)
        return look_up(states, given, k, board, read, write, lane, span, rates, boundary, noted)

    return levels


def _level_of_cells(configuration, tile, touched, still):
    """Build the step of a level whose differences are of the cells. still: see `build_still`."""
    same_rows = build_same_rows(configuration)
    end_z = touched.z and not configuration.periodic[2]
    layout, lowered = Board.of(tile, configuration), differences.build_low(configuration)
    step_cells = differences.build_step(configuration, tile, layout.rates, still)
    above_in, low_of, complete, keep, hand_on = scheme_of(configuration)
    ghosts, at_level = differences.build_ghost(configuration, tile, layout.corner, 2), _numbers_at(layout)
    around, publish = _around(configuration, tile, touched), _publish(tile, layout)
    classes_of = classes_of_level(configuration, tile)

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
        new, held = step_cells(cells, sides, low, zp, classes, same_rows(noted, n), held, rates, board, at)
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
    ghosts, at_level = differences.build_ghost(configuration, tile, layout.corner, 2), _numbers_at(layout)
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
    ghosts, choose = differences.build_ghost(configuration, tile, corner, axis), each(either)

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

    return looked_up if configuration.looks_up(axis) else of_one_class


def classes_of_level(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(board, lane, k, n, noted): the classes of a lane's cells in the plane of level n."""
    cells, layout = tile.columns * tile.rows, Board.of(tile, configuration)
    slots, steps = class_slots_of(tile), tile.steps
    read, repeat = load_bytes(cells), repeated(cells)

    @inlined
    def fetched(board, lane, k, n, noted):
        slot = uint32(k - int32(1) - n + int32(2 * steps)) % uint32(slots)
        return read(board, lane.classes + uint64(slot) * uint64(layout.classes))

    @inlined
    def of_plane(board, lane, k, n, noted):
        return repeat(uint32((noted >> uint64((n + int32(1)) * int32(8))) & uint64(255)))

    @inlined
    def of_one(board, lane, k, n, noted):
        return repeat(uint32(0))

    return of_plane if configuration.layered else fetched if configuration.class_dtype else of_one


def build_note(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(noted, board, lane, span, k, of_planes, plane): what is noted of planes; plane: plane k of the field.

    It is a shift register, in which the note of a plane moves on each turn, as the plane does from level to level. By
    cell: bit n tells whether in the plane of level n all rows of each lane of the warp have the same classes. In
    layers: byte n + 1 is the class of the plane of level n, and byte 0 that of plane k, read a turn ahead. Of
    potentials: see `potentials.build_guess`.
    """
    if configuration.pieces:
        return build_guess(configuration, Board.of(tile, configuration).pieces)
    classes_of, unequal = classes_of_level(configuration, tile), unequal_rows(tile.columns)
    wrap_z = configuration.periodic[2]

    @inlined
    def note(noted, board, lane, span, k, of_planes, plane):
        same = everywhere(unequal(classes_of(board, lane, k, int32(0), noted)) == uint32(0))
        return uint32(noted << uint32(1)) | uint32(1 if same else 0)

    @inlined
    def of_plane(noted, board, lane, span, k, of_planes, plane):
        # Planes beyond the grid take the class of one inside it; what comes of them is never stored.
        z = into(k, span.nz) if wrap_z else max(int32(0), min(k, int32(span.nz - int32(1))))
        return (noted << uint64(8)) | uint64(of_planes[z])

    @inlined
    def of_one(noted, board, lane, span, k, of_planes, plane):
        return noted

    return of_plane if configuration.layered else note if configuration.class_dtype else of_one


def nothing_noted(configuration: StencilConfiguration) -> np.unsignedinteger[Any]:
    """What is noted before a march: see `build_note`. In layers, classes that differ from plane to plane, so that rates
    are looked up before they are held."""
    return np.uint64(0x0100010001000100) if configuration.layered else np.uint32(0)


def build_still(tile: TemporalTile):
    """Build call(noted): in layers, whether the planes of all levels and the last one that left have one class. Then
    the rates that a lane holds are those of all its cells."""
    changed = uint64(((1 << 8 * tile.steps) - 1) << 8)

    @inlined
    def still(noted):
        return (noted ^ (noted >> uint64(8))) & changed == uint64(0)

    return still


def build_same_rows(configuration: StencilConfiguration):
    """Build call(noted, n): whether in the plane of level n all rows of each lane of the warp have the same classes."""

    @inlined
    def by_cell(noted, n):
        return uint32(noted >> uint32(n)) & uint32(1) == uint32(1)

    @inlined
    def always(noted, n):
        return True

    return by_cell if configuration.classes_by_cell else always


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
