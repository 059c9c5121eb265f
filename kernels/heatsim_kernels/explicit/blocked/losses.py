"""CUDA: what cells of several classes lose in a sweep of `temporal`, for the ledger.

At the beginning of a turn a lane holds, for each level, the cells that the step of this level starts from. It sums
those that it owns, of all levels, and adds what they lose to a number of its own in shared memory: registers are
scarce. At the end of its share of the grid a block adds these up.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int32, uint32

from heatsim_kernels.device.cuda.api import cuda, inlined
from heatsim_kernels.device.cuda.register_tuples import cascade, counted, each, part
from heatsim_kernels.device.cuda.warp_rows import WARP
from heatsim_kernels.explicit.blocked.board import Board
from heatsim_kernels.explicit.blocked.class_rates import rate_on_board
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.explicit.blocked.plane_notes import classes_in_still_turns, classes_of_level, is_of_kind
from heatsim_kernels.explicit.blocked.turn_kinds import STILL
from heatsim_kernels.explicit.cuda_cell.cell_update import HEAT_OF_LOSS
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration


def sums(configuration: StencilConfiguration) -> bool:
    """Whether a sweep sums what cells lose."""
    return configuration.losses and not configuration.carries_heat


def lost_bytes(configuration: StencilConfiguration, tile: TemporalTile) -> int:
    """Bytes of shared memory that the sums of the lanes take."""
    return WARP * tile.bands * 8 if sums(configuration) else 0


def build_addition(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(lost, states, k, lane, span, board, noted), which adds to a lane's number in `lost` what its cells
    lose in turn k, J. states: before the turn; noted: see `plane_notes.build_note`."""
    count, zero = tile.rows * tile.columns, np.dtype(configuration.dtype).type(0)
    every, heat_of, sum_of, numbers = uint32((1 << count) - 1), _heat(configuration, tile), _sum(count), counted(count)

    def if_counted(cell, number, flags):
        return cell if (flags >> number) & uint32(1) == uint32(1) else zero

    counted_of = each(if_counted)

    def add_level(n, state, total, k, lane, span, board, noted):
        p = int32(k - int32(1) - n)
        if p >= span.first and p < span.end and lane.counted != uint32(0):
            heat = heat_of(state[1], k, n, lane, board, noted)
            if lane.counted != every:
                heat = counted_of(heat, numbers(uint32(0), uint32(1)), lane.counted)
            total += sum_of(heat)
        return state, total

    add_levels = cascade(add_level)

    @inlined
    def add(lost, states, k, lane, span, board, noted):
        heat = float64(add_levels(states, zero, k, lane, span, board, noted)[1])
        t = uint32(cuda.threadIdx.y * WARP + cuda.threadIdx.x)
        lost[t] = lost[t] + heat

    return add


def _sum(count):
    """Build call(cells): the sum of `count` cells, in halves: in a chain each addition would wait for the last."""
    half, last, add = count // 2, count - 1, each(_add)
    if count == 1:
        return inlined(_first)
    below = _sum(count - 1 if count % 2 else half)
    lower, upper, but_last = part(slice(0, half)), part(slice(half, count)), part(slice(0, last))

    @inlined
    def of_halves(cells):
        return below(add(lower(cells), upper(cells)))

    @inlined
    def of_odd(cells):
        return below(but_last(cells)) + cells[last]

    return of_odd if count % 2 else of_halves


def _first(cells):
    return cells[0]


def _add(one, other):
    return one + other


def _heat(configuration, tile):
    """Build call(cells, k, n, lane, board, noted): what the cells of level n lose, J."""
    rates_at = Board.of(tile, configuration).rates
    classes_of, classes_in_rows = classes_of_level(configuration, tile), classes_in_still_turns(tile)

    def weighted(cell, by):
        return cell * by

    weight_of, times = each(rate_on_board(rates_at, HEAT_OF_LOSS)), each(weighted)

    @inlined
    def of_cells(cells, k, n, lane, board, noted):
        return times(cells, weight_of(cells, classes_of(board, lane, k, n, noted), board))

    @inlined
    def of_classes(cells, k, n, lane, board, noted):
        if is_of_kind(noted, STILL):
            return times(cells, weight_of(cells, classes_in_rows(board, lane, k, n, noted), board))
        return of_cells(cells, k, n, lane, board, noted)

    return of_classes if configuration.classes_by_cell else of_cells


def build_entry(tile: TemporalTile):
    """Build call(lost, partial), which takes what the lanes of a block have lost off its number in the last row of
    partial (accounts, blocks or more), J."""
    threads = WARP * tile.bands

    @inlined
    def enter(lost, partial):
        t = uint32(cuda.threadIdx.y * WARP + cuda.threadIdx.x)
        cuda.syncthreads()  # waits for the sums of all lanes
        if t < uint32(WARP):
            total = float64(0.0)
            for i in range(t, threads, WARP):
                total += lost[i]
            lost[t] = total
        cuda.syncthreads()  # waits for the sums of the first warp
        if t == 0:
            total = float64(0.0)
            for i in range(WARP):
                total += lost[i]
            partial[partial.shape[0] - 1, cuda.blockIdx.x] -= total

    return enter
