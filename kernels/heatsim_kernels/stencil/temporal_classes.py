"""Classes of cells for `temporal`: cells of one class have the same zone, and the same zones around them.

A class stands for the seven zones of a cell and its neighbours, so one byte a cell tells all six rates, where its zones
would have to be fetched seven times. Few of the possible classes occur: two for a plane between two materials, more at
edges and corners. The classes of a lane's cells lie side by side, in the order in which a march reads them: column by
column of the plan, plane by plane, band by band; so a lane fetches 8 or 16 bytes a plane, once for all levels.

A first kernel enters the classes that occur into a hash table with open addressing, a second one writes each cell's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int32, uint8, uint32, uint64

from ..cuda_api import SIMULATED, cuda, inlined
from ..cuda_lanes import WARP
from ..cuda_launch import kernel
from ..cuda_memory import Array, empty, on_device
from .cuda_cell import Shape
from .structure import Structure
from .temporal_plan import Tile

MAX_CLASSES = 256
SLOTS = 4096  # of the hash table, a power of two
PROBES = 64  # slots looked at before the table counts as full
AROUND = 7  # the cell, xm, xp, ym, yp, zm, zp
BLOCKS, THREADS = (2, 8) if SIMULATED else (1056, 256)


class Classes(NamedTuple):
    """The classes of a grid's cells, and what they stand for.

    of_cells: of each lane and plane the classes of its cells, `lane_bytes` of them, flat. members: (MAX_CLASSES * 7,)
    the zones of a class, of the cell and of xm, xp, ym, yp, zm, zp. count: classes. zones: how many zones there are.
    """

    of_cells: Array
    members: Array
    count: np.int32
    zones: np.int32


def lane_bytes(tile: Tile) -> int:
    """Bytes of the classes of a lane's cells in a plane."""
    return -(-tile.columns * tile.rows // 8) * 8


def class_slots(tile: Tile) -> int:
    """Planes whose classes are in shared memory: those on their way and those that levels work on."""
    return tile.steps + tile.ahead + 1


def one_class(zone_count: int) -> Classes:
    """Those of a problem without zones."""
    nothing = np.zeros(1, np.uint8)
    return Classes(on_device(nothing), on_device(np.zeros(AROUND, np.uint8)), np.int32(1), np.int32(zone_count))


def classify(
    structure: Structure, tile: Tile, shape: tuple[int, int, int], pieces: np.ndarray, zones: Array, zone_count: int
) -> Classes | None:
    """The classes of a grid whose plan has these pieces, or None where there are more than MAX_CLASSES."""
    table = on_device(np.zeros(SLOTS + 1, np.uint64))
    dims, variant = Shape(*map(np.uint32, shape)), (structure, tile)
    args = (zones, dims, table)
    kernel(build_collect, variant, args)((BLOCKS, 1, 1), (THREADS, 1, 1), args)
    keys = table.host()
    if keys[SLOTS] or np.count_nonzero(keys[:SLOTS]) > MAX_CLASSES:
        return None
    used = np.flatnonzero(keys[:SLOTS])
    numbers, members = np.zeros(SLOTS, np.uint8), np.zeros((MAX_CLASSES, AROUND), np.uint8)
    numbers[used] = np.arange(len(used))
    members[: len(used)] = keys[used, None] >> np.arange(0, 8 * AROUND, 8, dtype=np.uint64) & np.uint64(255)
    corners = np.unique(pieces[:, [8, 0, 1]], axis=0)[:, 1:].astype(np.int32)
    of_cells = empty(len(corners) * shape[0] * tile.bands * WARP * lane_bytes(tile), np.uint8)
    args = (zones, dims, table, on_device(numbers), on_device(corners), of_cells)
    kernel(build_write, variant, args)((BLOCKS, 1, 1), (THREADS, 1, 1), args)
    return Classes(of_cells, on_device(members.ravel()), np.int32(len(used)), np.int32(zone_count))


def _key_of(structure):
    """call(zones, shape, x, y, z): the seven zones of a cell as one number, never 0; its own alone where only that
    matters. Beyond a wall is the cell itself."""
    wraps, pairs = structure.periodic, structure.pairs
    wrap_x, wrap_y, wrap_z = wraps

    @inlined
    def before(i, n, wrap):
        return uint32(i - uint32(1)) if i > 0 else (uint32(n - uint32(1)) if wrap else i)

    @inlined
    def after(i, n, wrap):
        return uint32(i + uint32(1)) if i + uint32(1) < n else (uint32(0) if wrap else i)

    @inlined
    def zone(zones, shape, x, y, z):
        return uint64(zones[(uint64(z) * uint64(shape.ny) + uint64(y)) * uint64(shape.nx) + uint64(x)])

    @inlined
    def key_of(zones, shape, x, y, z):
        key = uint64(uint64(1) << uint64(56)) | zone(zones, shape, x, y, z)
        if pairs:
            key |= zone(zones, shape, before(x, shape.nx, wrap_x), y, z) << uint64(8)
            key |= zone(zones, shape, after(x, shape.nx, wrap_x), y, z) << uint64(16)
            key |= zone(zones, shape, x, before(y, shape.ny, wrap_y), z) << uint64(24)
            key |= zone(zones, shape, x, after(y, shape.ny, wrap_y), z) << uint64(32)
            key |= zone(zones, shape, x, y, before(z, shape.nz, wrap_z)) << uint64(40)
            key |= zone(zones, shape, x, y, after(z, shape.nz, wrap_z)) << uint64(48)
        return key

    return key_of


@inlined
def _first_slot(key):
    """Where to look for a key: the top bits of its product with 2**64 over the golden ratio (Knuth, TAOCP 3, 6.4)."""
    return uint32((key * uint64(0x9E3779B97F4A7C15)) >> uint64(52)) & uint32(SLOTS - 1)


def build_collect(variant: tuple[Structure, Tile]):
    """The kernel (zones, shape, table) that enters what occurs; table[SLOTS] is not 0 where there is no room."""
    key_of = _key_of(variant[0])

    def temporal_collect(zones, shape, table):
        row, last = uint32(cuda.blockIdx.x), uint64(0)
        while row < shape.nz * shape.ny and table[SLOTS] == 0:
            z, y, x = uint32(row // shape.ny), uint32(row % shape.ny), uint32(cuda.threadIdx.x)
            while x < shape.nx:
                key = key_of(zones, shape, x, y, z)
                if key != last:
                    slot, probes, found = _first_slot(key), uint32(0), False
                    while not found and probes < uint32(PROBES):
                        held = table[slot]
                        if held != key:
                            held = cuda.atomic.cas(table, slot, uint64(0), key)
                        found = held == uint64(0) or held == key
                        slot, probes = uint32((slot + uint32(1)) & uint32(SLOTS - 1)), uint32(probes + uint32(1))
                    if not found:
                        table[SLOTS] = uint64(1)
                    last = key
                x = uint32(x + uint32(THREADS))
            row = uint32(row + uint32(BLOCKS))

    return temporal_collect


def build_write(variant: tuple[Structure, Tile]):
    """The kernel (zones, shape, table, numbers, corners, of_cells) that writes the class of each cell; corners: x and y
    of the tile of each column of the plan."""
    structure, tile = variant
    key_of, stride = _key_of(structure), lane_bytes(tile)
    columns, rows, bands = tile.columns, tile.rows, tile.bands

    @inlined
    def into(i, n):
        """An index at most one period away from the grid."""
        return uint32(i + n) if i < 0 else (uint32(i - n) if i >= n else uint32(i))

    def temporal_write(zones, shape, table, numbers, corners, of_cells):
        lanes = uint64(bands * WARP)
        total = uint64(corners.shape[0]) * uint64(shape.nz) * lanes * uint64(stride)
        at = uint64(cuda.blockIdx.x) * uint64(THREADS) + uint64(cuda.threadIdx.x)
        while at < total:
            cell, lane = min(int32(at % uint64(stride)), int32(columns * rows - 1)), int32(at // uint64(stride) % lanes)
            plane = at // (uint64(stride) * lanes)
            z, column = uint32(plane % uint64(shape.nz)), int32(plane // uint64(shape.nz))
            x = corners[column, 0] + lane % int32(WARP) * int32(columns) + cell % int32(columns)
            y = corners[column, 1] + lane // int32(WARP) * int32(rows) + cell // int32(columns)
            key = key_of(zones, shape, into(int32(x), int32(shape.nx)), into(int32(y), int32(shape.ny)), z)
            slot = _first_slot(key)
            while table[slot] != key:
                slot = uint32((slot + uint32(1)) & uint32(SLOTS - 1))
            of_cells[at] = uint8(numbers[slot])
            at = at + uint64(BLOCKS * THREADS)

    return temporal_write
