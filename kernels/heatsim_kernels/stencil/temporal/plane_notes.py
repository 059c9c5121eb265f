"""CUDA: what a block of `temporal` notes of the planes that its levels work on: their cell classes.

A level needs the classes of its cells, and whether one row of them serves all rows of a lane. A turn notes that once
for all levels: by cell for the plane that has come in, which no level works on before the next turn. So it comes last
in a turn, and none waits for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int32, uint32, uint64

from heatsim_kernels.runtime.cuda.api import inlined
from heatsim_kernels.runtime.cuda.register_tuples import cycled, part, repeated
from heatsim_kernels.runtime.cuda.warp_rows import everywhere, load_bytes, unequal_rows_of_bytes
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.temporal.board import Board
from heatsim_kernels.stencil.temporal.cell_classes import UNTIL, class_slots_of
from heatsim_kernels.stencil.temporal.plan import TemporalTile
from heatsim_kernels.stencil.temporal.potentials import build_guess

STILL = 8  # the first of some bits of `ClassNotes.alike`
_MOVING = np.uint32(0x7F7F)  # bits of it that move on


class ClassWays(NamedTuple):
    """How a warp may look up the rates of the cells for all levels of a turn, besides cell by cell.

    still: those of one row once, where its classes are those of all rows of a lane in the planes of all levels. rows:
    those of a row for each level, where its classes are those of all rows there.
    """

    still: bool
    rows: bool


class ClassNotes(NamedTuple):
    """What is noted of the classes of cells. It moves on each turn, as planes do from level to level.

    alike: bit n is set where in the plane of level n all rows of each lane of the warp have the same classes; where one
    of the `ClassWays` is `still`, bit STILL + n where the first row has those that it has in the plane below.
    of_levels: the classes of the first row of a lane in the planes of the levels, four at most, 16 bits each: one or
    two of a byte each. If there is no way by rows, those of the first level alone.
    """

    alike: Any
    of_levels: Any


def classes_of_level(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(board, lane, k, n, noted): the classes of a lane's cells in the plane of level n."""
    cells, place_of = tile.columns * tile.rows, build_place_of_classes(configuration, tile)
    read, repeat = load_bytes(cells), repeated(cells)

    @inlined
    def fetched(board, lane, k, n, noted):
        return read(board, place_of(lane, int32(k - int32(1) - n)))

    @inlined
    def of_plane(board, lane, k, n, noted):
        return repeat(uint32((noted >> uint64(n * int32(8))) & uint64(255)))

    @inlined
    def of_one(board, lane, k, n, noted):
        return repeat(uint32(0))

    return of_plane if configuration.layered else fetched if configuration.class_dtype else of_one


def classes_of_rows(tile: TemporalTile, still: bool):
    """Build call(board, lane, k, n, noted): the same where all rows of the lane are noted to have the same classes.
    still: so do the planes of all levels."""
    in_row, every_row = part(slice(0, tile.columns)), cycled(tile.rows)

    @inlined
    def of_rows(board, lane, k, n, noted):
        row = uint32(noted.of_levels >> uint64(int32(0) if still else n * int32(16)))
        return every_row(in_row((uint32(row & uint32(255)), uint32(uint32(row >> uint32(8)) & uint32(255)))))

    return of_rows


def build_place_of_classes(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(lane, p): where on the board the classes of a lane's cells in plane p are."""
    size, slots, steps = Board.of(tile, configuration).classes, class_slots_of(tile, configuration), tile.steps

    @inlined
    def place(lane, p):
        slot = uint32(p + int32(2 * steps)) % uint32(slots)
        return lane.classes + uint64(slot) * uint64(size)

    return place


def build_note(configuration: StencilConfiguration, tile: TemporalTile, holds: bool, ways: ClassWays):
    """Build call(noted, board, lane, span, k, of_turns, plane): what is noted of planes; plane: plane k of the field.
    holds, ways: see `level.build_levels`.

    By cell: `ClassNotes`. In layers: what `classes_of_turns` told last. While all levels are in one layer nothing is
    read: a warp would wait for it. Of potentials: see `potentials.build_guess`.
    """
    if configuration.pieces:
        return build_guess(configuration, Board.of(tile, configuration).pieces)
    steps, columns, place_of = tile.steps, tile.columns, build_place_of_classes(configuration, tile)
    still, rows = ways
    read, unequal = load_bytes(columns), unequal_rows_of_bytes(columns * tile.rows, columns)

    @inlined
    def note(noted, board, lane, span, k, of_turns, plane):
        place = place_of(lane, k)
        same = everywhere(unequal(board, place) == uint32(0))
        moved = uint32(noted.alike & _MOVING) if still else noted.alike
        alike = uint32(uint32(moved << uint32(1)) | uint32(1 if same else 0))
        row, of_levels = read(board, place), uint64(noted.of_levels << uint64(16)) if rows else uint64(0)
        first_row = uint32(row[0] | uint32(row[columns - 1] << uint32(8)))
        if still and everywhere(first_row == uint32(noted.of_levels & uint64(0xFFFF))):
            alike = uint32(alike | uint32(1 << STILL))
        return ClassNotes(alike, uint64(of_levels | uint64(first_row)))

    @inlined
    def of_turn(noted, board, lane, span, k, of_turns, plane):
        return noted if k < until(noted) else told(of_turns, k, steps)

    @inlined
    def of_one(noted, board, lane, span, k, of_turns, plane):
        return noted

    if configuration.layered:
        return of_one if holds else of_turn
    return note if configuration.class_dtype else of_one


def nothing_noted(configuration: StencilConfiguration) -> Any:
    """What is noted before a march: see `build_note`. In layers, what was told of a turn before all others."""
    if configuration.classes_by_cell:
        return ClassNotes(np.uint32(0), np.uint64(0))
    return np.uint64(1 << 63) if configuration.layered else np.uint32(0)


@inlined
def told(of_turns, k, steps):
    """What `classes_of_turns` tells of turn k, where a sweep takes so many steps."""
    return of_turns[uint32(k + steps)]


@inlined
def until(noted):
    """The turn in which `classes_of_turns` is to be read again."""
    return int32(noted >> uint64(UNTIL))


def build_same_rows(configuration: StencilConfiguration, known: bool | None = None):
    """Build call(noted, n): whether in the plane of level n all rows of each lane of the warp have the same classes.
    known: the answer, where it is the same in all planes."""
    if not configuration.classes_by_cell:
        known = True

    @inlined
    def by_cell(noted, n):
        return uint32(noted.alike >> uint32(n)) & uint32(1) == uint32(1)

    @inlined
    def as_known(noted, n):
        return known

    return by_cell if known is None else as_known


def build_same_rows_of_all(tile: TemporalTile, still: bool):
    """Build call(noted): whether in the planes of all levels all rows of each lane have the same classes. still: and
    whether these are the same in all planes."""
    above = tile.steps - 1 if still else 0  # planes of levels that lie above one
    of_levels = np.uint32((1 << tile.steps) - 1 | ((1 << above) - 1) << STILL)

    @inlined
    def of_all(noted):
        return noted.alike & of_levels == of_levels

    return of_all
