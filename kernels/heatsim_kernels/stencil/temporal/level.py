"""CUDA: one time step of one plane in `temporal`, in the registers of a block.

           up (band above)          A warp is a band of rows, a lane some columns of it. Neighbours in y are in the
      xm [ c c | c c | c c ] xp     lane, or in the bands above and below, which have put the ends of theirs on a board
      xm [ c c | c c | c c ] xp     in shared memory; neighbours in x are in the lane or in the lanes beside. For z a
           down (band below)        lane keeps zm - 2c of each cell, which is all that it needs of the plane below.

Ends of the grid are ends of a tile, so ghosts concern the first or last lane, row and band alone: known beforehand but
for the lane and band.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import int32, uint32, uint64

from heatsim_kernels.runtime.cuda.api import SIMULATED, inlined
from heatsim_kernels.runtime.cuda.register_tuples import cascade, each, entering_left, entering_right, part, repeated
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
from heatsim_kernels.stencil.temporal.cell_classes import MAX_KINDS, kind_slots, lane_bytes
from heatsim_kernels.stencil.temporal.plan import TemporalTile, TileWalls

TURNS, TURNS_OF_STAGES = 8, 4  # powers of two: of so many the cells beside walls are kept
NUMBERS = 16  # shared numbers of a level: a and b for each of six walls, then heating rates of the kinds, from HEAT on


class Lane(NamedTuple):
    """The place of a lane in its tile: which walls its outer cells touch; bit r of `owned` is set where it owns row r.

    ends, ring, kinds: where on the board the ends of its rows go, and the first of what it fetches; face_x, face_y:
    which of FACES it may touch.
    """

    at_left: bool
    at_right: bool
    at_top: bool
    at_bottom: bool
    owned: int
    ends: int
    ring: int
    kinds: int
    face_x: int
    face_y: int


class Board(NamedTuple):
    """Shared memory, in elements: of each band its first and its last row, for each level, in two buffers; numbers of
    the levels; rates of the kinds; rings of what is fetched: planes, those of the field `before` where levels take
    stages, and kinds of their cells; the cells beside walls of some turns, a ring (`temporal_trace`); and of the tile,
    as numbers, x of its first cell and from where to where it owns cells, then y.

    start: where the first buffer begins, after room for a row above the first band, which may be read but means
    nothing. So does the row below the last band of a level. level, buffer, count, plane, lane, kinds, turn: sizes of
    these, of a level's numbers, of a plane, of the kinds of a lane and a plane, and of the cells beside walls in a
    turn: of each level the columns at both walls of x, then, from at_y on, of each level the rows at those of y.
    """

    start: int
    level: int
    buffer: int
    numbers: int
    count: int
    rates: int
    ring: int
    plane: int
    before: int
    kind_ring: int
    lane: int
    kinds: int
    sides: int
    turns: int
    turn: int
    at_y: int
    corner: int
    size: int

    @classmethod
    def of(cls, tile: TemporalTile, structure: StencilConfiguration | None = None) -> Board:
        """The board of a tile for problems of a structure; None is that of a uniform material."""
        structure = structure or StencilConfiguration("float32", True, "", False, False, False, (False,) * 3)
        level = 2 * tile.bands * tile.width
        buffer = tile.steps * level
        numbers = tile.width + 2 * buffer
        count = NUMBERS + (MAX_KINDS if structure.kinds and structure.heat_table else 0)
        rates = numbers + tile.steps * count
        ring = rates + (0 if structure.uniform else RATES * (MAX_KINDS if structure.kinds else 1))
        plane = tile.width * tile.height
        before = ring + tile.slots * plane
        kind_ring = before + ((tile.slots + 1) * plane if structure.stage else 0)
        lane = lane_bytes(tile) // (1 if SIMULATED else np.dtype(structure.dtype).itemsize)
        kinds = lane * WARP * tile.bands
        sides = kind_ring + (kind_slots(tile) * kinds if structure.kinds else 0)
        at_y, turn = 2 * tile.steps * tile.height, 2 * tile.steps * (tile.height + tile.width)
        turns = TURNS_OF_STAGES if structure.stage else TURNS
        corner = sides + turns * turn
        sizes = ring, plane, before, kind_ring, lane, kinds, sides, turns, turn, at_y, corner, corner + 6
        return cls(tile.width, level, buffer, numbers, count, rates, *sizes)


def build(structure: StencilConfiguration, tile: TemporalTile, walls: TileWalls):
    """call(states, arriving, k, board, read, write, lane, span, rates, media, alike): all steps of a sweep, each on its
    plane.

    Level n, counting from 0, takes step n + 1 of plane k - 1 - n; plane k before the sweep arrives, and plane k - steps
    after it leaves. A state is (kept, c) of a level. For this, and for stages in place of steps, see `temporal_scheme`.
    alike: see `build_alike`.
    """
    wall_z = walls.z and not structure.periodic[2]
    columns, layout = tile.columns, Board.of(tile, structure)
    skip, numbers, count, width = layout.level, layout.numbers, layout.count, tile.width
    lowered, stepped = differences.build_low(structure), differences.build(structure, tile, layout.rates)
    above_of, low_of, made, keep, handed_on = scheme_of(structure)
    beyond, at_walls = differences.build_ghost(structure), _sides(structure, tile, walls)
    kinds_of = _kinds(structure, tile)
    top, bottom = part(slice(0, columns)), part(slice(-columns, None))
    but_bottom, but_top = part(slice(0, -columns)), part(slice(columns, None))
    from_lanes, to_right, to_left = from_neighbours(columns), entering_left(columns), entering_right(columns)
    read_ends, write_ends = load_rows(columns, True), store_rows(columns, True)

    def level(n, state, arriving, k, board, read, write, lane, span, rates, media, alike):
        kept, cells = state
        above, low = above_of(arriving), low_of(kept, cells)
        shift, at = uint64(n * int32(skip)), uint64(numbers + n * int32(count))
        beside = read_ends(board, read + shift + lane.ends - uint64(width), (uint32(0), uint32(3 * width)))
        up, down = top(beside), bottom(beside)
        left, right = from_lanes(cells)
        kinds = kinds_of(board, lane, k, n)
        p = int32(k - int32(1) - n)
        inside = left, right, up, down
        left, right, up, down = at_walls(cells, kinds, n, board, at, lane, media, inside)
        zp = above
        if wall_z:
            if p == int32(0):
                low = lowered(cells, beyond(cells, kinds, int32(4), n, board, at, media))
            if p == int32(span.nz - int32(1)):
                zp = beyond(cells, kinds, int32(5), n, board, at, media)
        xm, xp = to_right(cells, left), to_left(cells, right)
        ym, yp = up + but_bottom(cells), but_top(cells) + down
        same = uint32(alike >> uint32(n)) & uint32(1) == uint32(1)
        new = stepped(cells, xm, xp, ym, yp, low, zp, kinds, same, rates, board, at)
        new = made(new, cells, arriving, n, rates)
        ends = uint32(0), uint32(width)
        write_ends(board, write + shift + lane.ends, ends, top(above) + bottom(above), uint32(3))
        return (keep(above, cells), above), handed_on(new, kept)

    return cascade(level)


def either(flag, one, other):
    """One of two."""
    return one if flag else other


def _sides(structure, tile, walls):
    """call(cells, kinds, n, board, at, lane, media, sides): of left, right, up and down what is there at a wall."""
    wrap_x, wrap_y, _ = structure.periodic
    wall_x, wall_y, several = walls.x and not wrap_x, walls.y and not wrap_y, structure.kinds != ""
    columns, beyond = tile.columns, differences.build_ghost(structure)
    first_column, last_column = part(slice(0, None, columns)), part(slice(columns - 1, None, columns))
    top, bottom = part(slice(0, columns)), part(slice(-columns, None))

    chosen = each(either)

    @inlined
    def at_walls(cells, kinds, n, board, at, lane, media, sides):
        left, right, up, down = sides
        if wall_x and several:
            # Few warps are at a wall, and what their cells need is far away.
            if lane.at_left:
                left = beyond(first_column(cells), first_column(kinds), int32(0), n, board, at, media)
            if lane.at_right:
                right = beyond(last_column(cells), last_column(kinds), int32(1), n, board, at, media)
        elif wall_x:
            first, last = first_column(cells), last_column(cells)
            left = chosen(lane.at_left, beyond(first, first_column(kinds), lane.face_x, n, board, at, media), left)
            right = chosen(lane.at_right, beyond(last, last_column(kinds), lane.face_x, n, board, at, media), right)
        if wall_y and several:
            if lane.at_top:
                up = beyond(top(cells), top(kinds), int32(2), n, board, at, media)
            if lane.at_bottom:
                down = beyond(bottom(cells), bottom(kinds), int32(3), n, board, at, media)
        elif wall_y:
            first, last = top(cells), bottom(cells)
            up = chosen(lane.at_top, beyond(first, top(kinds), lane.face_y, n, board, at, media), up)
            down = chosen(lane.at_bottom, beyond(last, bottom(kinds), lane.face_y, n, board, at, media), down)
        return left, right, up, down

    return at_walls


def _kinds(structure, tile):
    """call(board, lane, k, n): the kinds of a lane's cells in the plane of level n."""
    cells, layout, slots, steps = tile.columns * tile.rows, Board.of(tile, structure), kind_slots(tile), tile.steps
    read, repeat = load_bytes(cells), repeated(cells)

    @inlined
    def fetched(board, lane, k, n):
        slot = uint32(k - int32(1) - n + int32(2 * steps)) % uint32(slots)
        return read(board, lane.kinds + uint64(slot) * uint64(layout.kinds))

    @inlined
    def of_one(board, lane, k, n):
        return repeat(uint32(0))

    return fetched if structure.kinds else of_one


