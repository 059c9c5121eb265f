"""Cell classes for `temporal`, laid out as a march reads them.

In a stack of layers along z all cells of a plane have one class. A march reads a number for each turn in which its
levels come to another layer (`classes_of_turns`). Otherwise:

The classes of a lane's cells lie side by side, in the order in which a march comes to them: column by column of the
plan, plane by plane, band by band. So a lane reads 8 or 16 bytes a plane, once for all levels, wherever rows of the
grid begin. A class is a byte: there are MAX_CLASSES at most. Lanes are numbered by 32 bits, which serves 2^32 lanes of
8 cells, more than a GPU holds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int32, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.device.cuda.warp_rows import WARP
from heatsim_kernels.explicit.blocked.plan import TemporalTile
from heatsim_kernels.explicit.cuda_cell.cell_update import GridShape
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

MAX_CLASSES = 256
UNTIL = 32  # bits before `until` in what a march reads of layers: see `classes_of_turns`
BLOCKS, THREADS = (2, 8) if SIMULATED else (1056, 256)


class TemporalCellClasses(NamedTuple):
    """The class of each cell, uint8, flat (any array where there is a single class), and the exchange rates of each
    class, (n, 6); of_planes: (nz,) the class of each plane normal to z, where all its cells have one."""

    of_cells: Array
    rates: np.ndarray
    of_planes: np.ndarray | None = None


def lane_bytes(tile: TemporalTile) -> int:
    """Bytes of the classes of a lane's cells in a plane, in whole words of 8."""
    return -(-tile.columns * tile.rows // 8) * 8


def class_slots_of(tile: TemporalTile, configuration: StencilConfiguration) -> int:
    """Planes whose classes find room in shared memory: those on their way and those that levels work on. Where there is
    room, these are a power of two: a remainder by another number takes a warp longer than its look-ups."""
    needed = tile.steps + tile.ahead + 1
    return 1 << (needed - 1).bit_length() if configuration.room_for_classes else needed


def classes_of_turns(of_planes: np.ndarray, steps: int, wraps: bool) -> np.ndarray:
    """What a march through layers reads in turns k = -steps, 1 - steps, ..., (nz + 2 steps,) uint64.

    Byte n, n < steps <= 4, is the class of plane k - 1 - n, on which level n works then. The last 32 bits are the turn,
    int32, until which all levels have the class that the last one has now. Planes beyond the grid are those a period
    away, or have the class of the nearest one: what comes of them is never stored.
    """
    planes = np.arange(-2 * steps, len(of_planes) + steps - 1)  # from the last level's in the first turn on
    found = of_planes.take(planes, mode="wrap" if wraps else "clip").astype(np.uint64)
    count = len(of_planes) + 2 * steps
    of_levels = [found[steps - 1 - n :][:count] << np.uint64(8 * n) for n in range(steps)]
    ends = np.append(np.flatnonzero(np.diff(found)) + 1, len(planes))  # of layers
    until = planes[0] + 1 + ends[np.searchsorted(ends, np.arange(count), side="right")]
    return np.bitwise_or.reduce(of_levels) | until.astype(np.uint32).astype(np.uint64) << np.uint64(UNTIL)


def lay_out_classes(
    classes: TemporalCellClasses, tile: TemporalTile, shape: tuple[int, int, int], corners: np.ndarray
) -> Array:
    """Lay out the classes for columns with these `plan.corners`: `lane_bytes` for each lane and plane, flat."""
    result = empty(len(corners) * shape[0] * tile.bands * WARP * lane_bytes(tile), np.uint8)
    args = (classes.of_cells, GridShape(*map(np.uint32, shape)), on_device(corners), result)
    kernel(build, tile, args)((BLOCKS, 1, 1), (THREADS, 1, 1), args)
    return result


def build(tile: TemporalTile):
    """Build the kernel (classes, shape, corners, result) for a tile. corners: x and y of the tile of each column."""
    columns, rows, lanes, stride = tile.columns, tile.rows, tile.bands * WARP, lane_bytes(tile)

    @inlined
    def wrapped(i, n):
        """The index in a grid of n cells for one that is at most a period away."""
        return uint64(i + n) if i < 0 else (uint64(i - n) if i >= n else uint64(i))

    def lay_out(classes, shape, corners, result):
        nz, ny, nx = int32(shape.nz), int32(shape.ny), int32(shape.nx)
        total = uint64(corners.shape[0]) * uint64(shape.nz) * uint64(lanes * stride)
        at = uint64(cuda.blockIdx.x) * uint64(THREADS) + uint64(cuda.threadIdx.x)
        while at < total:
            place, plane = uint32(at % uint64(lanes * stride)), uint32(at // uint64(lanes * stride))
            cell, lane = min(int32(place % uint32(stride)), int32(columns * rows - 1)), int32(place // uint32(stride))
            z, column = int32(plane % uint32(nz)), int32(plane // uint32(nz))
            x = corners[column, 0] + lane % int32(WARP) * int32(columns) + cell % int32(columns)
            y = corners[column, 1] + lane // int32(WARP) * int32(rows) + cell // int32(columns)
            row = uint64(z) * uint64(ny) + wrapped(int32(y), ny)
            result[at] = classes[row * uint64(nx) + wrapped(int32(x), nx)]
            at = at + uint64(BLOCKS * THREADS)

    return lay_out
