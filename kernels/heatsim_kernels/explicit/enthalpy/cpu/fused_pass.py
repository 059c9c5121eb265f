"""CPU: several explicit steps or stages a pass, of temperature-dependent problems.

The pass is that of `explicit.cpu.fused_pass`: tiles, levels that follow one another plane by plane, rings of the last
planes. Two things are added. Heat flows down the slope of Kirchhoff's potential phi, so each level keeps the potential
of its cells beside their states, and level 0 looks up the potentials of the field:

    level 0      field -> phi                    level l      u, phi of level l - 1 -> new u -> its phi

What enters cells from other materials beside them is added, see `interface_rows`. In the last level no potential is
looked up.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import called, inlined, parallel_jit
from heatsim_kernels.device.cpu.pointers import (
    elements_to_line,
    load,
    pointer,
    row_pointer,
    shifted,
    store,
    widest_vectors,
)
from heatsim_kernels.explicit.cpu.class_runs import MIXED
from heatsim_kernels.explicit.cpu.fused_pass import (
    SCRATCH_ROWS,
    RowRun,
    copy_row,
    input_pointers,
    inputs_of_step,
    keep_second,
    ledger_of_row,
    pass_of,
    prefetch_later_rows,
    row_of_pattern,
    row_of_vectors,
    rows_of_level,
    rows_read,
    stage_operands,
    tile_of,
    widened_tile,
    with_ghosts,
)
from heatsim_kernels.explicit.cpu.fused_pass import (
    advance_tile as advance_linear_tile,
)
from heatsim_kernels.explicit.cpu.row_places import PlaneRing, place_of, row_in_ring, rows_in_ring, turned
from heatsim_kernels.explicit.cpu.rows import (
    NeighbourRows,
    RowOperands,
    RowSources,
    advance_cells,
    advance_row,
    class_of,
    class_of_row,
    first_beyond,
    fits_vectors,
    new_value,
    redo_odd_cells,
    run_at,
)
from heatsim_kernels.explicit.enthalpy.cell import EnthalpyMedium
from heatsim_kernels.explicit.enthalpy.cpu.interface_rows import (
    StatesRead,
    add_interface_heat,
    find_interface_heat,
    has_interface,
    pointed_rows,
)
from heatsim_kernels.explicit.enthalpy.cpu.material_rows import MaterialRuns, functions, look_up_row, phi_of
from heatsim_kernels.explicit.enthalpy.cpu.straight_tiles import KIND, STRAIGHT, THREAD

between = functions.between


@parallel_jit
def advance(
    u, v, steps, fused, grid, buffers, tiles, scratch, e, s, b, ambient_faces, flows, ambient_heat, stages, m, capacity,
    materials, interface, kinds,
):  # fmt: skip
    """Take `steps` time steps or stages, at most `fused` a pass: see `stencil.cpu.fused_pass.advance`, whose arguments
    these are.

    m: `EnthalpyMedium` for these steps, of arrays. capacity: (n,) J/K of each cell class. materials, interface:
    `MaterialRuns`, and `InterfaceRows` or None.
    kinds: the tiles, if they come with their kinds, see `straight_tiles`; else None.
    """
    threads, count, passes = scratch.shape[0], tiles.shape[0], -(-steps // fused)
    for number in range(passes):
        first, end, old, new = pass_of(number, passes, steps, u, v)
        if ambient_faces.cells.size:
            for index in prange(ambient_heat.shape[0]):
                z = np.int64(index)  # prange counts in unsigned numbers
                share = stages.shares[min(first, stages.rows - 1)]
                _enter_ambient_heat(z, pointer(old), ambient_faces, share, pointed(m), capacity, ambient_heat)
        for index in prange(threads):
            thread = np.int64(index)
            medium = pointed(m)
            exchange, sources, boundary, made_of = input_pointers(e, s, b, stages)
            given = exchange, sources, boundary, pointer(flows), made_of
            tables = pointer(materials.starts), pointer(materials.ends), pointer(materials.materials)
            filling = medium, MaterialRuns(*tables, materials.single), pointed_rows(interface)
            source, target, own, taken = pointer(old), pointer(new), row_pointer(scratch, thread), end - first
            if kinds is None:
                for t in range(thread * count // threads, (thread + 1) * count // threads):
                    tile = tile_of(tiles, t)
                    _advance_tile(source, target, tile, first, taken, grid, buffers, own, *given, *filling)
            else:
                for t in range(count):
                    tile = tile_of(tiles, t)
                    if kinds[t, THREAD] == thread and kinds[t, KIND] == STRAIGHT:
                        advance_linear_tile(source, target, tile, first, taken, grid, buffers, own, *given)
                    elif kinds[t, THREAD] == thread:
                        _advance_tile(source, target, tile, first, taken, grid, buffers, own, *given, *filling)


@inlined
def pointed(m):
    """The medium with pointers in place of arrays, to which functions would count references, cell by cell."""
    numbers, pieces = (m.zero, m.half, m.one, m.four), (pointer(m.pieces), m.potential_pieces)
    places = m.temperatures_at, m.temperature_pieces, m.conductivities_at, m.conductivity_pieces
    integrals = m.integrals_at, m.integral_pieces
    faces = pointer(m.material), pointer(m.links), pointer(m.numbers)
    return EnthalpyMedium(
        *numbers, *pieces, *places, *integrals, *faces, m.uniform, m.paired, m.several, pointer(m.class_ids)
    )


@called
def _enter_ambient_heat(z, u, pairs, share, medium, capacity, entered):
    """Add a share of the heat of a step from ambients: see `stencil.ambient_faces.add_ambient_heat`."""
    count = capacity.size
    for j in range(pairs.starts[z], pairs.starts[z + 1]):
        face, cell_class = pairs.entries[j] // count, pairs.entries[j] % count
        inside, outside = u[pairs.cells[j]], u[pairs.beyond[j]]
        potential = phi_of(inside, np.int64(medium.material[cell_class]), medium)
        rate, difference = between(inside, outside, cell_class, face, potential, medium)
        heat = capacity[cell_class] * (np.float64(rate) * np.float64(difference))
        entered[z, pairs.owners[j]] += share * heat


@called
def _advance_tile(
    u, v, tile, first, steps, grid, buffers, scratch, exchange, sources, boundary, flows, stages, medium, materials,
    interface,
):  # fmt: skip
    """Take `steps` time steps of a tile, a few rows of a plane at a time, level by level; level 0 looks up
    potentials."""
    widest_vectors()
    z0, z1, y0, y1, x0, x1 = widened_tile(tile, steps, buffers, grid)
    height = y1 - y0
    slots, pitch = 2 * height + buffers.rows, 2 * buffers.pitch  # a row of a ring: states, then potentials
    for top in range(z0, z1 + steps):
        for y in range(y0, y1, buffers.rows):
            for level in range(steps + 1):
                z = top - level
                first_z, end_z, first_y, end_y = rows_of_level(tile, steps - level, y, buffers, grid)
                if first_z <= z < end_z and first_y < end_y:
                    first_x, end_x = (tile.x0, tile.x1) if level == steps else (x0, x1)
                    slot = ((z - z0) * height + first_y - y0) % slots
                    start = (SCRATCH_ROWS + buffers.rows) * buffers.pitch + (level - 1) * slots * pitch + first_x - x0
                    below = PlaneRing(shifted(scratch, start), height, slots, pitch)
                    run = RowRun(z, first_y, end_y, first_x, end_x, level - 1, steps - 1, first + level - 1)
                    if level == 0:
                        _look_up_rows(u, run, below, slot, grid, buffers, stages, medium, materials)
                    else:
                        _advance_rows(
                            u, v, run, below, slot, tile, grid, buffers, scratch, exchange, sources, boundary, flows,
                            stages, medium, materials, interface,
                        )  # fmt: skip


@inlined
def _next_ring(ring):
    return PlaneRing(shifted(ring.start, ring.slots * ring.pitch), ring.height, ring.slots, ring.pitch)


@inlined
def _potentials(ring, buffers):
    """The potentials beside the states of a ring."""
    return PlaneRing(shifted(ring.start, buffers.pitch), ring.height, ring.slots, ring.pitch)


@inlined
def _look_up_rows(u, run, below, slot, grid, buffers, stages, medium, materials):
    """Put the potentials of a run of rows of the field into the first ring, which is the one above `below`."""
    ring, n = _potentials(_next_ring(below), buffers), run.x1 - run.x0
    for y in range(run.y0, run.y1):
        place = place_of(run.z, y, run.x0, grid)
        prefetch_later_rows(stages.before, shifted(u, place.c), place.c, n, grid, buffers)
        row = place.z * grid.ny + place.y
        look_up_row(row_in_ring(ring, slot), shifted(u, place.c), n, materials, row, run.x0, medium)
        slot = turned(slot + 1, ring.slots)


@inlined
def _advance_rows(
    u, v, run, below, slot, tile, grid, buffers, scratch, exchange, sources, boundary, flows, stages, medium, materials,
    interface,
):  # fmt: skip
    """Take one time step of a run of rows, the first of which is in slot `slot` of the rings."""
    from_field, to_field = run.level == 0, run.level == run.last
    table, gain, share = inputs_of_step(run.step, exchange, sources, stages)
    above = _next_ring(below)
    n = run.x1 - run.x0
    in_scratch = to_field and (buffers.stream or stages.before is not None)
    spare = sources.field is None and (in_scratch or not to_field)  # the row has room behind it in scratch
    room = -(-n // buffers.per_line) * buffers.per_line if spare else n
    vectors = n // buffers.per_line
    whole = fits_vectors(sources.field, stages.before, stages.of_two) and vectors * buffers.per_line == n
    own, end = tile.x0 - run.x0, tile.x1 - run.x0  # the cells of a row that this tile owns
    heat, read = shifted(scratch, SCRATCH_ROWS * buffers.pitch), StatesRead(u, below, slot, from_field)
    find_interface_heat(heat, buffers.pitch, read, run, grid, exchange.classes, medium, interface)
    for y in range(run.y0, run.y1):
        place = place_of(run.z, y, run.x0, grid)
        row = place.z * grid.ny + place.y
        in_tile, ledger = ledger_of_row(flows, stages.apart, share, tile, run, y, place, grid)
        classes = shifted(exchange.classes, place.c)
        states = rows_read(u, place, from_field, below, slot)
        potentials = rows_in_ring(_potentials(below, buffers), slot)
        of_all = class_of_row(exchange, row, run.x0, n)
        potentials, low, high = with_ghosts(
            potentials, of_all, classes, exchange, place, run, grid, buffers, scratch, boundary, ledger
        )
        row_sources = RowSources(table, sources.dt, shifted(sources.field, place.c), gain)
        operands = stage_operands(stages, stages.before, u, run, below, slot, place.c)
        out = shifted(v, place.c) if to_field else row_in_ring(above, slot)
        by_vectors = whole and not (in_scratch and elements_to_line(out)) and not has_interface(row, interface)
        if by_vectors and of_all != MIXED:
            ends, stage = (low, high), (operands.before, operands.numbers)
            row_of_vectors(out, vectors, states.c, potentials, ends, of_all, exchange, row_sources, stage, in_scratch)
        else:
            done = shifted(scratch, 4 * buffers.pitch) if in_scratch else out
            cells = n, room, row, run.x0
            entering = shifted(heat, (y - run.y0) * buffers.pitch)
            _advance_row(
                done, cells, (low, high), potentials, states.c, classes, exchange, row_sources, operands, stages.before,
                stages.of_two, buffers.per_line, entering, interface,
            )  # fmt: skip
            if in_scratch:
                copy_row(out, done, n, buffers)
        if not to_field:
            look_up_row(shifted(out, buffers.pitch), out, n, materials, row, run.x0, medium)
        if in_tile and run.level == run.last - 1:
            keep_second(stages.second, place.c + own, shifted(out, own), end - own, buffers)
        slot = turned(slot + 1, below.slots)


@inlined
def _advance_row(
    out, cells, ends, potentials, base, classes, exchange, sources, operands, before, of_two, per_line, heat, interface
):  # fmt: skip
    """Take one step or stage of a row, as the row loop of two-term stages or the one of all others; then add the heat
    from other materials. (`before` is an argument because Numba prunes branches on None for arguments alone.)"""
    n, room, row, x = cells
    low, high = ends
    if before is None:
        _advance_row_of_runs(
            out, n, room, low, high, potentials, base, classes, exchange, row, x, per_line, sources, sources.field,
            operands, None, None,
        )  # fmt: skip
        add_interface_heat(out, n, heat, row, x, None, interface)
    elif not of_two:
        advance_row(out, n, room, low, high, potentials, base, classes, exchange, row, x, sources, operands)
        add_interface_heat(out, n, heat, row, x, operands.numbers, interface)
    else:
        two_terms = RowOperands(operands.before, None, None, operands.numbers)
        _advance_row_of_runs(
            out, n, room, low, high, potentials, base, classes, exchange, row, x, per_line, sources, sources.field,
            two_terms, operands.before, operands.numbers,
        )  # fmt: skip
        add_interface_heat(out, n, heat, row, x, operands.numbers, interface)


@inlined
def _advance_row_of_runs(
    out, n, room, low, high, potentials, base, classes, exchange, row, x, per_line, sources, field, operands, before,
    numbers,
):  # fmt: skip
    """Take one explicit step or two-term stage of a row, in whole vectors unless there is a source by cell."""
    if field is None:
        _advance_runs(
            out, n, room, low, high, potentials, base, classes, exchange, exchange.rates, row, x, per_line, sources,
            sources.table, field, before, numbers,
        )  # fmt: skip
    else:
        advance_row(out, n, room, low, high, potentials, base, classes, exchange, row, x, sources, operands)


@inlined
def _advance_runs(
    out, n, room, low, high, potentials, base, classes, exchange, rates, row, x, per_line, sources, table, field,
    before, numbers,
):  # fmt: skip
    """Take one explicit step or two-term stage of a row without a source by cell, in whole vectors: see
    `rows.advance_row`."""
    others = None, table, field, sources, before, None, None, numbers
    given = potentials, base, exchange, rates, None, *others
    c, ym, yp, zm, zp = potentials
    c[-1], c[n] = low, high  # in the room between the rows of a ring
    stage, vectors, of_row = (before, numbers), n // per_line, (row, x, classes, exchange)
    by_pattern = vectors * per_line == n and row_of_pattern(
        exchange.patterns, out, vectors, base, potentials, (None, None), of_row, sources, stage, False
    )
    if not (
        by_pattern or advance_cells(exchange.patterns, out, n, row, x, classes, potentials, base, exchange, others)
    ):
        end, run = 0, first_beyond(exchange.ends, exchange.starts, row, x)
        while end < n:
            first, (end, cell_class), run = end, run_at(exchange, run, n, x), run + 1
            if cell_class == MIXED:
                for i in range(first, end):
                    store(out, i, new_value(i, load(c, i - 1), load(c, i + 1), class_of(classes, i), given))
            else:
                limit = end if end < n else room
                vectors, target, own = (limit - first) // per_line, shifted(out, first), shifted(base, first)
                beside = shifted(ym, first), shifted(yp, first), shifted(zm, first), shifted(zp, first)
                rows = NeighbourRows(shifted(c, first), *beside)
                stage = shifted(before, first), numbers
                row_of_vectors(target, vectors, own, rows, (None, None), cell_class, exchange, sources, stage, False)
                for i in range(first + vectors * per_line, limit):
                    store(out, i, new_value(i, load(c, i - 1), load(c, i + 1), cell_class, given))
        redo_odd_cells(out, n, classes, row, x, given)
