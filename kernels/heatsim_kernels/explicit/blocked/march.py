"""`temporal`: several time steps a sweep, so that a cell travels to and from memory once for all of them.

    plane k      k-1      k-2      k-3      k-4        A block marches through z with the planes of all levels in its
      |           |        |        |        |         registers: level 1 takes the first step of plane k-1 while
    loaded --> step 1 -> step 2 -> step 3 -> step 4    level 2 takes the second of plane k-2, and so on. Each level lags
                                             |         one plane behind the one before. So it has the plane above from
                                          stored       that level in this very turn and all else from the turn before:
                                                       one barrier a plane serves all levels.

**Tiles** overlap in x and y by a cell a step at each side (`plan`), which is computed twice and not exchanged.
Neighbours in x come by shuffle, those in y from registers and, between warps, from shared memory (`level`). In float32
with 4 steps and tiles of 64 x 64 cells, an update takes 9 operations, 1.3 times as many with the overlap, and moves 8
bytes for 4 updates, again 1.3 times as many for what is read: 4 operations a byte instead of 1. So arithmetic and not
memory sets the pace. Sources: Nguyen et al., 3.5-D blocking optimization for stencil computations on modern CPUs and
GPUs, SC 2010; Matsumura et al., AN5D: automated stencil framework for high-degree temporal blocking, CGO 2020 (planes
of all levels in registers, one barrier a plane).

**Loads.** Planes come from memory by way of a ring in shared memory (`cp.async`), several planes ahead: registers have
room for one plane at most, and a load that is needed one turn later has to be waited for. A lane asks for the very
cells that it takes later, so the ring needs no barrier.

**What it fuses**: up to 256 cell classes (`cell_classes`), all boundary kinds, with values that may differ from step to
step, and a heating rate by class. Other problems take single steps: see `fuses`. Two-term stages can take the place of
steps (`level`): two fields are read and two written, 16 bytes for 4 stages in float32 and, again, 1.3 times as many for
what is read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, int32, types, uint32, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.cuda.async_copy import end_fetch, fetch_bytes, wait_for_fetches
from heatsim_kernels.device.cuda.register_tuples import once, repeated
from heatsim_kernels.device.cuda.warp_rows import WARP
from heatsim_kernels.explicit.blocked import boundary_trace, field_planes, level, plane_notes, setup
from heatsim_kernels.explicit.blocked.board import Board
from heatsim_kernels.explicit.blocked.cell_classes import lane_bytes
from heatsim_kernels.explicit.blocked.class_rates import rates_held
from heatsim_kernels.explicit.blocked.field_planes import FieldPair
from heatsim_kernels.explicit.blocked.ghosts import LevelBoundary
from heatsim_kernels.explicit.blocked.level import StageRates
from heatsim_kernels.explicit.blocked.losses import build_addition, build_entry, lost_bytes, sums
from heatsim_kernels.explicit.blocked.plan import TURN_COSTS, TemporalTile, TouchedFaces, TurnCosts, fits
from heatsim_kernels.explicit.blocked.turn_barrier import TurnBarrier, build_turn_barrier
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration

ALIGNMENT = 16  # bytes
STATIC_LIMIT = 48 * 1024  # bytes of shared memory that a kernel may declare
_FOR_SIMULATOR = (TemporalTile(2, 2, 3, 2),)
TILES = {  # by precision, the best first; the last spills nothing on capability 8.0 either
    "float32": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 16, ahead=2), TemporalTile(4, 2, 4, 8)),
    "float64": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 8), TemporalTile(3, 2, 2, 8)),
}
TILES_OF_CLASSES = {  # where each cell has a class, whose faces have rates of their own
    "float32": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 12), TemporalTile(4, 2, 4, 8)),
    "float64": _FOR_SIMULATOR if SIMULATED else (TemporalTile(3, 2, 4, 8), TemporalTile(3, 2, 2, 8)),
}
TILES_OF_FACES = {  # where else each face has a rate of its own
    "float32": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 12), TemporalTile(4, 2, 4, 8)),
    "float64": _FOR_SIMULATOR if SIMULATED else (TemporalTile(4, 2, 4, 8), TemporalTile(3, 2, 2, 8)),
}
POTENTIAL_TILES = {  # where heat flows down the slope of a potential; sources and look-ups want a smaller one each
    "float32": _FOR_SIMULATOR * 3
    if SIMULATED
    else (TemporalTile(4, 2, 4, 16, ahead=2), TemporalTile(3, 2, 4, 16, ahead=2), TemporalTile(4, 2, 4, 8)),
    "float64": _FOR_SIMULATOR * 3
    if SIMULATED
    else (TemporalTile(4, 2, 4, 8), TemporalTile(3, 2, 4, 8), TemporalTile(3, 2, 2, 8)),
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

    aligned: whether rows of the grid are multiples of a lane's columns. traced: whether the boundary trace is written,
    for the energy ledger.
    """

    configuration: StencilConfiguration
    tile: TemporalTile
    aligned: bool
    traced: bool


