"""CUDA: the fields that a sweep of `temporal` reads and writes: one each for steps, two each for stages.

Planes come from memory by way of rings in shared memory. A lane reads back only the cells that it has asked for itself,
so that waiting for its own copies is enough and the rings need no barrier. A plane of Y_{j-2} is used one turn after it
has come, together with the plane above of Y_{j-1}; so it waits in a ring that is longer by a plane.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import int32, uint32, uint64

from heatsim_kernels.device.cuda.api import inlined
from heatsim_kernels.device.cuda.async_copy import fetch_rows
from heatsim_kernels.device.cuda.register_tuples import counted
from heatsim_kernels.device.cuda.warp_rows import load_rows, store_field_rows, store_rows
from heatsim_kernels.explicit.blocked.board import Board
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration


class FieldPair(NamedTuple):
    """Two fields: Y_j, and before it Y_{j-1}."""

    last: Any
    before: Any


def build_fetch(configuration: StencilConfiguration, tile: TemporalTile, aligned: bool):
    """Build call(board, k, u, source, lane, rows), which asks for plane k; the lane's first cell there is at
    `source`."""
    layout, steps, slots = Board.of(tile, configuration), tile.steps, tile.slots
    size, behind = layout.plane, layout.before - layout.ring
    fetch_cells = fetch_rows(tile.columns, aligned, tile.width)

    @inlined
    def of_one(board, k, u, source, lane, rows):
        slot = uint32(k + int32(steps)) % uint32(slots)
        fetch_cells(board, lane.ring + uint64(slot) * uint64(size), u, source, rows)

    @inlined
    def of_two(board, k, u, source, lane, rows):
        of_one(board, k, u.last, source, lane, rows)
        slot = uint32(k + int32(steps)) % uint32(slots + 1)
        fetch_cells(board, lane.ring + uint64(behind) + uint64(slot) * uint64(size), u.before, source, rows)

    return of_two if configuration.stage else of_one


def build_take(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(board, k, lane): plane k of the field, for stages that of Y_{j-1}."""
    size, steps, slots = Board.of(tile, configuration).plane, tile.steps, tile.slots
    take, row_of, width = load_rows(tile.columns, True), counted(tile.rows), tile.width

    @inlined
    def plane(board, k, lane):
        slot = uint32(k + int32(steps)) % uint32(slots)
        return take(board, lane.ring + uint64(slot) * uint64(size), row_of(uint32(0), uint32(width)))

    return plane


def build_arriving(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(plane, board, k, lane): what arrives at the first level in turn k, with that plane; see
    `LevelScheme`."""
    layout, steps, slots = Board.of(tile, configuration), tile.steps, tile.slots
    size, behind = layout.plane, layout.before - layout.ring
    take, row_of, width = load_rows(tile.columns, True), counted(tile.rows), tile.width

    @inlined
    def of_one(plane, board, k, lane):
        return plane

    @inlined
    def of_two(plane, board, k, lane):
        slot = uint32(k + int32(steps + slots)) % uint32(slots + 1)  # that of plane k - 1
        at = lane.ring + uint64(behind) + uint64(slot) * uint64(size)
        return plane, take(board, at, row_of(uint32(0), uint32(width)))

    return of_two if configuration.stage else of_one


def build_store(configuration: StencilConfiguration, tile: TemporalTile, aligned: bool):
    """Build call(v, target, rows, states, leaving, owned), which writes the plane that leaves the last level, after all
    levels have taken their steps; for stages also the plane that it was made from."""
    rows = store_field_rows if configuration.dtype == "float32" else store_rows  # it saves none in float64
    store, end = rows(tile.columns, aligned), tile.steps - 1

    @inlined
    def of_one(v, target, rows, states, leaving, owned):
        store(v, target, rows, leaving, owned)

    @inlined
    def of_two(v, target, rows, states, leaving, owned):
        store(v.last, target, rows, leaving[0], owned)
        store(v.before, target, rows, states[end][0], owned)

    return of_two if configuration.stage else of_one