def build_alike(structure: StencilConfiguration, tile: TemporalTile):
    """call(alike, board, lane, k): uint32, whose bit n tells whether in the plane of level n the rows of each lane of
    the warp are of the same kinds. It is asked of a plane when that comes to the first level, and kept for the others.
    """
    kinds_of, unequal = _kinds(structure, tile), unequal_rows(tile.columns)

    @inlined
    def noted(alike, board, lane, k):
        same = everywhere(unequal(kinds_of(board, lane, k, int32(0))) == uint32(0))
        return uint32(alike << uint32(1)) | uint32(1 if same else 0)

    @inlined
    def of_one(alike, board, lane, k):
        return alike

    return noted if structure.kinds else of_one


# CUDA: what a level of `temporal` keeps from turn to turn and makes of differences: a time step, or a bare stage.
#
# A bare stage (`stages`) is made of two fields, W_{n+1} = W_n - nu (W_n - W_{n-1}) + rate dt L(W_n). Besides what a
# time
# step needs, level n wants for each cell the value of W_{n-1} in that very cell, two planes behind the one that level
# n - 1 takes in:
#
# plane       k-n+1     k-n      k-1-n           Level n-1 has kept the plane below its cells for their z neighbours.
# level n-1   arrives   cells    below -----+    It is all of W_{n-1} that level n lacks, and arrives there with the
# level n               arrives  cells      |    plane of W_n: no register more, no barrier more. For the first level
# W_n       W_n <-- before <--+    it comes from memory.
#
# A time step keeps of the plane below what is needed of it, made a turn ahead (`low`, see `temporal_step`); a stage
# keeps
# the plane and makes `low` when it is needed. That is as many operations.


