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

Planes come from memory by way of a ring in shared memory (`cp.async`), several planes ahead: registers have room for
one at most, and a load that is needed a turn later is waited for. A lane fetches the very cells it then takes, so the
ring needs no barrier.

What it fuses: up to 256 kinds of cells (`temporal_kinds`), with all boundary kinds, whose values may differ from step
to step, and a heating rate by kind. Everything else goes to a single sweep: see `fuses`. Stages of a step of several
that are made of two fields take the place of steps (`temporal_scheme`): two fields are read and two written, 16 bytes
for 4 stages in float32 and, again, 1.3 times as many for what is read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float32, float64, int32, types, uint32, uint64

from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.runtime.cuda.async_copy import end_fetch, fetch_bytes, wait_for_fetches
from heatsim_kernels.runtime.cuda.register_tuples import once, repeated
from heatsim_kernels.runtime.cuda.warp_rows import WARP
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.temporal import boundary_trace, field_planes, level, setup
from heatsim_kernels.stencil.temporal.cell_classes import kind_slots, lane_bytes
from heatsim_kernels.stencil.temporal.differences import LevelBoundary
from heatsim_kernels.stencil.temporal.field_planes import FieldPair
from heatsim_kernels.stencil.temporal.level import Board, StageRates
from heatsim_kernels.stencil.temporal.plan import TemporalTile, TileWalls, fits

ALIGNMENT = 16  # bytes
STATIC_LIMIT = 48 * 1024  # bytes of shared memory that a kernel may declare
_FOR_SIMULATOR = (TemporalTile(2, 2, 3, 2),)
TILES = {  # by precision, the best first; the last spills nothing on capability 8.0 either
    "float32": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 16, ahead=2), TemporalTile(4, 2, 4, 8)),
    "float64": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 8), TemporalTile(3, 2, 2, 8)),
}
TILES_OF_FACES = {  # the same where each face has a rate of its own
    "float32": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 12), TemporalTile(4, 2, 4, 8)),
    "float64": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 8), TemporalTile(3, 2, 2, 8)),
}
STAGE_TILES = {  # for stages, whose first level takes registers and shared memory for a field more
    "float32": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 16, ahead=2), TemporalTile(4, 2, 4, 8, ahead=2)),
    "float64": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 8, ahead=2), TemporalTile(3, 2, 2, 8, ahead=2)),
}
STAGE_TILES_OF_FACES = {
    "float32": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 12, ahead=2), TemporalTile(3, 2, 4, 8, ahead=2)),
    "float64": _FOR_SIMULATOR if SIMULATED else (TemporalTile(3, 2, 4, 8, ahead=2), TemporalTile(3, 2, 2, 8, ahead=2)),
}


class TemporalVariant(NamedTuple):
    """What a kernel is compiled for.

    aligned: rows of the grid are multiples of a lane's columns. traced: the cells beside walls are written before each
    step, for the energy ledger.
    """

    structure: StencilConfiguration
    tile: TemporalTile
    aligned: bool
    traced: bool


class TemporalTables(NamedTuple):
    """Boundary values and heating rates of a batch of steps; of each, the row of a step or the last one holds.

    a, b: (rows, 6 n), FACES in order, n kinds. heat: (rows, n), K/s, any where there is none.
    """

    a: object
    b: object
    wall_rows: int
    heat: object
    heat_rows: int


class StepRates(NamedTuple):
    """Rates a step along x, y, z, any where there are several kinds, and the step, s."""

    rx: float
    ry: float
    rz: float
    dt: float


class LaneCellClasses(NamedTuple):
    """The kinds of cells, as `temporal_kinds` lays them out; the rates a step of each, RATES apart, flat; how many
    there are. What is not needed may be any."""

    of_lanes: object
    rates: object
    count: int


def fuses(structure: StencilConfiguration, tile: TemporalTile, shape: tuple[int, int, int]) -> bool:
    """Whether the kernel can take several steps of such a problem at once."""
    unfit = structure.heat_field or structure.wall_per_cell or structure.kinds not in ("", "uint8")
    return not unfit and fits(tile, shape, structure.periodic)


def tiles_for(structure: StencilConfiguration) -> tuple[TemporalTile, ...]:
    """Tiles for problems of a structure, the best first."""
    of_axes, of_faces = (STAGE_TILES, STAGE_TILES_OF_FACES) if structure.stage else (TILES, TILES_OF_FACES)
    return (of_axes if structure.uniform else of_faces)[structure.dtype]


def bounds(tile: TemporalTile) -> tuple[int, int]:
    """Threads of a block, and blocks that a multiprocessor should hold at once, one."""
    return WARP * tile.bands, 1


def shared_bytes(variant: TemporalVariant) -> int:
    """Bytes of dynamic shared memory to launch with; 0 where the kernel declares what it needs itself."""
    size = _board_size(variant) * np.dtype(variant.structure.dtype).itemsize
    return 0 if size <= STATIC_LIMIT else size


