"""CPU: explicit steps of temperature-dependent problems: potentials first, then their differences.

    Planes of a tile that a thread holds in its L2 cache while it marches upwards in z:

    u        z-1  z  z+1      read once
    phi      z-1  z  z+1      a ring of three planes: looked up once a cell, twice in the rows where tiles meet
    new u         z           u + sum of rate * (difference of phi)

A look-up is vectorised as two gathers, so the loop of look-ups takes most of the time: 24 operations and some 12 bytes
a cell in float32. The balance at a boundary surface is solved once a step and cell: the difference of phi that stands
for the face serves the cell and, in the step after, the ledger. Cells with another material beside them are computed
again one by one, by `enthalpy.cell`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from heatsim_kernels.enthalpy import cell
from heatsim_kernels.enthalpy.cell import NUMBERS, EnthalpyBoundary, EnthalpyMedium, EnthalpySources
from heatsim_kernels.runtime.cpu.compilation import called, inlined, parallel_jit
from heatsim_kernels.runtime.cpu.pointers import load, pointer, row_pointer, shifted, store, widest_vectors
from heatsim_kernels.runtime.fma import fma

MIN_RUN, STRETCH = 16, 64  # cells: shorter runs of one cell class are not worth a loop of their own
LEDGER_BLOCKS = 64  # an account is summed in so many parts, whatever the number of threads


functions = cell.build(inlined, called)
phi_of, passing, new_value, segment = functions.phi, functions.passing, functions.new_value, functions.segment
at_boundary = functions.at_boundary


class ForcingRows(NamedTuple):
    """Values for a batch of steps: how many rows of boundary values and of sources there are, and how long they are."""

    boundary: int
    boundary_size: int
    heat: int
    heat_size: int
    gains: np.ndarray


class InterfaceCells(NamedTuple):
    """Material-interface cells, row after row: x of each, and where those of each row start. `rows` is 0 where there
    are none, and then `starts` begins with two zeros."""

    cells: np.ndarray
    starts: np.ndarray
    rows: int


class FaceDifferences(NamedTuple):
    """The differences of phi that stand for boundary faces in a step: pointers to where those of each of FACES start
    among them, to them, and to a row of zeros."""

    starts: int
    values: int
    zeros: int


@parallel_jit
def advance(u, v, steps, tiles, scratch, pitch, box, medium, boundary, heat, rows, interface, ledger, differences):
    """Take `steps` steps; they end in u if their number is even, else in v.

    tiles (count, 4): planes z0 <= z < z1 and rows y0 <= y < y1. scratch (threads, elements), the last `pitch` of them
    0. ledger: cells, faces, starts (see `LedgerFaces`), capacity (n,) J/K, and heat entered (accounts, LEDGER_BLOCKS)
    J, added to. differences (2, m): those of the boundary faces, of even and of odd steps. Tiles write them, and the
    ledger reads them a step later, so that threads wait for each other only between steps; heat from ambients is found
    from the old field.
    """
    threads, count = scratch.shape[0], tiles.shape[0]
    for step in range(steps):
        old, new = (u, v) if step % 2 == 0 else (v, u)
        boundary_start = min(step, rows.boundary - 1) * rows.boundary_size
        heat_start = min(step, rows.heat - 1) * rows.heat_size
        gain = rows.gains[min(step, rows.gains.size - 1)]
        for index in prange(threads):
            thread = np.int64(index)  # prange counts in unsigned numbers
            m, w = pointed(medium), boundary_from(boundary, boundary_start)
            h = EnthalpySources(pointer(heat.table), heat_start, heat.dt, heat.has_field, pointer(heat.field), gain)
            own, found, zeros = (
                row_pointer(scratch, thread),
                row_pointer(differences, step % 2),
                scratch.shape[1] - pitch,
            )
            known = FaceDifferences(pointer(ledger[2]), found, shifted(own, zeros))
            interface_cells = InterfaceCells(pointer(interface.cells), pointer(interface.starts), interface.rows)
            for block in range(thread * LEDGER_BLOCKS // threads, (thread + 1) * LEDGER_BLOCKS // threads):
                if step > 0:
                    _enter_boundary_heat(row_pointer(differences, (step - 1) % 2), block, ledger, m)
                _enter_ambient_heat(pointer(old), block, ledger, box, m, w)
            for tile in range(thread * count // threads, (thread + 1) * count // threads):
                z0, z1, y0, y1 = tiles[tile, 0], tiles[tile, 1], tiles[tile, 2], tiles[tile, 3]
                tiled = pointer(old), pointer(new), z0, z1, y0, y1
                _advance_tile(*tiled, own, pitch, box, m, w, h, interface_cells, known)
    if steps > 0:
        for index in prange(threads):
            thread, m = np.int64(index), pointed(medium)
            for block in range(thread * LEDGER_BLOCKS // threads, (thread + 1) * LEDGER_BLOCKS // threads):
                _enter_boundary_heat(row_pointer(differences, (steps - 1) % 2), block, ledger, m)


@inlined
def pointed(m):
    """The medium with pointers in place of arrays, to which functions would count references, cell by cell."""
    tables = pointer(m.potentials), pointer(m.temperatures), pointer(m.resistivities), m.segments
    faces = pointer(m.material), pointer(m.links), pointer(m.numbers)
    look = m.scale, m.shift, m.t_scale, m.t_shift, m.last, m.zero, m.half, m.one, m.four
    return EnthalpyMedium(*look, *tables, *faces, m.uniform, m.several, pointer(m.class_ids))


@inlined
def boundary_from(w, start):
    """The boundary with pointers in place of arrays, from a row of values on."""
    values, offsets, closed = pointer(w.values), pointer(w.offsets), pointer(w.closed)
    places = values, start, w.size, offsets, closed, w.per_cell
    return EnthalpyBoundary(*places, w.reference, w.follow, pointer(w.factor), pointer(w.factors), w.near)


@called
def _enter_boundary_heat(differences, block, ledger, medium):
    """Enter the heat of a step through boundary faces: the `block`-th part of each account."""
    cells, _, starts, capacity, entered = ledger
    for face in range(6):
        first, size = starts[face], starts[face + 1] - starts[face]
        for entry in range(first + size * block // LEDGER_BLOCKS, first + size * (block + 1) // LEDGER_BLOCKS):
            cell_class = np.int64(medium.class_ids[cells[entry]]) if medium.several != 0 else 0
            rate = medium.numbers[(cell_class * 6 + face) * NUMBERS]
            entered[face, block] += capacity[cell_class] * (np.float64(rate) * np.float64(differences[entry]))


@called
def _enter_ambient_heat(field, block, ledger, box, medium, boundary):
    """Enter the heat of a step from ambients: the `block`-th part of each account."""
    cells, faces, starts, capacity, entered = ledger
    for account in range(6, entered.shape[0]):
        first, size = starts[account], starts[account + 1] - starts[account]
        for entry in range(first + size * block // LEDGER_BLOCKS, first + size * (block + 1) // LEDGER_BLOCKS):
            i = cells[entry]
            x, y, z = i % box.nx, i // box.nx % box.ny, i // (box.nx * box.ny)
            cell_class = np.int64(medium.class_ids[i]) if medium.several != 0 else 0
            potential = phi_of(field[i], np.int64(medium.material[cell_class]) * medium.segments, medium)
            face = np.int64(faces[entry])
            rate, difference = passing(field, i, x, y, z, face, cell_class, potential, box, medium, boundary)
            entered[account, block] += capacity[cell_class] * (np.float64(rate) * np.float64(difference))


@called
def _advance_tile(u, v, z0, z1, y0, y1, scratch, pitch, box, medium, boundary, heat, interface, known):
    """Take one step of planes z0 <= z < z1 and rows y0 <= y < y1."""
    widest_vectors()
    plane = (y1 - y0 + 2) * pitch
    for z in range(z0 - 1, z0 + 1):
        _look_up_plane(u, z, y0, y1, shifted(scratch, (z - z0 + 1) * plane), pitch, box, medium)
    for z in range(z0, z1):
        zm, c, zp = (z - z0) % 3 * plane, (z - z0 + 1) % 3 * plane, (z - z0 + 2) % 3 * plane
        _look_up_plane(u, z + 1, y0, y1, shifted(scratch, zp), pitch, box, medium)
        for y in range(y0, y1):
            row, i = (y - y0 + 1) * pitch + 1, (z * box.ny + y) * box.nx
            potentials = shifted(scratch, c + row), shifted(scratch, zm + row), shifted(scratch, zp + row)
            beside_y = _open_ends(y, box.ny, box.wrap_y, 2, boundary)
            beside_z = _open_ends(z, box.nz, box.wrap_z, 4, boundary)
            beside_x = _open_ends(0, 1, box.wrap_x, 0, boundary)
            if beside_y[0] or beside_y[1] or beside_z[0] or beside_z[1] or beside_x[0] or beside_x[1]:
                beside = beside_x, beside_y, beside_z
                _find_differences(u, i, y, z, beside, box, medium, boundary, known)
                sides = _sides(potentials, pitch, y, z, beside_y, beside_z, box, known)
                if beside_y[0] or beside_y[1] or beside_z[0] or beside_z[1]:
                    _advance_boundary_row(shifted(v, i), shifted(u, i), box.nx, potentials[0], sides, medium, heat, i)
                else:
                    _advance_row(shifted(v, i), shifted(u, i), box.nx, potentials, pitch, medium, heat, i)
                _advance_ends(v, u, i, y, z, potentials[0], sides, beside_x, box, medium, heat, known)
            else:
                _advance_row(shifted(v, i), shifted(u, i), box.nx, potentials, pitch, medium, heat, i)
            _redo_interface_cells(u, v, i, y, z, box, medium, boundary, heat, interface)


@inlined
def _open_ends(at, n, wraps, face, boundary):
    """Whether a place along an axis is beside its lower, and beside its upper boundary face, which are not closed."""
    low = wraps == 0 and at == 0 and boundary.closed[face] == 0
    return low, wraps == 0 and at == n - 1 and boundary.closed[face + 1] == 0


@called
def _find_differences(u, i, y, z, beside, box, medium, boundary, known):
    """Find the differences that stand for the open boundary faces of a row of cells, from cell i on."""
    for end in range(2):
        if beside[0][end]:
            _find_difference(u, i + (box.nx - 1) * end, end, z * box.ny + y, medium, boundary, known)
        for x in range(box.nx if beside[1][end] else 0):
            _find_difference(u, i + x, 2 + end, z * box.nx + x, medium, boundary, known)
        for x in range(box.nx if beside[2][end] else 0):
            _find_difference(u, i + x, 4 + end, y * box.nx + x, medium, boundary, known)


@inlined
def _find_difference(u, i, face, position, medium, boundary, known):
    cell_class = np.int64(medium.class_ids[i]) if medium.several != 0 else np.int64(0)
    found = at_boundary(u[i], cell_class, np.int64(face), position, medium, boundary)
    known.values[known.starts[face] + position] = found


@inlined
def _sides(potentials, pitch, y, z, beside_y, beside_z, box, known):
    """Pairs of rows whose differences are those of a row of cells to its neighbours in y and z: of potentials, or of
    what is known of a boundary face and zeros."""
    c, zm, zp = potentials
    at_y, at_z = z * box.nx, y * box.nx
    return (
        _side(shifted(c, -pitch), c, beside_y[0], 2, at_y, known),
        _side(shifted(c, pitch), c, beside_y[1], 3, at_y, known),
        _side(zm, c, beside_z[0], 4, at_z, known),
        _side(zp, c, beside_z[1], 5, at_z, known),
    )


@inlined
def _side(row, here, at_boundary, face, position, known):
    if at_boundary:
        return shifted(known.values, known.starts[face] + position), known.zeros
    return row, here


@called
def _advance_boundary_row(out, u, n, c, sides, medium, heat, i):
    """Take one step of a row of cells beside a boundary face in y or z, from cell i on; see `_sides`."""
    (ym, ym0), (yp, yp0), (zm, zm0), (zp, zp0) = sides
    for x in range(n):
        here = load(c, x)
        cell_class = np.int64(load(medium.class_ids, i + x)) if medium.several != 0 else np.int64(0)
        value = _with_sources(x, load(u, x), heat, i, cell_class)
        in_x = load(c, x - 1) - here, load(c, x + 1) - here
        in_y = load(ym, x) - load(ym0, x), load(yp, x) - load(yp0, x)
        in_z = load(zm, x) - load(zm0, x), load(zp, x) - load(zp0, x)
        store(out, x, _with_differences(value, in_x, in_y, in_z, cell_class, medium))


@called
def _advance_ends(v, u, i, y, z, c, sides, beside_x, box, medium, heat, known):
    """Take one step of the cells of a row that are beside an open boundary face in x."""
    (ym, ym0), (yp, yp0), (zm, zm0), (zp, zp0) = sides
    for end in range(2):
        if beside_x[end]:
            x = (box.nx - 1) * end
            cell_class = np.int64(medium.class_ids[i + x]) if medium.several != 0 else np.int64(0)
            left, right = c[x - 1] - c[x], c[x + 1] - c[x]
            if beside_x[0] and x == 0:
                left = known.values[known.starts[0] + z * box.ny + y]
            if beside_x[1] and x == box.nx - 1:
                right = known.values[known.starts[1] + z * box.ny + y]
            in_y, in_z = (ym[x] - ym0[x], yp[x] - yp0[x]), (zm[x] - zm0[x], zp[x] - zp0[x])
            value = _with_sources(x, u[i + x], heat, i, cell_class)
            v[i + x] = _with_differences(value, (left, right), in_y, in_z, cell_class, medium)


@inlined
def _with_differences(value, in_x, in_y, in_z, cell_class, medium):
    """The value of a cell plus what its six faces bring."""
    at = shifted(medium.numbers, 6 * NUMBERS * cell_class)
    if medium.uniform != 0:
        value = fma(load(at, 0), in_x[0] + in_x[1], value)
        value = fma(load(at, 2 * NUMBERS), in_y[0] + in_y[1], value)
        return fma(load(at, 4 * NUMBERS), in_z[0] + in_z[1], value)
    value = fma(load(at, NUMBERS), in_x[1], fma(load(at, 0), in_x[0], value))
    value = fma(load(at, 3 * NUMBERS), in_y[1], fma(load(at, 2 * NUMBERS), in_y[0], value))
    return fma(load(at, 5 * NUMBERS), in_z[1], fma(load(at, 4 * NUMBERS), in_z[0], value))


@inlined
def _redo_interface_cells(u, v, i, y, z, box, medium, boundary, heat, interface):
    """Compute the cells of a row that are beside another material again, one by one."""
    row = z * box.ny + y if interface.rows > 0 else 0
    for entry in range(interface.starts[row], interface.starts[row + 1]):
        x = np.int64(interface.cells[entry])
        v[i + x] = new_value(u, i + x, x, y, z, box, medium, boundary, heat)


@inlined
def _wrapped(at, n, wraps):
    """The row or plane around a period. Without a period the nearest one, which gives a difference of 0."""
    if wraps != 0:
        return at % n
    return min(max(at, 0), n - 1)


@inlined
def _look_up_plane(u, z, y0, y1, out, pitch, box, medium):
    """Look up the potentials of rows y0 - 1 to y1 of a plane, `pitch` elements apart, each with one more value before
    and behind."""
    z = _wrapped(z, box.nz, box.wrap_z)
    for y in range(y0 - 1, y1 + 1):
        i = (z * box.ny + _wrapped(y, box.ny, box.wrap_y)) * box.nx
        row = shifted(out, (y - y0 + 1) * pitch + 1)
        _look_up_row(shifted(u, i), box.nx, row, medium, i)
        row[-1] = row[box.nx - 1] if box.wrap_x != 0 else row[0]
        row[box.nx] = row[0] if box.wrap_x != 0 else row[box.nx - 1]


@inlined
def _run(i, x, n, medium):
    """The end of the run of cells of one class that begins at cell x of a row of n, and its class. For a run shorter
    than MIN_RUN: the end of a stretch of several classes, and -1."""
    if medium.several == 0:
        return n, 0
    cell_class, end = medium.class_ids[i + x], x + 1
    while end < n and medium.class_ids[i + end] == cell_class:
        end += 1
    if end - x < MIN_RUN:
        return min(n, x + STRETCH), -1
    return end, np.int64(cell_class)


@inlined
def _look_up_row(u, n, out, medium, i):
    end = 0
    while end < n:
        first = end
        end, cell_class = _run(i, first, n, medium)
        row = np.int64(medium.material[max(cell_class, 0)]) * medium.segments
        if cell_class >= 0:
            for x in range(first, end):
                store(out, x, _potential(load(u, x), row, medium))
        else:
            for x in range(first, end):
                row = np.int64(load(medium.material, np.int64(load(medium.class_ids, i + x)))) * medium.segments
                store(out, x, _potential(load(u, x), row, medium))


@inlined
def _potential(u, row, medium):
    at = 2 * (row + segment(u, medium.scale, medium.shift, medium))
    return fma(load(medium.potentials, at + 1), u, load(medium.potentials, at))


@inlined
def _advance_row(out, u, n, potentials, pitch, medium, heat, i):
    """Take one step of a row of cells, from cell i on, with their own material on all sides."""
    c, zm, zp = potentials
    ym, yp, numbers, end = shifted(c, -pitch), shifted(c, pitch), medium.numbers, 0
    while end < n:
        first = end
        end, cell_class = _run(i, first, n, medium)
        at = 6 * NUMBERS * max(cell_class, 0)
        rxm, rxp, rym = numbers[at], numbers[at + NUMBERS], numbers[at + 2 * NUMBERS]
        ryp, rzm, rzp = numbers[at + 3 * NUMBERS], numbers[at + 4 * NUMBERS], numbers[at + 5 * NUMBERS]
        if medium.uniform != 0:
            for x in range(first, end):
                here, value = load(c, x), _with_sources(x, load(u, x), heat, i, 0)
                value = fma(rxm, (load(c, x - 1) - here) + (load(c, x + 1) - here), value)
                value = fma(rym, (load(ym, x) - here) + (load(yp, x) - here), value)
                store(out, x, fma(rzm, (load(zm, x) - here) + (load(zp, x) - here), value))
        elif cell_class >= 0:
            for x in range(first, end):
                value = _with_sources(x, load(u, x), heat, i, cell_class)
                store(out, x, _from_differences(x, value, c, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp))
        else:
            for x in range(first, end):
                cell_class = np.int64(load(medium.class_ids, i + x))
                f = shifted(numbers, 6 * NUMBERS * cell_class)
                value = _with_sources(x, load(u, x), heat, i, cell_class)
                lower = load(f, 0), load(f, NUMBERS), load(f, 2 * NUMBERS)
                upper = load(f, 3 * NUMBERS), load(f, 4 * NUMBERS), load(f, 5 * NUMBERS)
                store(out, x, _from_differences(x, value, c, ym, yp, zm, zp, *lower, *upper))


@inlined
def _from_differences(x, value, c, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp):
    here = load(c, x)
    value = fma(rxp, load(c, x + 1) - here, fma(rxm, load(c, x - 1) - here, value))
    value = fma(ryp, load(yp, x) - here, fma(rym, load(ym, x) - here, value))
    return fma(rzp, load(zp, x) - here, fma(rzm, load(zm, x) - here, value))


@inlined
def _with_sources(x, value, heat, i, cell_class):
    """A cell plus its sources; the compiler moves the condition out of the loop over the row."""
    value = fma(heat.dt, load(heat.table, heat.start + cell_class), value)
    if heat.has_field != 0:
        value = fma(heat.gain, load(heat.field, i + x), value)
    return value


# The temperature that each cell has, from its enthalpy: 8 bytes and four operations a cell in float32.
temperature = functions.temperature


@parallel_jit
def temperatures(u, out, medium, parts):
    """Put the temperature offset of each cell into `out`, flat as u."""
    for index in prange(parts):
        part, m = np.int64(index), pointed(medium)  # prange counts in unsigned numbers
        for i in range(part * u.size // parts, (part + 1) * u.size // parts):
            cell_class = np.int64(medium.class_ids[i]) if medium.several != 0 else np.int64(0)
            out[i] = temperature(u[i], np.int64(medium.material[cell_class]) * medium.segments, m)
