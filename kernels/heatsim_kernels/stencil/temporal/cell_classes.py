"""Kinds of cells for `temporal`, laid out as a march reads them.

The kinds of a lane's cells lie side by side, in the order in which a march comes to them: column by column of the plan,
plane by plane, band by band; so a lane fetches 8 or 16 bytes a plane, once for all levels, wherever rows of the grid
begin. A byte tells the kind, of MAX_KINDS at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int32, uint32, uint64

from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.runtime.cuda.arrays import Array, empty, on_device
from heatsim_kernels.runtime.cuda.launch import kernel
from heatsim_kernels.runtime.cuda.warp_rows import WARP
from heatsim_kernels.stencil.cuda.cell_update import GridShape
from heatsim_kernels.stencil.temporal.plan import TemporalTile

MAX_KINDS = 256
BLOCKS, THREADS = (2, 8) if SIMULATED else (1056, 256)


class TemporalCellClasses(NamedTuple):
    """The kinds of cells, uint8, flat (any where there is a single kind), and how many there are."""

    of_cells: Array
    count: int


def lane_bytes(tile: TemporalTile) -> int:
    """Bytes of the kinds of a lane's cells in a plane."""
    return -(-tile.columns * tile.rows // 8) * 8


def kind_slots(tile: TemporalTile) -> int:
    """Planes whose kinds are in shared memory: those on their way and those that levels work on."""
    return tile.steps + tile.ahead + 1


def laid_out(kinds: TemporalCellClasses, tile: TemporalTile, shape: tuple[int, int, int], pieces: np.ndarray) -> Array:
    """The kinds of a grid's cells for a plan with these pieces: of each lane and plane `lane_bytes` of them, flat."""
    corners = np.unique(pieces[:, [8, 0, 1]], axis=0)[:, 1:].astype(np.int32)
    result = empty(len(corners) * shape[0] * tile.bands * WARP * lane_bytes(tile), np.uint8)
    args = (kinds.of_cells, GridShape(*map(np.uint32, shape)), on_device(corners), result)
    kernel(build, tile, args)((BLOCKS, 1, 1), (THREADS, 1, 1), args)
    return result


def build(tile: TemporalTile):
    """The kernel (kinds, shape, corners, result) of a tile; corners: x and y of the tile of each column of the plan."""
    columns, rows, lanes, stride = tile.columns, tile.rows, tile.bands * WARP, lane_bytes(tile)

    @inlined
    def into(i, n):
        """An index at most one period away from the grid."""
        return uint64(i + n) if i < 0 else (uint64(i - n) if i >= n else uint64(i))

    def temporal_kinds(kinds, shape, corners, result):
        nz, ny, nx = int32(shape.nz), int32(shape.ny), int32(shape.nx)
        total = uint64(corners.shape[0]) * uint64(shape.nz) * uint64(lanes * stride)
        at = uint64(cuda.blockIdx.x) * uint64(THREADS) + uint64(cuda.threadIdx.x)
        while at < total:
            place, plane = uint32(at % uint64(lanes * stride)), uint32(at // uint64(lanes * stride))
            cell, lane = min(int32(place % uint32(stride)), int32(columns * rows - 1)), int32(place // uint32(stride))
            z, column = int32(plane % uint32(nz)), int32(plane // uint32(nz))
            x = corners[column, 0] + lane % int32(WARP) * int32(columns) + cell % int32(columns)
            y = corners[column, 1] + lane // int32(WARP) * int32(rows) + cell // int32(columns)
            row = uint64(z) * uint64(ny) + into(int32(y), ny)
            result[at] = kinds[row * uint64(nx) + into(int32(x), nx)]
            at = at + uint64(BLOCKS * THREADS)

    return temporal_kinds