def _board_size(variant):
    """Elements of shared memory: where no trace is left, without its ring. What they take, the L1 cache lacks."""
    board = Board.of(variant.tile, variant.structure)
    return board.size if variant.traced else board.sides


def build(variant: TemporalVariant):
    """The kernel of a variant: (u, v, trace, shape, pieces, firsts, k, tables, rates, kinds), one block for each
    share of `temporal_plan.plan`; step k of the tables is the first it takes. `u` and `v` start on a 16-byte
    boundary. For stages they are pairs of fields, all different but those of `u`, and `rates` are `StageRates`.

    trace: (steps, boundary cells), flat: see `temporal_trace`.
    """
    structure, tile = variant.structure, variant.tile
    real = float32 if structure.dtype == "float32" else float64
    march, take_numbers, size = _march(variant), setup.build_numbers(structure, tile), _board_size(variant)
    dynamic = shared_bytes(variant) > 0

    def temporal(u, v, trace, shape, pieces, firsts, k, tables, rates, kinds):
        if SIMULATED:
            board = cuda.shared.array(size, real)
        else:
            board = cuda.shared.array(0 if dynamic else size, real, ALIGNMENT)
        take_numbers(board, k, tables, kinds)
        media = LevelBoundary(tables.a, tables.b, tables.wall_rows, k, kinds.count)
        share = cuda.blockIdx.x
        for piece in range(firsts[share], firsts[share + 1]):
            march(pieces, piece, u, v, trace, shape, board, rates, media, kinds.of_lanes)

    return temporal


def splits(variant: TemporalVariant) -> bool:
    """Whether tiles at walls of x and of y have turns of their own. With kinds, or for stages, there are no registers
    for that, and where no trace is left it gains nothing."""
    return variant.traced and variant.structure.kinds == "" and not variant.structure.stage


def _march(variant):
    """The march of a block through the planes of a piece."""
    structure, tile = variant.structure, variant.tile
    steps, ahead, wrap_z = tile.steps, tile.ahead, structure.periodic[2]
    place, put_corner, fetch = setup.build_place(structure, tile), _corner(variant), _fetch(variant)
    general, amid = _turn(variant, TileWalls(True, True, True)), _turns_amid(variant)
    cells, pair, levels = repeated(tile.columns * tile.rows), repeated(2), repeated(steps)
    traced, zero = variant.traced, np.dtype(structure.dtype).type(0)

    @inlined
    def march(pieces, piece, u, v, trace, shape, board, rates, media, of_lanes):
        lane, span, begin, at_x, at_y = place(pieces, piece, shape)
        if traced:
            put_corner(board, pieces, piece)
        # Plane `last` has been taken in when plane end - 1 leaves; what is beyond the grid is any value.
        k, last = int32(span.first - int32(steps)), int32(span.end - int32(1) + int32(steps))
        if not wrap_z:
            k = max(k, int32(0))
        source = begin + uint64(int32(k + span.nz) if k < 0 else k) * span.plane
        for j in range(ahead):
            source = fetch(board, int32(k + j), u, source, lane, span, pieces, piece, of_lanes)
        moving = levels(pair(cells(zero))), source, uint32(0)
        # In between, no level is at a wall of z, nor is the plane to take in.
        free, bound = (k, last) if wrap_z else (int32(steps + 1), min(last, int32(span.nz - int32(1))))
        args = u, v, board, lane, span, rates, trace, shape, pieces, piece, media, of_lanes
        while k <= last:
            if k < free or k > bound:
                moving = general(moving, k, *args)
                k = int32(k + int32(1))
            else:
                moving, k = amid(moving, k, bound, at_x, at_y, args)

    return march


def _turns_amid(variant):
    """call(moving, k, bound, at_x, at_y, args): the turns k <= bound, in which no level is at a wall of z."""
    apart = splits(variant)
    inner, beside_both = _turn(variant, TileWalls(False, False, False)), _turn(variant, TileWalls(True, True, False))
    beside_x, beside_y = _turn(variant, TileWalls(True, False, False)), _turn(variant, TileWalls(False, True, False))

    @inlined
    def turns(moving, k, bound, at_x, at_y, args):
        if (at_x and at_y) if apart else (at_x or at_y):
            while k <= bound:
                moving = beside_both(moving, k, *args)
                k = int32(k + int32(1))
        elif at_x:
            while k <= bound:
                moving = beside_x(moving, k, *args)
                k = int32(k + int32(1))
        elif at_y:
            while k <= bound:
                moving = beside_y(moving, k, *args)
                k = int32(k + int32(1))
        else:
            while k <= bound:
                moving = inner(moving, k, *args)
                k = int32(k + int32(1))
        return moving, k

    return turns


def _corner(variant):
    """call(board, pieces, piece) puts on the board where the tile is and what it owns, for `boundary_trace`."""
    corner, real = Board.of(variant.tile, variant.structure).corner, np.dtype(variant.structure.dtype).type

    @inlined
    def put(board, pieces, piece):
        for axis in range(2):
            board[corner + 3 * axis] = real(pieces[piece, axis])
            for end in range(2):
                board[corner + 3 * axis + end + 1] = real(pieces[piece, 4 + 2 * axis + end])

    return put