class TemporalTables(NamedTuple):
    """Boundary values and heating rates of a batch of steps; the last row of each serves all later steps.

    a, b: (boundary_rows, values), FACES in order, of each cell class or of each boundary cell. heat: (heat_rows, cell
    classes), K/s, or any array where there is none.
    """

    a: Any
    b: Any
    boundary_rows: np.int32
    heat: Any
    heat_rows: np.int32


class StepRates(NamedTuple):
    """Exchange rates a step along x, y, z (any numbers where there are several cell classes), and the step, s."""

    rx: np.floating[Any]
    ry: np.floating[Any]
    rz: np.floating[Any]
    dt: np.floating[Any]


class LaneCellClasses(NamedTuple):
    """The class of each cell, as `lay_out_classes` gives them, or those of turns, as `classes_of_turns` does; the kinds
    of turns, as `classify_turns` gives them; the rates a step of each class, RATES apart, flat; the number of classes;
    the losses of the ledger (1, blocks or more), J; and the pieces of Kirchhoff's potential, see `potentials`. An array
    that is not needed may be any."""

    of_lanes: Any
    kinds_of_turns: Any
    rates: Any
    class_count: np.int32
    heat_accounts: Any
    pieces: Any


def fuses(configuration: StencilConfiguration, tile: TemporalTile, shape: tuple[int, int, int]) -> bool:
    """Whether the kernel can take several steps at once of a problem on a grid of `shape`."""
    return (
        not configuration.heat_field
        and configuration.class_dtype in ("", "uint8")
        and fits(tile, shape, configuration.periodic)
        and not (configuration.losses and configuration.stage)  # of whose heat shares enter
    )


def tiles_for(configuration: StencilConfiguration) -> tuple[TemporalTile, ...]:
    """Tiles for a configuration, the best first."""
    of_axes, of_faces = (STAGE_TILES, STAGE_TILES_OF_FACES) if configuration.stage else (TILES, TILES_OF_FACES)
    # To look boundary values up takes registers, of which smaller tiles leave more to a lane.
    looked_up = configuration.boundary_per_cell and any(configuration.looks_up(axis) for axis in range(3))
    few = looked_up and (configuration.heat_table or configuration.stage)
    if configuration.pieces:
        return POTENTIAL_TILES[configuration.dtype][looked_up + configuration.heat_table :]
    # So does to look up what the cells of several classes lose. What their heating rates spill costs less.
    if configuration.steps_by_class:
        fewer = configuration.losses and (looked_up or configuration.dtype == "float32")
        return TILES_OF_CLASSES[configuration.dtype][fewer:]
    by_class = configuration.classes_by_cell and (configuration.losses or configuration.stage)
    # A layer has six rates for all cells of a plane, which leave registers enough but around a period and for losses.
    bare = not any(configuration.periodic) and not looked_up and not configuration.losses
    plain = configuration.uniform or (configuration.layered and bare)
    tiles = (of_axes if plain and not few and not by_class else of_faces)[configuration.dtype]
    in_layers = few and configuration.layered and not configuration.uniform and configuration.dtype == "float32"
    fewer = in_layers or (configuration.classes_by_cell and configuration.losses and looked_up)
    return tiles[fewer:]


def bounds(tile: TemporalTile) -> tuple[int, int]:
    """Threads of a block, and the number of blocks that a multiprocessor should hold at once: one."""
    return WARP * tile.bands, 1


def shared_bytes(variant: TemporalVariant) -> int:
    """Bytes of dynamic shared memory to launch with; 0 where the kernel declares what it needs itself."""
    size = _board_size(variant) * np.dtype(variant.configuration.dtype).itemsize
    return 0 if size + lost_bytes(variant.configuration, variant.tile) <= STATIC_LIMIT else size


def _board_size(variant):
    """Elements of shared memory, which the L1 cache then lacks; without the ring of the trace where there is none."""
    board = Board.of(variant.tile, variant.configuration)
    return board.size if variant.traced else board.sides


