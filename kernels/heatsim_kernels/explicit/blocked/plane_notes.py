"""CUDA: what a block of `temporal` notes of the planes that its levels work on: their cell classes.

A level needs the classes of its cells. Kinds of turns (`turn_kinds`) tell a warp when to read them. In a turn that is
STILL it reads none: the rows of one plane are noted, and serve all levels. Their rates stay in registers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import int32, uint32, uint64

from heatsim_kernels.device.cuda.api import inlined
from heatsim_kernels.device.cuda.register_tuples import cycled, part, repeated
from heatsim_kernels.device.cuda.warp_rows import WARP, everywhere, load_bytes, thread_anew
from heatsim_kernels.explicit.blocked.board import Board
from heatsim_kernels.explicit.blocked.cell_classes import UNTIL, class_slots_of
from heatsim_kernels.explicit.blocked.class_rates import build_rates_to_hold
from heatsim_kernels.explicit.blocked.periodic_index import into
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.explicit.blocked.potentials import build_guess
from heatsim_kernels.explicit.blocked.turn_kinds import BY_CELL, KIND_BITS, STILL
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration


class ClassNotes(NamedTuple):
    """What is noted of the classes of cells.

    turns: the kind of turns, and from bit KIND_BITS on the first turn that may be of another kind. of_rows: the classes
    of a lane's first row, its second and its last, 16 bits each, one or two of a byte each. In a turn that is STILL
    they are those of the planes of all levels.
    """

    turns: Any
    of_rows: Any


def classes_of_level(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(board, lane, k, n, noted): the classes of a lane's cells in the plane of level n."""
    cells, place_of = tile.columns * tile.rows, build_place_of_classes(configuration, tile)
    read, repeat = load_bytes(cells), repeated(cells)

    @inlined
    def fetched(board, lane, k, n, noted):
        return read(board, place_of(int32(k - int32(1) - n)))

    @inlined
    def of_plane(board, lane, k, n, noted):
        return repeat(uint32((noted >> uint64(n * int32(8))) & uint64(255)))

    @inlined
    def of_one(board, lane, k, n, noted):
        return repeat(uint32(0))

    return of_plane if configuration.layered else fetched if configuration.class_dtype else of_one


def classes_in_still_turns(tile: TemporalTile):
    """Build call(board, lane, k, n, noted): the same in a turn that is STILL, from what is noted."""
    in_row, inner_rows = part(slice(0, tile.columns)), cycled(max(1, tile.rows - 2))

    @inlined
    def row(noted, number):
        found = uint32((noted.of_rows >> uint64(16 * number)) & uint64(0xFFFF))
        return in_row((uint32(found & uint32(255)), uint32(found >> uint32(8))))

    @inlined
    def of_rows(board, lane, k, n, noted):
        return row(noted, 0) + inner_rows(row(noted, 1)) + row(noted, 2)

    @inlined
    def of_two_rows(board, lane, k, n, noted):
        return row(noted, 0) + row(noted, 2)

    return of_rows if tile.rows > 2 else of_two_rows