def _fetch(variant):
    """call(board, k, u, source, lane, span, pieces, piece, of_lanes) sends for plane k, which starts at `source`, and
    gives the next source."""
    structure, tile = variant.structure, variant.tile
    several, (_, _, wrap_z), layout = structure.kinds != "", structure.periodic, Board.of(tile, structure)
    steps, threads, stride = tile.steps, WARP * tile.bands, lane_bytes(tile)
    fetch_cells, fetch_kinds = field_planes.build_fetch(structure, tile, variant.aligned), fetch_bytes(stride)
    kind_size, slots_of_kinds = layout.kinds, kind_slots(tile)

    @inlined
    def send_for_kinds(board, k, lane, span, column, of_lanes):
        t = uint64(cuda.threadIdx.y * WARP + cuda.threadIdx.x)
        z = int32(k + span.nz) if k < 0 else (int32(k - span.nz) if k >= span.nz else k)
        plane = uint64(column) * uint64(span.nz) + uint64(z)
        slot = uint32(k + int32(2 * steps)) % uint32(slots_of_kinds)
        to = lane.kinds + uint64(slot) * uint64(kind_size)
        fetch_kinds(board, to, of_lanes, (plane * uint64(threads) + t) * uint64(stride))

    @inlined
    def fetch(board, k, u, source, lane, span, pieces, piece, of_lanes):
        if wrap_z and source >= span.grid:
            source = uint64(source - span.grid)
        if k <= span.stop:
            fetch_cells(board, k, u, source, lane, span.rows)
            if several:
                send_for_kinds(board, k, lane, span, pieces[piece, 8], of_lanes)
        end_fetch()
        return uint64(source + span.plane)

    return fetch


def _turn(variant, walls):
    """One turn of the march: a plane comes in, all levels take their steps, a plane leaves."""
    tile, (_, _, wrap_z) = variant.tile, variant.structure.periodic
    layout = Board.of(tile, variant.structure)
    advance = level.build(variant.structure, tile, walls)
    noted = level.build_alike(variant.structure, tile)
    leave_trace = boundary_trace.build(variant.structure, tile, walls)
    put_down = boundary_trace.build_put(variant.structure, tile, walls)
    traced = variant.traced and any(walls)
    take = field_planes.build_take(variant.structure, tile)
    arriving_with = field_planes.build_arriving(variant.structure, tile)
    store = field_planes.build_store(variant.structure, tile, variant.aligned)
    fetch, wait = _fetch(variant), wait_for_fetches(tile.ahead - 1)
    steps, ahead, start, buffer = tile.steps, tile.ahead, layout.start, layout.buffer

    def turn(moving, k, u, v, board, lane, span, rates, trace, shape, pieces, piece, media, of_lanes):
        states, source, alike = moving
        if traced:
            leave_trace(states, k, lane, span, board, source, trace)
        wait()
        plane = take(board, k, lane)
        source = fetch(board, int32(k + int32(ahead)), u, source, lane, span, pieces, piece, of_lanes)
        arriving = arriving_with(plane, board, k, lane)
        alike = noted(alike, board, lane, k)
        odd = uint64(k & int32(1)) * uint64(buffer)
        read, write = uint64(start) + odd, uint64(start + buffer) - odd
        states, leaving = advance(states, arriving, k, board, read, write, lane, span, rates, media, alike)
        p = int32(k - int32(steps))
        if p >= span.first and p < span.end:
            back = uint64(steps + ahead + 1) * span.plane
            target = uint64(source - back)
            if wrap_z and source < back:
                target = uint64(target + span.grid)
            store(v, target, span.rows, states, leaving, lane.owned)
        if traced:
            put_down(states, k, lane, board)
        cuda.syncthreads()
        return states, source, alike

    return once(turn, lambda moving, *others: moving)


def signature(dtype: str, stages: int = 0):
    """The types of the kernel's arguments; of one that takes so many stages."""
    from heatsim_kernels.stencil.cuda.cell_update import GridShape

    real, rows, integers, bytes_ = getattr(types, dtype), types.Array, types.int32, types.uint8[::1]
    table, field = rows(real, 2, "C"), rows(real, 1, "C")
    of_axes = types.NamedUniTuple(real, 4, StepRates)
    of_stages = types.NamedTuple((*(real,) * 4, *(types.UniTuple(real, stages),) * 2), StageRates)
    pair = types.NamedUniTuple(field, 2, FieldPair)
    return types.void(
        *((pair,) * 2 if stages else (field,) * 2),
        field,
        types.NamedUniTuple(types.uint32, 3, GridShape),
        rows(integers, 2, "C"),
        rows(integers, 1, "C"),
        integers,
        types.NamedTuple((table, table, integers, table, integers), TemporalTables),
        of_stages if stages else of_axes,
        types.NamedTuple((bytes_, rows(real, 1, "C"), integers), LaneCellClasses),
    )
