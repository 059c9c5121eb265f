"""CUDA: what a block of `temporal` notes of the planes that its levels work on: their cell classes.

A level needs the classes of its cells, and whether one row of them serves all rows of a lane. A turn notes that once
for all levels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, uint32, uint64

from heatsim_kernels.runtime.cuda.api import inlined
from heatsim_kernels.runtime.cuda.register_tuples import repeated
from heatsim_kernels.runtime.cuda.warp_rows import everywhere, load_bytes, unequal_rows
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.temporal.board import Board
from heatsim_kernels.stencil.temporal.cell_classes import UNTIL, class_slots_of
from heatsim_kernels.stencil.temporal.plan import TemporalTile
from heatsim_kernels.stencil.temporal.potentials import build_guess


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
        return repeat(uint32((noted >> uint64(n * int32(8))) & uint64(255)))

    @inlined
    def of_one(board, lane, k, n, noted):
        return repeat(uint32(0))

    return of_plane if configuration.layered else fetched if configuration.class_dtype else of_one


def build_note(configuration: StencilConfiguration, tile: TemporalTile, holds: bool):
    """Build call(noted, board, lane, span, k, of_turns, plane): what is noted of planes; plane: plane k of the field.
    holds: see `level.build_levels`.

    By cell it is a shift register, in which the note of a plane moves on each turn, as the plane does from level to
    level: bit n tells whether in the plane of level n all rows of each lane of the warp have the same classes. In
    layers: what `classes_of_turns` told last. While all levels are in one layer nothing is read: a warp would wait for
    it. Of potentials: see `potentials.build_guess`.
    """
    if configuration.pieces:
        return build_guess(configuration, Board.of(tile, configuration).pieces)
    classes_of, unequal = classes_of_level(configuration, tile), unequal_rows(tile.columns)
    steps = tile.steps

    @inlined
    def note(noted, board, lane, span, k, of_turns, plane):
        same = everywhere(unequal(classes_of(board, lane, k, int32(0), noted)) == uint32(0))
        return uint32(noted << uint32(1)) | uint32(1 if same else 0)

    @inlined
    def of_turn(noted, board, lane, span, k, of_turns, plane):
        return noted if k < until(noted) else told(of_turns, k, steps)

    @inlined
    def of_one(noted, board, lane, span, k, of_turns, plane):
        return noted

    if configuration.layered:
        return of_one if holds else of_turn
    return note if configuration.class_dtype else of_one


def nothing_noted(configuration: StencilConfiguration) -> np.unsignedinteger[Any]:
    """What is noted before a march: see `build_note`. In layers, what was told of a turn
    before all others."""
    return np.uint64(1 << 63) if configuration.layered else np.uint32(0)


@inlined
def told(of_turns, k, steps):
    """What `classes_of_turns` tells of turn k, where a sweep takes so many steps."""
    return of_turns[uint32(k + steps)]


@inlined
def until(noted):
    """The turn in which `classes_of_turns` is to be read again."""
    return int32(noted >> uint64(UNTIL))


def build_same_rows(configuration: StencilConfiguration):
    """Build call(noted, n): whether in the plane of level n all rows of each lane of the warp have the same classes."""

    @inlined
    def by_cell(noted, n):
        return uint32(noted >> uint32(n)) & uint32(1) == uint32(1)

    @inlined
    def always(noted, n):
        return True

    return by_cell if configuration.classes_by_cell else always
