"""CUDA: the numbers that all levels of `temporal` look up, brought to shared memory before a block marches."""

from __future__ import annotations

from numba import int32, uint64

from heatsim_kernels.cuda_api import cuda, inlined
from heatsim_kernels.cuda_lanes import WARP
from heatsim_kernels.stencil.cuda_cell import RATES
from heatsim_kernels.stencil.structure import Structure
from heatsim_kernels.stencil.temporal_level import Board
from heatsim_kernels.stencil.temporal_plan import Tile
from heatsim_kernels.stencil.temporal_step import HEAT


def build(structure: Structure, tile: Tile):
    """call(board, k, tables, kinds) copies to the board what walls and sources are like in each level, and the rates of
    each kind."""
    layout, steps, threads = Board.of(tile, structure), tile.steps, WARP * tile.bands
    numbers, count, rates_at = layout.numbers, layout.count, layout.rates
    several, own_rates, with_heat = structure.kinds != "", not structure.uniform, structure.heat_table

    @inlined
    def take_walls(board, k, t, tables):
        level, face = int32(t // int32(6)), int32(t % int32(6))
        at = uint64(numbers) + uint64(level * int32(count)) + uint64(face * int32(2))
        row = min(int32(k + level), int32(tables.wall_rows - int32(1)))
        board[at] = tables.a[row, face]
        board[at + uint64(1)] = tables.b[row, face]

    @inlined
    def take_heat(board, k, kind, tables):
        for level in range(steps):
            at = uint64(numbers) + uint64(level) * uint64(count) + uint64(HEAT) + uint64(kind)
            row = min(int32(k + level), int32(tables.heat_rows - int32(1)))
            board[at] = tables.heat[row, kind]

    @inlined
    def take_numbers(board, k, tables, kinds):
        t = int32(cuda.threadIdx.y * WARP + cuda.threadIdx.x)
        if not several:
            for i in range(t, 6 * steps, threads):
                take_walls(board, k, int32(i), tables)
        if with_heat:
            for kind in range(t, kinds.count, threads):
                take_heat(board, k, int32(kind), tables)
        if own_rates:
            for i in range(t, kinds.count * int32(RATES), threads):
                board[uint64(rates_at) + uint64(i)] = kinds.rates[uint64(i)]
        cuda.syncthreads()

    return take_numbers
