"""CUDA: what a lane and a block of `temporal` know before they march.

First where a lane is: the cells that it holds, the ends of the grid that they touch and the rows that it owns. Then the
numbers that all levels look up, which a block brings to shared memory.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import int32, uint32, uint64

from heatsim_kernels.device.cuda.api import cuda, inlined
from heatsim_kernels.device.cuda.register_tuples import counted, each
from heatsim_kernels.device.cuda.warp_rows import WARP
from heatsim_kernels.explicit.blocked.board import Board, Lane
from heatsim_kernels.explicit.blocked.differences import heat_at
from heatsim_kernels.explicit.blocked.ghosts import BOUNDARY, first_of_face
from heatsim_kernels.explicit.blocked.periodic_index import into, wrapped
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.explicit.blocked.potentials import PIECE
from heatsim_kernels.explicit.cuda_cell.cell_update import RATES
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration


class MarchSpan(NamedTuple):
    """The planes that a block marches through, first <= z < end, and sizes.

    stop: the last plane to read. rows: offsets of a lane's rows from its first one. plane, grid: cells of a plane and
    of the grid.
    """

    first: int
    end: int
    stop: int
    nz: int
    ny: int
    nx: int
    rows: object
    plane: int
    grid: int


def build_place(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(pieces, piece, shape): `Lane`, `MarchSpan`, first cell in plane 0, whether its tile ends in x, y."""
    (wrap_x, wrap_y, wrap_z), board = configuration.periodic, Board.of(tile, configuration)
    steps, columns, rows, bands, width, height = (*tile[:4], tile.width, tile.height)
    ring, count_rows = board.ring, counted(rows)
    around, owned_rows, counted_cells = each(wrapped), _owned_rows(rows), _counted_cells(rows, columns)

    @inlined
    def place(pieces, piece, shape):
        x0, y0, first, end = pieces[piece, 0], pieces[piece, 1], pieces[piece, 2], pieces[piece, 3]
        left, right, top, bottom = pieces[piece, 4], pieces[piece, 5], pieces[piece, 6], pieces[piece, 7]
        tx, band = int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)
        nz, ny, nx = int32(shape.nz), int32(shape.ny), int32(shape.nx)
        plane = uint64(ny) * uint64(nx)
        x, y = int32(x0 + tx * int32(columns)), int32(y0 + band * int32(rows))
        tile_at_left, tile_at_right = not wrap_x and x0 == 0, not wrap_x and x0 + int32(width) == nx
        tile_at_top, tile_at_bottom = not wrap_y and y0 == 0, not wrap_y and y0 + int32(height) == ny
        at_left, at_right = tile_at_left and tx == 0, tile_at_right and tx == int32(WARP - 1)
        at_top, at_bottom = tile_at_top and band == 0, tile_at_bottom and band == int32(bands - 1)
        owned = owned_rows(y, top, bottom) if x >= left and x < right else uint32(0)
        of_lane = counted_cells(owned, int32(pieces[piece, 9] - x))
        if wrap_x:
            x = into(x, nx)
        if wrap_y:
            y = into(y, ny)
            offsets = around(count_rows(uint32(y * nx), uint32(nx)), uint32(plane))
            begin = uint64(x)
        else:
            offsets = count_rows(uint32(0), uint32(nx))
            begin = uint64(y) * uint64(nx) + uint64(x)
        lane = Lane(
            at_left,
            at_right,
            at_top,
            at_bottom,
            owned,
            of_lane,
            uint64(band * int32(2 * width) + tx * int32(columns)),
            uint64(ring) + uint64(band * int32(rows * width) + tx * int32(columns)),
            uint32((pieces[piece, 8] * nz * int32(bands) + band) * int32(WARP) + tx),
            int32(1) if at_right else int32(0),
            int32(3) if at_bottom else int32(2),
        )
        stop = int32(end - int32(1) + int32(steps))
        if not wrap_z:
            stop = min(stop, int32(nz - int32(1)))
        span = MarchSpan(first, end, stop, nz, ny, nx, offsets, plane, uint64(nz) * plane)
        return lane, span, begin, tile_at_left or tile_at_right, tile_at_top or tile_at_bottom

    return place


