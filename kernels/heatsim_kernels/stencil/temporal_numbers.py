"""CUDA: the numbers that all levels of `temporal` look up, brought to shared memory before a block marches."""

from __future__ import annotations

from numba import int32, uint32, uint64

from ..cuda_api import cuda, inlined
from ..cuda_lanes import WARP
from .structure import Structure
from .temporal_classes import AROUND
from .temporal_level import Board
from .temporal_plan import Tile
from .temporal_step import HEAT, RATES


def build(structure: Structure, tile: Tile):
    """call(board, k, tables, classes, pairs) copies to the board what walls and sources are like in each level, and the
    rates of each class."""
    layout, steps, threads = Board.of(tile, structure), tile.steps, WARP * tile.bands
    numbers, count, rates_at = layout.numbers, layout.count, layout.rates
    zones, pairs_given, with_heat = structure.zones, structure.pairs, structure.heat_table

    @inlined
    def take_walls(board, k, t, tables):
        level, face = int32(t // int32(6)), int32(t % int32(6))
        at = uint64(numbers) + uint64(level * int32(count)) + uint64(face * int32(2))
        row = min(int32(k + level), int32(tables.wall_rows - int32(1)))
        board[at] = tables.a[row, face]
        board[at + uint64(1)] = tables.b[row, face]

    @inlined
    def take_class(board, k, number, tables, classes, pairs):
        own = uint32(classes.members[number * int32(AROUND)])
        if with_heat:
            for level in range(steps):
                at = uint64(numbers) + uint64(level) * uint64(count) + uint64(HEAT) + uint64(number)
                row = min(int32(k + level), int32(tables.heat_rows - int32(1)))
                board[at] = tables.heat[row, own]
        if pairs_given:
            for face in range(6):
                other = uint32(classes.members[number * int32(AROUND) + face + 1])
                where = (uint32(face // 2) * uint32(classes.zones) + own) * uint32(classes.zones) + other
                board[uint64(rates_at) + uint64(number) * uint64(RATES) + uint64(face)] = pairs[where]

    @inlined
    def take_numbers(board, k, tables, classes, pairs):
        t = int32(cuda.threadIdx.y * WARP + cuda.threadIdx.x)
        if not zones:
            for i in range(t, 6 * steps, threads):
                take_walls(board, k, int32(i), tables)
        for i in range(t, classes.count, threads):
            take_class(board, k, int32(i), tables, classes, pairs)
        cuda.syncthreads()

    return take_numbers
