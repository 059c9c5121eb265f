"""`temporal`: several time steps a sweep, so that a cell travels to and from memory once for all of them.

    plane k      k-1      k-2      k-3      k-4        A block marches through z with the planes of all levels in its
      |           |        |        |        |         registers: level 1 takes the first step of plane k-1 while
    loaded --> step 1 -> step 2 -> step 3 -> step 4    level 2 takes the second of plane k-2, and so on. Each level lags
                                             |         one plane behind the one before, so it has the plane above from
                                          stored       that level in this very turn and all else from the turn before:
                                                       one barrier a plane serves all levels.

Tiles overlap in x and y by a cell a step at each side (`temporal_plan`), computed twice instead of exchanged; x
neighbours come by shuffle, y neighbours from registers and, between warps, from shared memory (`temporal_level`). In
float32 with 4 steps and tiles of 64 x 64 cells, a cell's update computes 9 operations, 1.3 times as many with the
overlap, and moves 8 bytes for 4 updates, again 1.3 times as many for what is read: 4 operations a byte instead of 1.
So arithmetic, not memory, sets the pace. Sources: Nguyen et al., 3.5-D blocking optimization for stencil computations
on modern CPUs and GPUs, SC 2010; Matsumura et al., AN5D: automated stencil framework for high-degree temporal
blocking, CGO 2020 (planes of all levels in registers, one barrier a plane).

What it fuses: uniform materials with all boundary kinds, whose values may differ from step to step, and a heating
rate. Everything else goes to a single sweep: see `fuses`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float32, float64, int32, types, uint32, uint64

from ..cuda_api import SIMULATED, cuda, inlined
from ..cuda_lanes import WARP, load_rows, prefetch_rows, store_rows, thread_anew
from ..cuda_tuples import counted, each, once, repeated
from . import temporal_level
from .structure import Structure
from .temporal_level import NUMBERS, Board, Lane, Walls
from .temporal_plan import Tile, fits

ALIGNMENT = 16  # bytes
STATIC_LIMIT = 48 * 1024  # bytes of shared memory that a kernel may declare
_FOR_SIMULATOR = (Tile(2, 2, 3, 2),)
TILES = {  # by precision, the best first; the last spills nothing on capability 8.0 either
    "float32": _FOR_SIMULATOR if SIMULATED else (Tile(4, 2, 4, 16), Tile(4, 2, 4, 8)),
    "float64": _FOR_SIMULATOR if SIMULATED else (Tile(3, 2, 4, 8), Tile(3, 2, 2, 8)),
}


class Variant(NamedTuple):
    """What a kernel is compiled for.

    aligned: rows of the grid are multiples of a lane's columns. traced: the cells beside walls are written after each
    step but the last, for the energy ledger.
    """

    structure: Structure
    tile: Tile
    aligned: bool
    traced: bool


class Tables(NamedTuple):
    """Boundary values and heating rates of a batch of steps; of each, the row of a step or the last one holds.

    a, b: (rows, 6), FACES in order. heat: (rows, 1), K/s, any where there is none.
    """

    a: object
    b: object
    wall_rows: int
    heat: object
    heat_rows: int


class Rates(NamedTuple):
    """Rates a step along x, y, z, and the step, s."""

    rx: float
    ry: float
    rz: float
    dt: float


class Span(NamedTuple):
    """What a block marches through: planes first <= z < end of a grid, and sizes.

    rows: offsets of a lane's rows from the first one; side: the same, counted in rows. plane, grid, trace: cells of a
    plane, of the grid, and of a level of the trace.
    """

    first: int
    end: int
    nz: int
    ny: int
    nx: int
    rows: object
    side: object
    plane: int
    grid: int
    trace: int


def fuses(structure: Structure, tile: Tile, shape: tuple[int, int, int]) -> bool:
    """Whether the kernel can take several steps of such a problem at once."""
    simple = not (structure.pairs or structure.zones or structure.heat_field or structure.wall_per_cell)
    return simple and fits(tile, shape, structure.periodic)


def bounds(tile: Tile) -> tuple[int, int]:
    """Threads of a block, and blocks that a multiprocessor should hold at once: all its registers for one."""
    return WARP * tile.bands, 1


def shared_bytes(tile: Tile, dtype: str) -> int:
    """Bytes of dynamic shared memory to launch with; 0 where the kernel declares what it needs itself."""
    size = Board.of(tile).size * np.dtype(dtype).itemsize
    return 0 if size <= STATIC_LIMIT else size


def build(variant: Variant):
    """The kernel of a variant: (u, v, trace, shape, pieces, firsts, k, tables, rates), one block for each share of
    `temporal_plan.plan`; step k of the tables is the first it takes. `u` and `v` start on a 16-byte boundary.

    trace: (steps - 1, boundary cells), flat, for each level the FACES one after another, each in C order of its axes.
    """
    structure, tile = variant.structure, variant.tile
    real = float32 if structure.dtype == "float32" else float64
    steps, threads = tile.steps, WARP * tile.bands
    march = _march(variant)
    size, numbers = Board.of(tile).size, Board.of(tile).numbers
    dynamic = shared_bytes(tile, structure.dtype) > 0
    with_heat = structure.heat_table

    @inlined
    def take_numbers(board, k, tables):
        """Copy what walls and sources are like in each level."""
        t = int32(cuda.threadIdx.y * WARP + cuda.threadIdx.x)
        while t < int32(6 * steps):
            level, face = int32(t // int32(6)), int32(t % int32(6))
            at = uint64(numbers) + uint64(level * int32(NUMBERS))
            row = min(int32(k + level), int32(tables.wall_rows - int32(1)))
            board[at + uint64(face * int32(2))] = tables.a[row, face]
            board[at + uint64(face * int32(2) + int32(1))] = tables.b[row, face]
            if with_heat and face == 0:
                row = min(int32(k + level), int32(tables.heat_rows - int32(1)))
                board[at + uint64(temporal_level.HEAT)] = tables.heat[row, 0]
            t = int32(t + int32(threads))
        cuda.syncthreads()

    def temporal(u, v, trace, shape, pieces, firsts, k, tables, rates):
        if SIMULATED:
            board = cuda.shared.array(size, real)
        else:
            board = cuda.shared.array(0 if dynamic else size, real, ALIGNMENT)
        take_numbers(board, k, tables)
        share = cuda.blockIdx.x
        for piece in range(firsts[share], firsts[share + 1]):
            march(pieces, piece, u, v, trace, shape, board, rates)

    return temporal


def _march(variant):
    """The march of a block through planes first <= z < end of the tile at (x0, y0)."""
    structure, tile = variant.structure, variant.tile
    steps, columns, rows = tile.steps, tile.columns, tile.rows
    _, _, wrap_z = structure.periodic
    start, buffer = Board.of(tile).start, Board.of(tile).buffer
    place = _place(variant, thread)
    inner, edge, general = (_turn(variant, Walls(xy, z)) for xy, z in ((False, False), (True, False), (True, True)))
    cells, pair, levels = repeated(columns * rows), repeated(2), repeated(steps)
    load = load_rows(columns, variant.aligned)
    zero = np.dtype(structure.dtype).type(0)
    early = tile.early

    @inlined
    def march(pieces, piece, u, v, trace, shape, board, rates):
        x0, y0, first, end = pieces[piece, 0], pieces[piece, 1], pieces[piece, 2], pieces[piece, 3]
        lane, span, begin, at_wall = place(x0, y0, first, end, shape)
        # Plane `last` has been taken in when plane end - 1 leaves; what is beyond the grid is any value.
        k, last = int32(first - int32(steps)), int32(end - int32(1) + int32(steps))
        if not wrap_z:
            k = max(k, int32(0))
        source = begin + uint64(int32(k + span.nz) if k < 0 else k) * span.plane
        plane = load(u, source, span.rows)
        if early:
            source = uint64(source + span.plane)
        moving = levels(pair(cells(zero))), plane, source
        # In between, no level is at a wall of z, nor is the plane to load.
        free, bound = (k, last) if wrap_z else (int32(steps + 1), min(last, int32(span.nz - int32(2))))
        args = lane, span, rates, trace, shape, pieces, piece
        while k <= last:
            if k < free or k >= bound or k & int32(1) == 1:
                read = uint64(start + buffer) if k & int32(1) == 1 else uint64(start)
                moving = general(moving, k, u, v, board, read, uint64(2 * start + buffer) - read, *args)
                k = int32(k + int32(1))
            elif at_wall:
                while k < bound:
                    moving = edge(moving, k, u, v, board, uint64(start), uint64(start + buffer), *args)
                    k = int32(k + int32(1))
                    moving = edge(moving, k, u, v, board, uint64(start + buffer), uint64(start), *args)
                    k = int32(k + int32(1))
            else:
                while k < bound:
                    moving = inner(moving, k, u, v, board, uint64(start), uint64(start + buffer), *args)
                    k = int32(k + int32(1))
                    moving = inner(moving, k, u, v, board, uint64(start + buffer), uint64(start), *args)
                    k = int32(k + int32(1))

    return march


def _turn(variant, walls):
    """One turn of the march: a plane comes in, all levels take their steps, a plane leaves."""
    tile, (_, _, wrap_z) = variant.tile, variant.structure.periodic
    advance = temporal_level.build(variant.structure, tile, walls)
    leave_trace = temporal_level.build_trace(variant.structure, tile, walls)
    traced, z_walls, place = variant.traced and (walls.xy or walls.z), walls.z, _place(variant, thread_anew)
    load, store = (move(tile.columns, variant.aligned) for move in (load_rows, store_rows))
    fetch = prefetch_rows(tile.columns)
    steps, early, ahead = tile.steps, tile.early, tile.ahead

    def turn(moving, k, u, v, board, read, write, lane, span, rates, trace, shape, pieces, piece):
        states, plane, source = moving
        if traced and (z_walls or lane.at_left or lane.at_right or lane.at_top or lane.at_bottom):
            # Found anew, so that what is needed here alone takes no registers elsewhere.
            x, y, first, end = pieces[piece, 0], pieces[piece, 1], pieces[piece, 2], pieces[piece, 3]
            here, there, _, _ = place(x, y, first, end, shape)
            leave_trace(states, k, here, there, trace)
        if wrap_z and source >= span.grid:
            source = uint64(source - span.grid)
        wanted = source
        if z_walls and not wrap_z:
            beyond = int32(k + int32(early) - span.nz + int32(1))  # planes past the last one, loaded again instead
            wanted = uint64(source - uint64(max(beyond, int32(0))) * span.plane)
        coming = load(u, wanted, span.rows)
        if not early:
            plane = coming
        if ahead > 0 and k + int32(ahead + early) < span.nz:
            fetch(u, source + uint64(ahead) * span.plane, span.rows)
        states, new = advance(states, plane, k, board, read, write, lane, span, rates)
        p = int32(k - int32(steps))
        if p >= span.first and p < span.end:
            target = source - uint64(steps + early) * span.plane
            if wrap_z and source < uint64(steps + early) * span.plane:
                target = uint64(target + span.grid)
            store(v, target, span.rows, new, lane.owned)
        cuda.syncthreads()
        return states, coming, uint64(source + span.plane)

    return once(turn, lambda moving, *others: moving)


@inlined
def thread():
    """threadIdx.x and .y, int32."""
    return int32(cuda.threadIdx.x), int32(cuda.threadIdx.y)


def _place(variant, thread_index):
    """Where a lane is: call(x0, y0, first, end, shape) gives its Lane, its Span, the index of its first cell in plane
    0, and whether its tile touches a wall at x or y."""
    tile = variant.tile
    wrap_x, wrap_y, _ = variant.structure.periodic
    steps, columns, rows, bands = tile.steps, tile.columns, tile.rows, tile.bands
    width, height, halo_lanes, numbers = tile.width, tile.height, tile.halo // tile.columns, Board.of(tile).numbers
    count_rows = counted(rows)

    def within(i, n):
        return uint32(i - n) if i >= n else uint32(i)

    wrapped = each(within)

    @inlined
    def into(i, n):
        """An index at most one period away from the grid."""
        return int32(i + n) if i < 0 else (int32(i - n) if i >= n else i)

    @inlined
    def place(x0, y0, first, end, shape):
        tx, band = thread_index()
        nz, ny, nx = int32(shape.nz), int32(shape.ny), int32(shape.nx)
        plane = uint64(ny) * uint64(nx)
        x, y = int32(x0 + tx * int32(columns)), int32(y0 + band * int32(rows))
        wall_left, wall_right = not wrap_x and x0 == 0, not wrap_x and x0 + int32(width) == nx
        wall_top, wall_bottom = not wrap_y and y0 == 0, not wrap_y and y0 + int32(height) == ny
        at_left, at_right = wall_left and tx == 0, wall_right and tx == int32(WARP - 1)
        at_top, at_bottom = wall_top and band == 0, wall_bottom and band == int32(bands - 1)
        owned = uint32(0)
        if (wall_left or tx >= int32(halo_lanes)) and (wall_right or tx < int32(WARP - halo_lanes)):
            row = int32(y - y0)
            for r in range(rows):
                if (wall_top or row + r >= steps) and (wall_bottom or row + r < height - steps):
                    owned = uint32(owned | uint32(uint32(1) << uint32(r)))
        if wrap_x:
            x = into(x, nx)
        if wrap_y:
            y = into(y, ny)
            side = wrapped(count_rows(uint32(y), uint32(1)), uint32(ny))
            offsets = wrapped(count_rows(uint32(y * nx), uint32(nx)), uint32(plane))
            begin, y = uint64(x), int32(0)
        else:
            side, offsets = count_rows(uint32(0), uint32(1)), count_rows(uint32(0), uint32(nx))
            begin = uint64(y) * uint64(nx) + uint64(x)
        ends = uint64(band * int32(2 * width) + tx * int32(columns))
        # Faces follow one another in the trace: x_min, x_max, y_min, y_max, z_min, z_max.
        x_face, y_face = uint32(nz * ny), uint32(nz * nx)
        lane = Lane(
            at_left,
            at_right,
            at_top,
            at_bottom,
            owned,
            ends,
            uint64(numbers + 2 if at_right else numbers),
            uint64(numbers + 6 if at_bottom else numbers + 4),
            uint32((x_face if at_right else uint32(0)) + uint32(y)),
            uint32(uint32(2) * x_face + (y_face if at_bottom else uint32(0)) + uint32(x)),
            uint32(uint32(2) * (x_face + y_face) + uint32(begin)),
        )
        trace = uint64(2) * uint64(x_face + y_face) + uint64(2) * plane
        span = Span(first, end, nz, ny, nx, offsets, side, plane, uint64(nz) * plane, trace)
        return lane, span, begin, wall_left or wall_right or wall_top or wall_bottom

    return place


def signature(dtype: str):
    """The types of the kernel's arguments."""
    from .cuda_cell import Shape

    real, rows, integers = getattr(types, dtype), types.Array, types.int32
    table = rows(real, 2, "C")
    return types.void(
        *(rows(real, 1, "C"),) * 3,
        types.NamedUniTuple(types.uint32, 3, Shape),
        rows(integers, 2, "C"),
        rows(integers, 1, "C"),
        integers,
        types.NamedTuple((table, table, integers, table, integers), Tables),
        types.NamedUniTuple(real, 4, Rates),
    )