def build(variant: TemporalVariant):
    """Build the kernel (u, v, trace, shape, pieces, firsts, k, tables, rates, classes), one block for each share of
    `plan.plan`.

    u, v: the fields before and after; they start on a 16-byte boundary. For stages they are pairs of fields, all
    different but those of `u`, and `rates` are `StageRates`. trace: (steps, boundary cells) flat, see `boundary_trace`.
    k: the row of the tables for the first step.
    """
    configuration, tile = variant.configuration, variant.tile
    real = float32 if configuration.dtype == "float32" else float64
    march, take_numbers, size = _march(variant), setup.build_numbers(configuration, tile), _board_size(variant)
    dynamic, losses, threads = shared_bytes(variant) > 0, sums(configuration), WARP * tile.bands
    enter_losses, make_barrier = build_entry(tile), turn_barrier(variant).make

    def temporal(u, v, trace, shape, pieces, firsts, k, tables, rates, classes):
        if SIMULATED:
            board = cuda.shared.array(size, real)
        else:
            board = cuda.shared.array(0 if dynamic else size, real, ALIGNMENT)
        lost = board
        if losses:
            lost = cuda.shared.array(threads, float64)
            lost[uint32(cuda.threadIdx.y * WARP + cuda.threadIdx.x)] = 0.0  # which this lane alone reads until the end
        make_barrier(board)
        take_numbers(board, k, tables, classes, shape)
        boundary = LevelBoundary(tables.a, tables.b, tables.boundary_rows, k, classes.class_count, shape)
        share = cuda.blockIdx.x
        for piece in range(firsts[share], firsts[share + 1]):
            march(pieces, piece, u, v, trace, shape, board, lost, rates, boundary, classes)
        if losses:
            enter_losses(lost, classes.heat_accounts)

    return temporal


def looks_up_rows(variant: TemporalVariant) -> bool:
    """Whether turns that are BY_ROW (`turn_kinds`) have a way of their own. It makes the kernel longer, and one that
    is too long for the cache of instructions is slow: in float32 with a trace."""
    return variant.configuration.dtype == "float64" or not variant.traced


def turn_barrier(variant: TemporalVariant) -> TurnBarrier:
    """The barrier of turns. It is whole for a trace, which wants that, and in float32, where many warps share a
    multiprocessor. Few warps wait for their own results meanwhile: for them it is in halves."""
    configuration = variant.configuration
    plain = not configuration.stage and not configuration.pieces
    halves = configuration.dtype == "float64" and plain and not variant.traced
    return build_turn_barrier(halves, variant.tile.bands)


def splits(variant: TemporalVariant) -> bool:
    """Whether tiles at ends in x alone and in y alone have turns of their own. With values looked up by cell, or for
    stages, there are no registers for that; without a trace it gains nothing."""
    configuration = variant.configuration
    looked_up = configuration.looks_up(0) or configuration.looks_up(1)
    return variant.traced and not looked_up and not configuration.stage


def turn_costs(variant: TemporalVariant) -> TurnCosts:
    """What turns of a sweep cost."""
    return TURN_COSTS[variant.configuration.dtype][_kind_of_sweep(variant.configuration)][variant.traced]


def _kind_of_sweep(configuration):
    """The name in TURN_COSTS of sweeps of a configuration."""
    if configuration.pieces:
        return "steps of a potential"
    if not (configuration.looks_up(0) or configuration.looks_up(1)):
        return "steps of classes" if configuration.steps_by_class else "stages" if configuration.stage else "steps"
    if configuration.stage:
        return "stages of classes looked up"
    if not configuration.boundary_per_cell:
        return "steps of classes looked up"
    return "steps by boundary cell of classes" if configuration.classes_by_cell else "steps by boundary cell"


