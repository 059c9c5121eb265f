"""CPU: several time steps in one pass over memory (overlapped tiles, planes streamed through rings).

    Planes of a tile that a thread holds in its L2 cache while it marches upwards in z, T = 3 steps at once:

    level 0 (the field)                z-1   z  z+1     read once, asked for a plane ahead
    level 1 (a ring)              z-2  z-1   z          z is made from planes z-1, z, z+1 of level 0,
    level 2 (a ring)         z-3  z-2  z-1              then z-1 from planes z-2, z-1, z of level 1,
    level 3 (the new field)       z-2                   then z-2: written once, past the cache

**Tiles.** The grid is cut into slabs of planes, bands of rows and, where rows are long, ranges of columns. A tile is
computed with an overlap of T - 1 rows and planes, one less at each level, so that tiles need nothing from each other.
T steps read a cell from memory once and write it once: 8/T bytes a cell update in float32 and 16/T in float64
(non-temporal stores spare reading the target), for 13 operations. In x the overlap is a cache line at all levels but
the last, so that vectors stay whole. What lies beyond it is never right, and spoils one more cell at each level, but
not those that are kept. The price: what overlaps is computed twice. A boundary ends the overlap, a period does not.
(Tiles that hand two rows a level on to the next, in place of the overlap in y, were no faster: these rows come back
from L3.)

**Levels.** A level follows the one below a few rows at a time. So the rows just made are still in L1 when they serve as
upper neighbours, and a ring holds two planes and these few rows, not three planes. One step at once is the case T = 1,
with neither rings nor overlap. Every row of every level goes through `rows.advance_row` or its equal in `row_vectors`:
the bits do not depend on T.

**Stages** made of two fields, Y_{j-1} and Y_{j-2} (see `rk_stages`), go the same way: level l takes its own cells of
level l - 2 besides the planes of level l - 1, and the last two levels are written, 16/T bytes a cell in float32.

Source: Nguyen, Satish, Chhugani, Kim, Dubey: 3.5-D Blocking Optimization for Stencil Computations on Modern CPUs and
GPUs, SC 2010; here without barriers between threads, each of which has tiles of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import called, inlined, parallel_jit
from heatsim_kernels.device.cpu.pointers import (
    elements_to_line,
    load,
    pointer,
    prefetch,
    row_pointer,
    shifted,
    store,
    stream_lines,
    widest_vectors,
)
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.ambient_faces import add_ambient_heat
from heatsim_kernels.explicit.cpu.boundary_faces import (
    FLOWS,
    X_MAX,
    X_MIN,
    Y_MAX,
    Y_MIN,
    Z_MAX,
    Z_MIN,
    CpuBoundaryFaces,
    RowLedger,
    enter_losses,
    face_at,
    ghost_cell,
    ghost_row,
)
from heatsim_kernels.explicit.cpu.class_runs import MIXED
from heatsim_kernels.explicit.cpu.row_places import (
    PlaneRing,
    place_of,
    row_in_ring,
    rows_in_field,
    rows_in_ring,
    turned,
    widened,
)
from heatsim_kernels.explicit.cpu.row_vectors import row_in_cache, row_past_cache
from heatsim_kernels.explicit.cpu.rows import (
    NUMBERS,
    CpuExchange,
    NeighbourRows,
    RowOperands,
    RowSources,
    advance_row,
    class_of_row,
    fits_vectors,
)

# Of each thread, before its rings: ghosts beyond y_min, y_max, z_min and z_max, and a finished row.
SCRATCH_ROWS = 5
WINDOW_NUMBERS = 7  # of a window: its first cell z, y, x; planes, rows, columns; where its rates begin


class CpuSources(NamedTuple):
    """Sources: `table` (rows, n) by cell class, times `dt`, and `field` by cell, times `gain` (rows). Arrays, or
    pointers in compiled code.

    Besides, the first `window_steps` steps end with heat for `windows` (m, WINDOW_NUMBERS), of step k those from number
    window_starts[k] on to window_starts[k + 1]: their `window_rates`, one after the other, times `dt`.
    """

    table: np.ndarray | None
    table_rows: int
    dt: float
    field: np.ndarray | None
    gain: np.ndarray
    gain_rows: int
    window_steps: int
    window_starts: np.ndarray
    windows: np.ndarray
    window_rates: np.ndarray


class Buffers(NamedTuple):
    """pitch: elements from scratch row to scratch row. per_line: elements of a cache line. rows: by how many rows a
    level is ahead of the next. stream: whether results go past the cache to the field."""

    pitch: int
    per_line: int
    rows: int
    stream: bool


class CpuTile(NamedTuple):
    """Planes z0 <= z < z1, rows y0 <= y < y1 and columns x0 <= x < x1: the `block`-th of the blocks that a plane is cut
    into, and from row `seam` on the one after it. Columns are cut at multiples of a cache line, and not at all where
    the grid is periodic in x."""

    z0: int
    z1: int
    y0: int
    y1: int
    x0: int
    x1: int
    block: int
    seam: int


class CpuStages(NamedTuple):
    """What steps are made of besides the exchange, if they are Runge-Kutta stages (see `rk_stages`).

    before, start, one: the fields Y_{j-2}, Y_0 and Y_1, all None for explicit steps. of_two: whether the stages are
    two-term stages, which do not read start and one. second: where the last stage but one of several is written.
    numbers: (rows, NUMBERS) flat, see `RowOperands`. shares: (rows,) of the heat of each that enter the ledger. The
    last of the rows serves all later ones. apart: how far apart the sums of heat of two steps are, in (blocks, nz,
    FLOWS) sums of all planes; 0 where those of all steps are one. Arrays, or pointers in compiled code.
    """

    before: np.ndarray | None
    start: np.ndarray | None
    one: np.ndarray | None
    second: np.ndarray | None
    numbers: np.ndarray | None
    shares: np.ndarray
    rows: int
    of_two: bool
    apart: int


# Explicit steps, which start from the cells themselves.
EULER = CpuStages(None, None, None, None, None, np.ones(1), 1, False, 0)


class RowRun(NamedTuple):
    """Rows y0 <= y < y1 and columns x0 <= x < x1 of plane z at level `level` of a tile with levels 0 to `last`, in step
    `step` of a batch. They come from the field or a ring and go to the next ring or the new field."""

    z: int
    y0: int
    y1: int
    x0: int
    x1: int
    level: int
    last: int
    step: int


class RowCells(NamedTuple):
    """`n` cells of row `number`, from the `x`-th on, written to a place with room for `room`: see `advance_row`."""

    n: int
    room: int
    number: int
    x: int


@parallel_jit
def advance(u, v, steps, fused, grid, buffers, tiles, scratch, e, s, b, ambient_faces, flows, ambient_heat, stages):
    """Take `steps` time steps, at most `fused` a pass; they end in u after an even number of passes, in v after an odd.

    u, v, scratch (threads, elements): see `pointers.padded`. tiles (count, 7): `CpuTile`s, shared out among threads.
    e, s, b, ambient_faces: `CpuExchange`, `CpuSources`, `CpuBoundaryFaces` and `AmbientFacePairs`, all of arrays; with
    ambient faces a pass takes one step. flows (blocks, nz, FLOWS): heat that entered through the boundary faces of each
    plane of each block, and by losses, J, added to; (steps, blocks, nz, FLOWS) where those of steps are apart.
    ambient_heat: see `add_ambient_heat`. stages: `CpuStages`, which take one pass, and of which a single one may be
    written over `before`; or EULER.
    """
    threads, count, passes = scratch.shape[0], tiles.shape[0], -(-steps // fused)
    for number in range(passes):
        first, end, old, new = pass_of(number, passes, steps, u, v)
        if ambient_faces.cells.size:
            share = stages.shares[min(first, stages.rows - 1)]
            for z in prange(ambient_heat.shape[0]):
                add_ambient_heat(np.int64(z), old, ambient_faces, b.weights, share, ambient_heat)
        for index in prange(threads):
            thread = np.int64(index)  # prange counts in unsigned numbers
            exchange, sources, boundary, made_of = input_pointers(e, s, b, stages)
            given, flow = (exchange, sources, boundary), pointer(flows)
            source, target, own = pointer(old), pointer(new), row_pointer(scratch, thread)
            for t in range(thread * count // threads, (thread + 1) * count // threads):
                tile = tile_of(tiles, t)
                advance_tile(source, target, tile, first, end - first, grid, buffers, own, *given, flow, made_of)


@inlined
def pass_of(number, passes, steps, u, v):
    """The first and last (excluded) step of a pass, and the fields that it reads and writes."""
    old, new = (u, v) if number % 2 == 0 else (v, u)
    return steps * number // passes, steps * (number + 1) // passes, old, new


@inlined
def input_pointers(e, s, b, stages):
    """What steps are made of, with pointers in place of arrays: functions would count references to these, row by
    row."""
    runs = pointer(e.starts), pointer(e.ends), pointer(e.run_classes), pointer(e.odd_starts), pointer(e.odd)
    of_rows = pointer(e.of_rows)
    losses, patterns = (pointer(e.losses), pointer(e.heat_of_losses)), (pointer(e.patterns), pointer(e.columns))
    of_classes = pointer(e.classes), *runs, of_rows, e.class_count, *losses, *patterns, e.width
    exchange = CpuExchange(e.rx, e.ry, e.rz, pointer(e.rates), e.paired, *of_classes)
    windows = s.window_steps, pointer(s.window_starts), pointer(s.windows), pointer(s.window_rates)
    sources = CpuSources(pointer(s.table), s.table_rows, s.dt, pointer(s.field), pointer(s.gain), s.gain_rows, *windows)
    tables = pointer(b.offsets), pointer(b.closed), pointer(b.weights)
    boundary = CpuBoundaryFaces(pointer(b.a), pointer(b.b), b.rows, b.size, b.per_cell, *tables, b.class_count)
    fields = pointer(stages.before), pointer(stages.start), pointer(stages.one), pointer(stages.second)
    numbers, shares = pointer(stages.numbers), pointer(stages.shares)
    made_of = CpuStages(*fields, numbers, shares, stages.rows, stages.of_two, stages.apart)
    return exchange, sources, boundary, made_of


@inlined
def tile_of(tiles, t):
    """Tile t of an array of tiles."""
    (z0, z1, y0), (y1, x0, x1) = (tiles[t, 0], tiles[t, 1], tiles[t, 2]), (tiles[t, 3], tiles[t, 4], tiles[t, 5])
    return CpuTile(z0, z1, y0, y1, x0, x1, tiles[t, 6], tiles[t, 7])


@inlined
def widened_tile(tile, overlap, buffers, grid):
    """The planes, rows and columns of a tile with an overlap, which in x is rounded up to whole cache lines."""
    z0, z1 = widened(tile.z0, tile.z1, overlap, grid.nz, grid.wrap_z)
    y0, y1 = widened(tile.y0, tile.y1, overlap, grid.ny, grid.wrap_y)
    x0, x1 = widened(tile.x0, tile.x1, -(-overlap // buffers.per_line) * buffers.per_line, grid.nx, False)
    return z0, z1, y0, y1, x0, x1


@inlined
def rows_of_level(tile, overlap, y, buffers, grid):
    """The planes of a level, and its rows among those that levels take at once, from row y on."""
    first_z, end_z = widened(tile.z0, tile.z1, overlap, grid.nz, grid.wrap_z)
    first_y, end_y = widened(tile.y0, tile.y1, overlap, grid.ny, grid.wrap_y)
    return first_z, end_z, max(first_y, y), min(end_y, y + buffers.rows)


@called
def advance_tile(u, v, tile, first, steps, grid, buffers, scratch, exchange, sources, boundary, flows, stages):
    """Take `steps` time steps of a tile, a few rows of a plane at a time, level by level."""
    widest_vectors()
    overlap = steps - 1
    z0, z1, y0, y1, x0, x1 = widened_tile(tile, overlap, buffers, grid)
    height = y1 - y0
    slots = 2 * height + buffers.rows
    for top in range(z0, z1 + overlap):
        for y in range(y0, y1, buffers.rows):
            for level in range(steps):
                z = top - level
                first_z, end_z, first_y, end_y = rows_of_level(tile, overlap - level, y, buffers, grid)
                if first_z <= z < end_z and first_y < end_y:
                    first_x, end_x = (tile.x0, tile.x1) if level == overlap else (x0, x1)
                    start = (SCRATCH_ROWS + (level - 1) * slots) * buffers.pitch + first_x - x0
                    below = PlaneRing(shifted(scratch, start), height, slots, buffers.pitch)
                    slot = ((z - z0) * height + first_y - y0) % slots
                    run = RowRun(z, first_y, end_y, first_x, end_x, level, overlap, first + level)
                    _advance_rows(
                        u, v, run, below, slot, tile, grid, buffers, scratch, exchange, sources, boundary, flows, stages
                    )


@inlined
def _advance_rows(u, v, run, below, slot, tile, grid, buffers, scratch, exchange, sources, boundary, flows, stages):
    """Take one time step of a run of rows, the first of which is in slot `slot` of the rings."""
    from_field, to_field = run.level == 0, run.level == run.last
    table, gain, share = inputs_of_step(run.step, exchange, sources, stages)
    above = PlaneRing(shifted(below.start, below.slots * below.pitch), below.height, below.slots, below.pitch)
    # A stage goes by way of scratch too: it may overwrite a field that it reads, and the cells at both ends of a row
    # and at odd places are computed twice.
    in_scratch = to_field and (buffers.stream or stages.before is not None)
    spare = sources.field is None and (in_scratch or not to_field)  # the row has room behind it in scratch
    n = run.x1 - run.x0
    room = -(-n // buffers.per_line) * buffers.per_line if spare else n
    vectors = n // buffers.per_line
    whole = fits_vectors(sources.field, stages.before, stages.of_two) and vectors * buffers.per_line == n
    own, end = tile.x0 - run.x0, tile.x1 - run.x0  # the cells of a row that this tile owns
    first_window, end_window = windows_of_step(sources, run.step)
    for y in range(run.y0, run.y1):
        place = place_of(run.z, y, run.x0, grid)
        in_tile, ledger = ledger_of_row(flows, stages.apart, share, tile, run, y, place, grid)
        classes = shifted(exchange.classes, place.c)
        values = rows_read(u, place, from_field, below, slot)
        at = place.z * grid.ny + place.y
        of_all = class_of_row(exchange, at, run.x0, n)
        values, low, high = with_ghosts(
            values, of_all, classes, exchange, place, run, grid, buffers, scratch, boundary, ledger
        )
        row_sources = RowSources(table, sources.dt, shifted(sources.field, place.c), gain)
        operands = stage_operands(stages, stages.before, u, run, below, slot, place.c)
        out = shifted(v, place.c) if to_field else row_in_ring(above, slot)
        if from_field:
            prefetch_later_rows(stages.before, values.c, place.c, n, grid, buffers)
        ends, stage = (low, high), (operands.before, operands.numbers)
        of_cells, by_vectors = (at, run.x0, classes, exchange), whole and not (in_scratch and elements_to_line(out))
        if by_vectors and of_all != MIXED:
            row_of_vectors(out, vectors, None, values, ends, of_all, exchange, row_sources, stage, in_scratch)
        elif not by_vectors or not row_of_pattern(
            exchange.patterns, out, vectors, None, values, ends, of_cells, row_sources, stage, in_scratch
        ):
            done, row = shifted(scratch, 4 * buffers.pitch) if in_scratch else out, RowCells(n, room, at, run.x0)
            _advance_row(
                done, row, ends, values, classes, exchange, row_sources, operands, stages.before, stages.of_two
            )
            if in_scratch:
                copy_row(out, done, n, buffers)
        for window in range(first_window, end_window):
            heat_window_row(out, n, run.x0, place, window, sources)
        first_cell = at, run.x0
        enter_losses(values.c, n, of_all, classes, exchange, exchange.heat_of_losses, first_cell, ledger)
        if in_tile and run.level == run.last - 1:
            keep_second(stages.second, place.c + own, shifted(out, own), end - own, buffers)
        slot = turned(slot + 1, below.slots)


@inlined
def row_of_vectors(out, vectors, base, values, ends, cell_class, exchange, sources, stage, past_cache):
    """Take one step or two-term stage of whole vectors of one class. ends: the values beyond both ends, or None twice;
    stage: `before` and `numbers`, None twice for a step: see `row_vectors`."""
    of_cells = cell_class, exchange.rates, np.int64(0)
    _take_vectors(out, vectors, base, values, ends, of_cells, exchange, sources, stage, past_cache)


@inlined
def row_of_pattern(patterns, out, vectors, base, values, ends, of_row, sources, stage, past_cache):
    """The same for a row by the rates of each of its cells, if it has one of the `RowPatterns`. of_row: its number, the
    column and the classes of its cells from there on, and the exchange. Returns whether it was done. (`patterns` is an
    argument because Numba prunes branches on None for arguments alone.)"""
    if patterns is None:
        return False
    row, x, classes, exchange = of_row
    pattern = np.int64(load(patterns, row))
    if pattern < 0:
        return False
    of_cells = classes, shifted(exchange.columns, pattern * 6 * exchange.width + x), exchange.width
    _take_vectors(out, vectors, base, values, ends, of_cells, exchange, sources, stage, past_cache)
    return True


@inlined
def _take_vectors(out, vectors, base, values, ends, of_cells, exchange, sources, stage, past_cache):
    """of_cells: cell_class, rates and width of `row_vectors`."""
    c, ym, yp, zm, zp = values
    low, high = ends
    (cell_class, rates, width), (before, numbers) = of_cells, stage
    by_axis, heat = (exchange.rx, exchange.ry, exchange.rz), (sources.dt, sources.table, exchange.losses)
    of_class = cell_class, by_axis, rates, *heat, before, numbers, width, exchange.paired
    if past_cache:
        row_past_cache(out, vectors, base, c, ym, yp, zm, zp, low, high, *of_class)
    else:
        row_in_cache(out, vectors, base, c, ym, yp, zm, zp, low, high, *of_class)


@inlined
def inputs_of_step(step, exchange, sources, stages):
    """The source table of a step, the gain of its sources by cell, and the share of its heat that enters the ledger."""
    table = shifted(sources.table, min(step, sources.table_rows - 1) * exchange.class_count)
    return table, sources.gain[min(step, sources.gain_rows - 1)], stages.shares[min(step, stages.rows - 1)]


@inlined
def windows_of_step(sources, step):
    """The first and the last (excluded) of the windows that are heated after a step."""
    if step >= sources.window_steps:
        return np.int64(0), np.int64(0)
    return load(sources.window_starts, step), load(sources.window_starts, step + 1)


@called
def heat_window_row(out, n, x0, place, window, sources):
    """Heat those of the n cells of a finished row, from column x0 on, that a window covers: see `window_source`."""
    numbers = shifted(sources.windows, window * WINDOW_NUMBERS)
    z, y, x = place.z - numbers[0], place.y - numbers[1], numbers[2] - x0
    if 0 <= z < numbers[3] and 0 <= y < numbers[4]:
        rates = shifted(sources.window_rates, numbers[6] + (z * numbers[4] + y) * numbers[5])
        for i in range(max(0, -x), min(numbers[5], n - x)):
            out[x + i] = fma(sources.dt, rates[i], out[x + i])


@inlined
def ledger_of_row(flows, apart, share, tile, run, y, place, grid):
    """Whether row y of a run is the tile's own, and the ledger of the row: heat is counted in the tile's own cells.
    apart: see `CpuStages`."""
    own, end = tile.x0 - run.x0, tile.x1 - run.x0
    in_tile = tile.z0 <= run.z < tile.z1 and tile.y0 <= y < tile.y1
    block = tile.block + np.int64(y >= tile.seam)
    flow = shifted(flows, (run.step * apart + block * grid.nz + place.z) * FLOWS)
    return in_tile, RowLedger(flow, share, own, end if in_tile else own)


@inlined
def rows_read(u, place, from_field, below, slot):
    """The row of a place and those beside it, in the field or in a ring."""
    return rows_in_field(u, place) if from_field else rows_in_ring(below, slot)


@inlined
def stage_operands(stages, before, u, run, below, slot, at):
    """What a row of a stage is made of. Y_{j-2} is a field at level 0, the field u at level 1, and at later levels in
    the ring below that of Y_{j-1}. (`before` is an argument because Numba prunes branches on None for arguments
    alone.)"""
    row = shifted(before, at)
    if before is not None:
        if run.level == 1:
            row = shifted(u, at)
        elif run.level > 1:
            row = shifted(below.start, (slot - below.slots) * below.pitch)
    numbers = numbers_of_stage(run.step, stages)
    return RowOperands(row, shifted(stages.start, at), shifted(stages.one, at), numbers)


@inlined
def numbers_of_stage(step, stages):
    """A pointer to the numbers of the stage that is step `step` of a batch, see `RowOperands`."""
    return shifted(stages.numbers, min(step, stages.rows - 1) * NUMBERS)


@inlined
def _advance_row(out, row, ends, values, classes, exchange, sources, operands, before, of_two):
    """Take the loop for two-term stages, or the loop for all others. Which one is decided at run time, once a row, so
    that one compiled `advance` serves both. (`before` is an argument for the pruning: see `stage_operands`.)"""
    n, room, at, x = row.n, row.room, row.number, row.x
    low, high = ends
    if before is None or not of_two:
        advance_row(out, n, room, low, high, values, None, classes, exchange, at, x, sources, operands)
    elif before is not None:
        two_terms = RowOperands(operands.before, None, None, operands.numbers)
        advance_row(out, n, room, low, high, values, None, classes, exchange, at, x, sources, two_terms)


@inlined
def prefetch_later_rows(before, row, at, n, grid, buffers):
    """Prefetch n cells of the fields that are needed one plane later."""
    for i in range(0, n, buffers.per_line):
        prefetch(row, 2 * grid.ny * grid.nx + i)
    if before is not None:
        for i in range(0, n, buffers.per_line):
            prefetch(before, at + grid.ny * grid.nx + i)


@inlined
def keep_second(second, at, row, n, buffers):
    """Keep a row of the last step but one, if that is to be kept."""
    if second is not None:
        copy_row(shifted(second, at), row, n, buffers)


@inlined
def with_ghosts(values, of_all, classes, exchange, place, run, grid, buffers, scratch, boundary, ledger):
    """The row and those beside it, with ghost values in place of rows beyond a boundary; and the values beyond the two
    ends of the row. of_all: the class of all cells, or MIXED."""
    c, ym, yp, zm, zp = values
    pitch, step, n = buffers.pitch, run.step, run.x1 - run.x0
    in_z, in_y, at = place.z * grid.nx + run.x0, place.y * grid.nx + run.x0, place.z * grid.ny + place.y
    of_row = classes, exchange, (at, run.x0)
    if place.y == 0 and not grid.wrap_y:
        ym = ghost_row(scratch, n, c, *of_row, face_at(boundary, Y_MIN, step, in_z, ledger))
    if place.y == grid.ny - 1 and not grid.wrap_y:
        yp = ghost_row(shifted(scratch, pitch), n, c, *of_row, face_at(boundary, Y_MAX, step, in_z, ledger))
    if place.z == 0 and not grid.wrap_z:
        zm = ghost_row(shifted(scratch, 2 * pitch), n, c, *of_row, face_at(boundary, Z_MIN, step, in_y, ledger))
    if place.z == grid.nz - 1 and not grid.wrap_z:
        zp = ghost_row(shifted(scratch, 3 * pitch), n, c, *of_row, face_at(boundary, Z_MAX, step, in_y, ledger))
    rows = NeighbourRows(c, ym, yp, zm, zp)
    if grid.wrap_x:
        return rows, c[n - 1], c[0]
    low, high = c[-1], c[n]
    if run.x0 == 0:
        low = ghost_cell(c, 0, of_all, classes, face_at(boundary, X_MIN, step, at, ledger))
    if run.x1 == grid.nx:
        high = ghost_cell(c, n - 1, of_all, classes, face_at(boundary, X_MAX, step, at, ledger))
    return rows, low, high


@inlined
def copy_row(out, line, n, buffers):
    """Copy a finished row to its place."""
    if buffers.stream:
        _stream_row(out, line, n, buffers.per_line)
    else:
        for i in range(n):
            store(out, i, load(line, i))


@inlined
def _stream_row(out, line, n, per_line):
    """Copy a row to its place past the cache: it is not read again before the field has gone through the cache, and a
    line that is written whole need not be read first. What is not a whole cache line goes the ordinary way."""
    head = min(n, elements_to_line(out))
    lines = (n - head) // per_line
    for i in range(head):
        out[i] = line[i]
    stream_lines(shifted(out, head), shifted(line, head), lines)
    for i in range(head + lines * per_line, n):
        out[i] = line[i]