class StageRates(NamedTuple):
    """`temporal.Rates`, and the coefficients of the stage of each level."""

    rx: float
    ry: float
    rz: float
    dt: float
    nu: object
    rate: object


class LevelScheme(NamedTuple):
    """Device functions. `kept` is what a level keeps of the plane below, `arriving` what the level before hands on.

    above(arriving): the plane above. low(kept, cells): see `temporal_step`. made(new, cells, arriving, n, rates): the
    cells after level n, which starts from its differences. keep(above, cells): what to keep in the next turn, in which
    the plane above is that of the cells. handed_on(new, kept): what arrives at the next level.
    """

    above: Callable[..., Any]
    low: Callable[..., Any]
    made: Callable[..., Any]
    keep: Callable[..., Any]
    handed_on: Callable[..., Any]


def scheme_of(structure: StencilConfiguration) -> LevelScheme:
    """The scheme of levels that take steps, or stages of two fields."""
    return _stages(structure) if structure.stage else _steps(structure)


def _steps(structure):
    lowered = differences.build_low(structure)

    @inlined
    def above(arriving):
        return arriving

    @inlined
    def low(kept, cells):
        return kept

    @inlined
    def made(new, cells, arriving, n, rates):
        return new

    @inlined
    def handed_on(new, kept):
        return new

    return LevelScheme(above, low, made, lowered, handed_on)


def _stages(structure):
    lowered, staged = differences.build_low(structure), each(physics.staged_of_two)

    @inlined
    def above(arriving):
        return arriving[0]

    @inlined
    def low(kept, cells):
        return lowered(cells, kept)

    @inlined
    def made(new, cells, arriving, n, rates):
        return staged(new, cells, arriving[1], rates.nu[n], rates.rate[n])

    @inlined
    def keep(above, cells):
        return cells

    @inlined
    def handed_on(new, kept):
        return new, kept

    return LevelScheme(above, low, made, keep, handed_on)