def _march(variant):
    """Build the march of a block through the planes of a piece."""
    configuration, tile = variant.configuration, variant.tile
    steps, ahead, wrap_z = tile.steps, tile.ahead, configuration.periodic[2]
    place, put_corner, fetch = setup.build_place(configuration, tile), _corner(variant), _fetch(variant)
    ends = (True,) * 3, (False,) * 3, (True, True, False), (True, False, False), (False, True, False)
    general, inner, beside_both, beside_x, beside_y = (_turn(variant, TouchedFaces(*at)) for at in ends)
    apart = splits(variant)
    cells, pair, levels = repeated(tile.columns * tile.rows), repeated(2), repeated(steps)
    held, begin_notes = repeated(rates_held(configuration, tile)), plane_notes.build_beginning_of_notes(configuration)
    barrier, traced, zero = turn_barrier(variant), variant.traced, np.dtype(configuration.dtype).type(0)
    begin_turns, finish_turns, turns_of = barrier.begin, barrier.finish, _turns(steps, wrap_z)

    @inlined
    def march(pieces, piece, u, v, trace, shape, board, lost, rates, boundary, cell_classes):
        lane, span, begin, at_x, at_y = place(pieces, piece, shape)
        if traced:
            put_corner(board, pieces, piece)
        k, last, free, bound = turns_of(span)
        begin_turns(board, k)
        noted, source = begin_notes(k), begin + uint64(int32(k + span.nz) if k < 0 else k) * span.plane
        for j in range(ahead):
            source = fetch(board, int32(k + j), u, source, lane, span, noted, cell_classes)
        carried = levels(pair(cells(zero))), source, noted, held(zero)
        args = u, v, board, lost, lane, span, rates, trace, shape, pieces, piece, boundary, cell_classes
        while k <= last:  # written out: in a function of their own, the loops cost a spill in float64 on Python 3.12
            if k < free or k > bound:
                carried = general(carried, k, *args)
                k = int32(k + int32(1))
            elif (at_x and at_y) if apart else (at_x or at_y):
                while k <= bound:
                    carried = beside_both(carried, k, *args)
                    k = int32(k + int32(1))
            elif at_x:
                while k <= bound:
                    carried = beside_x(carried, k, *args)
                    k = int32(k + int32(1))
            elif at_y:
                while k <= bound:
                    carried = beside_y(carried, k, *args)
                    k = int32(k + int32(1))
            else:
                while k <= bound:
                    carried = inner(carried, k, *args)
                    k = int32(k + int32(1))
        finish_turns(board, last)

    return march


def _turns(steps, wrap_z):
    """Build call(span): the first turn of a piece and the last, and the turns from which on, and up to which, no level
    works on a plane at an end in z, nor is one to come in. Whether the tile lies at an end in x or y is decided once
    for all of these."""

    @inlined
    def turns(span):
        # When plane `last` comes in, plane end - 1 leaves. Planes beyond the grid may have any values.
        k, last = int32(span.first - int32(steps)), int32(span.end - int32(1) + int32(steps))
        if wrap_z:
            return k, last, k, last
        return max(k, int32(0)), last, int32(steps + 1), min(last, int32(span.nz - int32(1)))

    return turns


def _corner(variant):
    """Build call(board, pieces, piece), which puts on the board where the tile is and what it owns, for
    `boundary_trace`.

    All threads write the same numbers, and each has written them itself when it reads them: no barrier.
    """
    corner, real = Board.of(variant.tile, variant.configuration).corner, np.dtype(variant.configuration.dtype).type

    @inlined
    def put(board, pieces, piece):
        for axis in range(2):
            board[corner + 3 * axis] = real(pieces[piece, axis])
            for end in range(2):
                board[corner + 3 * axis + end + 1] = real(pieces[piece, 4 + 2 * axis + end])

    return put


def _fetch(variant):
    """Build call(board, k, u, source, lane, span, noted, cell_classes), which asks for plane k; the lane's first cell
    there is at `source`. It gives the source of the next plane. Classes are asked for if a turn that is not still will
    want them."""
    configuration, tile = variant.configuration, variant.tile
    several, wrap_z = configuration.classes_by_cell, configuration.periodic[2]
    number, stride, steps = plane_notes.build_lane_number(configuration, tile), lane_bytes(tile), tile.steps
    fetch_cells, fetch_classes = field_planes.build_fetch(configuration, tile, variant.aligned), fetch_bytes(stride)
    place_of_classes = plane_notes.build_place_of_classes(configuration, tile)

    @inlined
    def fetch_classes_of(board, k, lane, span, of_lanes):
        start = uint64(number(lane, span, k)) * uint64(stride)
        fetch_classes(board, place_of_classes(k), of_lanes, start)

    @inlined
    def fetch(board, k, u, source, lane, span, noted, cell_classes):
        if wrap_z and source >= span.grid:
            source = uint64(source - span.grid)
        if k <= span.stop:
            fetch_cells(board, k, u, source, lane, span.rows)
            if several and not plane_notes.is_still_until(noted, int32(k + int32(steps))):
                fetch_classes_of(board, k, lane, span, cell_classes.of_lanes)
        end_fetch()  # even without a plane, since `wait_for_fetches` counts these groups
        return uint64(source + span.plane)

    return fetch