def build_place_of_classes(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(p): where on the board the classes of a lane's cells in plane p are. Few turns ask for them: which
    lane it is takes no register meanwhile."""
    layout, slots, steps = Board.of(tile, configuration), class_slots_of(tile, configuration), tile.steps
    first, size, of_lane = layout.class_ring, layout.classes, layout.lane

    @inlined
    def place(p):
        slot = uint32(p + int32(2 * steps)) % uint32(slots)
        tx, band = thread_anew()
        number = uint32(band * int32(WARP) + tx)
        return uint64(uint32(first) + slot * uint32(size) + number * uint32(of_lane))

    return place


def build_lane_number(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(lane, span, p): the number of a lane among those whose classes are laid out, in plane p. A plane may
    lie a period beyond the grid, if z is periodic."""
    wraps, threads = configuration.periodic[2], uint32(WARP * tile.bands)

    @inlined
    def number(lane, span, p):
        z = into(p, span.nz) if wraps else p
        return uint32(lane.laid_out + uint32(z) * threads)

    return number


def build_note(configuration: StencilConfiguration, tile: TemporalTile, holds: bool):
    """Build call(noted, held, board, lane, span, k, cell_classes, plane): what is noted before the levels of turn k, in
    which plane k of the field, `plane`, comes, and the rates that are held; cell_classes: `LaneCellClasses`.

    In layers: what `classes_of_turns` told last. While all levels are in one layer nothing is read: a warp would wait
    for it. holds: see `level.build_levels`. By cell: `ClassNotes`. Of potentials: see `potentials.build_guess`.
    """
    if configuration.pieces:
        return build_guess(configuration, Board.of(tile, configuration).pieces)
    steps, note_classes = tile.steps, _note_of_classes(configuration, tile)
    classes_of, rates_at = classes_in_still_turns(tile), Board.of(tile, configuration).rates
    rates_of, own_rates = build_rates_to_hold(configuration, tile, rates_at), not configuration.uniform

    @inlined
    def of_turn(noted, held, board, lane, span, k, cell_classes, plane):
        return noted if k < until(noted) else told(cell_classes.of_lanes, k, steps), held

    @inlined
    def of_classes(noted, held, board, lane, span, k, cell_classes, plane):
        if everywhere(k >= _until_kind(noted)):
            noted = note_classes(board, lane, span, k, cell_classes.kinds_of_turns)
            if own_rates:
                held = rates_of(plane, classes_of(board, lane, k, int32(0), noted), board)
        return noted, held

    @inlined
    def as_before(noted, held, board, lane, span, k, cell_classes, plane):
        return noted, held

    if configuration.classes_by_cell:
        return of_classes
    return of_turn if configuration.layered and not holds else as_before


def _note_of_classes(configuration, tile):
    """Build call(board, lane, span, k, kinds): `ClassNotes` for turn k; kinds: see `classify_turns`."""
    columns, cells, wraps = tile.columns, tile.columns * tile.rows, configuration.periodic[2]
    place_of, number = build_place_of_classes(configuration, tile), build_lane_number(configuration, tile)
    read, end = load_bytes(cells), columns - 1
    first, second, last = (part(slice(at, at + columns)) for at in (0, columns, cells - columns))

    @inlined
    def packed(row):
        return uint64(row[0] | uint32(row[end] << uint32(8)))

    @inlined
    def note(board, lane, span, k, kinds):
        found = int32(1 << KIND_BITS | BY_CELL)
        if wraps or k < span.nz:
            found = kinds[uint32(number(lane, span, k) // uint32(WARP))]
        classes = read(board, place_of(int32(k - int32(1))))
        inner, outer = uint64(packed(second(classes)) << uint64(16)), uint64(packed(last(classes)) << uint64(32))
        of_rows = uint64(packed(first(classes)) | uint64(inner | outer))
        return ClassNotes(int32(found + (k << int32(KIND_BITS))), of_rows)

    return note


@inlined
def is_of_kind(noted, kind):
    """Whether a turn is of a kind."""
    return int32(noted.turns & int32((1 << KIND_BITS) - 1)) == int32(kind)


@inlined
def is_still_until(noted, k):
    """Whether this turn is STILL, and so are all others up to turn k."""
    return is_of_kind(noted, STILL) and k < _until_kind(noted)


@inlined
def _until_kind(noted):
    """The first turn that may be of another kind."""
    return int32(noted.turns >> int32(KIND_BITS))


def build_beginning_of_notes(configuration: StencilConfiguration) -> Any:
    """Build call(k): what is noted before a march whose first turn is k, see `build_note`. In layers, what was told of
    a turn before all others. By cell: that this turn is BY_CELL, since of what came before it no classes are there."""
    nothing = np.uint64(1 << 63) if configuration.layered else np.uint32(0)

    @inlined
    def of_classes(k):
        return ClassNotes(int32(int32((k + int32(1)) << int32(KIND_BITS)) | int32(BY_CELL)), np.uint64(0))

    @inlined
    def of_others(k):
        return nothing

    return of_classes if configuration.classes_by_cell else of_others


@inlined
def told(of_turns, k, steps):
    """What `classes_of_turns` tells of turn k, where a sweep takes so many steps."""
    return of_turns[uint32(k + steps)]


@inlined
def until(noted):
    """The turn in which `classes_of_turns` is to be read again."""
    return int32(noted >> uint64(UNTIL))