def _owned_rows(rows):
    """Build call(y, top, bottom): bit r of the result is set where row y + r is owned, top <= y + r < bottom."""

    @inlined
    def owned_rows(y, top, bottom):
        owned = uint32(0)
        for r in range(rows):
            if y + r >= top and y + r < bottom:
                owned = uint32(owned | uint32(uint32(1) << uint32(r)))
        return owned

    return owned_rows


def _counted_cells(rows, columns):
    """Build call(owned, first): bit r columns + c of the result is set where row r is owned and c >= first."""

    @inlined
    def counted_cells(owned, first):
        found = uint32(0)
        for r in range(rows):
            for c in range(columns):
                if (owned >> uint32(r)) & uint32(1) == uint32(1) and int32(c) >= first:
                    found = uint32(found | uint32(uint32(1) << uint32(r * columns + c)))
        return found

    return counted_cells


def build_numbers(configuration: StencilConfiguration, tile: TemporalTile):
    """Build call(board, k, tables, classes, shape), which copies to the board the boundary values and the sources of
    each level, from step k on, the rates of each cell class, and the pieces of the potential."""
    layout, steps, threads = Board.of(tile, configuration), tile.steps, WARP * tile.bands
    numbers, count, rates_at = layout.numbers, layout.number_count, layout.rates
    own_rates, with_heat = not configuration.uniform or configuration.losses, configuration.heat_table
    held, first_heat = configuration.holds_boundary_of_classes, heat_at(configuration)
    per_cell, looked_up = configuration.boundary_per_cell, all(configuration.looks_up(axis) for axis in range(3))
    pieces_at, of_pieces, of_class = layout.pieces, PIECE * configuration.pieces, 6 * steps

    @inlined
    def take_boundary(board, k, t, cell_class, class_count, tables, shape):
        level, face = int32(t // int32(6)), int32(t % int32(6))
        at = uint64(numbers) + uint64(level * int32(count)) + uint64(face * int32(2))
        row = min(int32(k + level), int32(tables.boundary_rows - int32(1)))
        place = first_of_face(uint32(face), shape) if per_cell else uint32(face)
        if held:
            at, place = at + uint64(cell_class * int32(BOUNDARY)), uint32(face * class_count + cell_class)
        board[at] = tables.a[row, place]
        board[at + uint64(1)] = tables.b[row, place]

    @inlined
    def take_heat(board, k, cell_class, tables):
        for level in range(steps):
            at = uint64(numbers) + uint64(level) * uint64(count) + uint64(first_heat) + uint64(cell_class)
            row = min(int32(k + level), int32(tables.heat_rows - int32(1)))
            board[at] = tables.heat[row, cell_class]

    @inlined
    def take_numbers(board, k, tables, classes, shape):
        t = int32(cuda.threadIdx.y * WARP + cuda.threadIdx.x)
        if not looked_up:
            for i in range(t, of_class * (classes.class_count if held else int32(1)), threads):
                number, cell_class = int32(i % of_class), int32(i // of_class)
                take_boundary(board, k, number, cell_class, classes.class_count, tables, shape)
        if with_heat:
            for cell_class in range(t, classes.class_count, threads):
                take_heat(board, k, int32(cell_class), tables)
        if own_rates:
            for i in range(t, classes.class_count * int32(RATES), threads):
                board[uint64(rates_at) + uint64(i)] = classes.rates[uint64(i)]
        for i in range(t, of_pieces, threads):
            board[uint64(pieces_at) + uint64(i)] = classes.pieces[uint64(i)]
        cuda.syncthreads()  # waits for the copies of all threads: levels read numbers that other threads have copied

    return take_numbers