def _store(variant):
    """Build call(v, k, source, lane, span, states, leaving), which writes the plane that leaves in turn k, if the piece
    has it; source: of the next plane to come."""
    tile, wrap_z = variant.tile, variant.configuration.periodic[2]
    store_cells = field_planes.build_store(variant.configuration, tile, variant.aligned)
    steps, ahead = tile.steps, tile.ahead

    @inlined
    def store(v, k, source, lane, span, states, leaving):
        if k >= int32(span.first + int32(steps)):  # in no turn does a plane leave that lies behind the piece
            back = uint64(steps + ahead + 1) * span.plane
            target = uint64(source - back)
            if wrap_z and source < back:
                target = uint64(target + span.grid)
            store_cells(v, target, span.rows, states, leaving, lane.owned)

    return store


def _holds_rates(configuration, tile, touched):
    """Whether levels take the rates that a lane holds while they are in one layer.

    Levels are taken in two ways then. In the last tile, that of capability 8.0, the assembler would spill registers for
    them; beside faces they gain nothing in float64.
    """
    looked_up = configuration.layered and not configuration.uniform
    if not looked_up or configuration.losses or tile != tiles_for(configuration)[0]:
        return False
    return not (any(touched) if configuration.dtype == "float64" else touched.z)


def _turn(variant, touched):
    """Build one turn of the march: a plane comes in, all levels take their steps, a plane leaves."""
    configuration, tile = variant.configuration, variant.tile
    layout = Board.of(tile, configuration)
    holds = _holds_rates(configuration, tile, touched)
    advance = level.build_levels(configuration, tile, touched, holds, looks_up_rows(variant))
    note = plane_notes.build_note(configuration, tile, holds)
    write_trace = boundary_trace.build_writer(configuration, tile, touched)
    buffer_trace = boundary_trace.build_buffer(configuration, tile, touched)
    traced = variant.traced and any(touched)
    take, arriving_with = field_planes.build_take(configuration, tile), field_planes.build_arriving(configuration, tile)
    fetch, store, wait = _fetch(variant), _store(variant), wait_for_fetches(tile.ahead - 1)
    ahead, start, buffer = tile.ahead, layout.start, layout.buffer
    losses, add_losses = sums(configuration), build_addition(configuration, tile)
    wait_for_rows, rows_are_there, end = turn_barrier(variant)[3:]

    def turn(carried, k, u, v, board, lost, lane, span, rates, trace, shape, pieces, piece, boundary, cell_classes):
        states, source, noted, held = carried
        if traced:
            write_trace(states, k, lane, span, board, source, trace)
        # Waits for this lane's own copies of plane k; later planes stay under way. No barrier: a lane takes only what
        # it has asked for itself, and its next copies overwrite the slot of plane k - 1, which it took a turn ago.
        wait()
        plane = take(board, k, lane)
        source = fetch(board, int32(k + int32(ahead)), u, source, lane, span, noted, cell_classes)
        arriving = arriving_with(plane, board, k, lane)
        noted, held = note(noted, held, board, lane, span, k, cell_classes, plane)
        if losses:
            add_losses(lost, states, k, lane, span, board, noted)
        odd = uint64(k & int32(1)) * uint64(buffer)
        read, write = uint64(start) + odd, uint64(start + buffer) - odd
        given, notes = (arriving, held), (noted, cell_classes)
        wait_for_rows(board, k)
        advanced = advance(states, given, k, board, read, write, lane, span, rates, boundary, notes)
        states, (leaving, held), noted = advanced
        rows_are_there(board)
        store(v, k, source, lane, span, states, leaving)
        if traced:
            buffer_trace(states, k, lane, board)
        end()
        return states, source, noted, held

    return once(turn, lambda carried, *others: carried)


def signature(dtype: str, stages: int = 0, layered: bool = False):
    """The types of the kernel's arguments, for explicit steps or for so many stages, in layers or not."""
    from heatsim_kernels.explicit.cuda_cell.cell_update import GridShape

    real, rows, integers = getattr(types, dtype), types.Array, types.int32
    classes = (types.uint64 if layered else types.uint8)[::1]
    table, field, kinds = rows(real, 2, "C"), rows(real, 1, "C"), rows(integers, 1, "C")
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
        types.NamedTuple((classes, kinds, field, integers, rows(types.float64, 2, "C"), field), LaneCellClasses),
    )
