"""CPU: steps of materials that follow temperature: potentials first, then their differences.

    planes of a tile that a thread holds in its L2 cache while it marches upwards in z

    u        z-1  z  z+1      read once
    phi      z-1  z  z+1      a ring of three planes: looked up once a cell, twice in the rows where tiles meet
    new u         z           u + sum of rate * (difference of phi)

A look-up is vectorised as two gathers, so the first loop takes most of the time: 24 operations and some 12 bytes a cell
in float32. Cells beside another material, and those at walls that are not closed, are done again one by one: `cell`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from heatsim_kernels.enthalpy import cell
from heatsim_kernels.enthalpy.cell import NUMBERS, EnthalpyBoundary, EnthalpyMedium, EnthalpySources
from heatsim_kernels.runtime.cpu.compilation import inlined, jit, parallel_jit
from heatsim_kernels.runtime.cpu.pointers import load, pointer, row_pointer, shifted, store, widest_vectors
from heatsim_kernels.runtime.fma import fma

SHORT, STRETCH = 16, 64  # cells: shorter runs of one kind are not worth a loop of their own
LEDGER_BLOCKS = 64  # an account is summed in so many parts, whatever the number of threads


def _into_callers(function):
    """As `inlined`; kept with its callers, since closures cannot be found again on disk."""
    return njit(nogil=True, error_model="numpy", forceinline=True)(function)


functions = cell.build(_into_callers, njit(nogil=True, error_model="numpy"))
phi_of, passing, new_value, segment = functions.phi, functions.passing, functions.new_value, functions.segment


class ForcingRows(NamedTuple):
    """Values for a batch of steps: how many rows of walls and of sources there are, and how long they are."""

    walls: int
    wall_size: int
    heat: int
    heat_size: int
    gains: np.ndarray


class InterfaceCells(NamedTuple):
    """Cells that are done one by one, row after row: x of each, and where those of a row start; `rows` is 0 where there
    are none, and then `starts` begins with two zeros."""

    cells: np.ndarray
    starts: np.ndarray
    rows: int


@parallel_jit
def advance(u, v, steps, tiles, scratch, pitch, box, medium, walls, heat, rows, alone, book):
    """`steps` steps; they end in u if their number is even, else in v.

    tiles (count, 4): planes z0..z1 and rows y0..y1. scratch (threads, elements). book: cells, faces, starts (see
    `Ledger`), capacity (n,) J/K, and heat entered (accounts, LEDGER_BLOCKS) J, added to; it reads the old field, so it
    need not be done before the steps of other threads.
    """
    threads, count = scratch.shape[0], tiles.shape[0]
    for step in range(steps):
        old, new = (u, v) if step % 2 == 0 else (v, u)
        wall_start = min(step, rows.walls - 1) * rows.wall_size
        heat_start = min(step, rows.heat - 1) * rows.heat_size
        gain = rows.gains[min(step, rows.gains.size - 1)]
        for index in prange(threads):
            thread = np.int64(index)  # prange counts in unsigned numbers
            m, w = pointed(medium), walls_from(walls, wall_start)
            h = EnthalpySources(pointer(heat.table), heat_start, heat.dt, heat.has_field, pointer(heat.field), gain)
            again, own = (
                InterfaceCells(pointer(alone.cells), pointer(alone.starts), alone.rows),
                row_pointer(scratch, thread),
            )
            for block in range(thread * LEDGER_BLOCKS // threads, (thread + 1) * LEDGER_BLOCKS // threads):
                _enter(pointer(old), block, book, box, m, w)
            for tile in range(thread * count // threads, (thread + 1) * count // threads):
                z0, z1, y0, y1 = tiles[tile, 0], tiles[tile, 1], tiles[tile, 2], tiles[tile, 3]
                _tile(pointer(old), pointer(new), z0, z1, y0, y1, own, pitch, box, m, w, h, again)


@inlined
def pointed(m):
    """The medium with pointers for arrays: functions would count references to these, cell by cell."""
    tables = pointer(m.potentials), pointer(m.temperatures), pointer(m.resistivities), m.segments
    faces = pointer(m.material), pointer(m.links), pointer(m.numbers)
    look = m.scale, m.shift, m.t_scale, m.t_shift, m.last, m.zero, m.half, m.one, m.four
    return EnthalpyMedium(*look, *tables, *faces, m.uniform, m.several, pointer(m.kinds))


@inlined
def walls_from(w, start):
    """The walls with pointers for arrays, from a row of values on."""
    values, offsets, closed = pointer(w.values), pointer(w.offsets), pointer(w.closed)
    places = values, start, w.size, offsets, closed, w.per_cell
    return EnthalpyBoundary(*places, w.reference, w.follow, pointer(w.factor), pointer(w.factors), w.near)


@jit
def _enter(field, block, book, box, medium, walls):
    """Enter the heat of a step, a part of each account."""
    cells, faces, starts, capacity, entered = book
    for account in range(entered.shape[0]):
        first, size = starts[account], starts[account + 1] - starts[account]
        for entry in range(first + size * block // LEDGER_BLOCKS, first + size * (block + 1) // LEDGER_BLOCKS):
            i = cells[entry]
            x, y, z = i % box.nx, i // box.nx % box.ny, i // (box.nx * box.ny)
            kind = np.int64(medium.kinds[i]) if medium.several != 0 else 0
            potential = phi_of(field[i], np.int64(medium.material[kind]) * medium.segments, medium)
            face = np.int64(faces[entry])
            rate, difference = passing(field, i, x, y, z, face, kind, potential, box, medium, walls)
            entered[account, block] += capacity[kind] * (np.float64(rate) * np.float64(difference))


@jit
def _tile(u, v, z0, z1, y0, y1, scratch, pitch, box, medium, walls, heat, alone):
    """One step of planes z0..z1 and rows y0..y1."""
    widest_vectors()
    plane = (y1 - y0 + 2) * pitch
    for z in range(z0 - 1, z0 + 1):
        _look_up_plane(u, z, y0, y1, shifted(scratch, (z - z0 + 1) * plane), pitch, box, medium)
    for z in range(z0, z1):
        zm, c, zp = (z - z0) % 3 * plane, (z - z0 + 1) % 3 * plane, (z - z0 + 2) % 3 * plane
        _look_up_plane(u, z + 1, y0, y1, shifted(scratch, zp), pitch, box, medium)
        for y in range(y0, y1):
            row, i = (y - y0 + 1) * pitch + 1, (z * box.ny + y) * box.nx
            if _at_open_wall(y, box.ny, box.wrap_y, 2, walls) or _at_open_wall(z, box.nz, box.wrap_z, 4, walls):
                for x in range(box.nx):
                    _one_by_one(u, v, i + x, x, y, z, box, medium, walls, heat)
            else:
                potentials = shifted(scratch, c + row), shifted(scratch, zm + row), shifted(scratch, zp + row)
                _row(shifted(v, i), shifted(u, i), box.nx, potentials, pitch, medium, heat, i)
                _again(u, v, i, y, z, box, medium, walls, heat, alone)


@jit
def _one_by_one(u, v, i, x, y, z, box, medium, walls, heat):
    v[i] = new_value(u, i, x, y, z, box, medium, walls, heat)


@inlined
def _at_open_wall(at, n, wraps, face, walls):
    return wraps == 0 and ((at == 0 and walls.closed[face] == 0) or (at == n - 1 and walls.closed[face + 1] == 0))


@inlined
def _again(u, v, i, y, z, box, medium, walls, heat, alone):
    """Cells of a row that are done one by one: at walls along x, and beside another material."""
    for x in (0, box.nx - 1):
        if _at_open_wall(x, box.nx, box.wrap_x, 0, walls):
            _one_by_one(u, v, i + x, x, y, z, box, medium, walls, heat)
    row = z * box.ny + y if alone.rows > 0 else 0
    for entry in range(alone.starts[row], alone.starts[row + 1]):
        x = np.int64(alone.cells[entry])
        _one_by_one(u, v, i + x, x, y, z, box, medium, walls, heat)


@inlined
def _wrapped(at, n, wraps):
    """A row or plane round a period; the nearest where there is none, whose difference is then none."""
    if wraps != 0:
        return at % n
    return min(max(at, 0), n - 1)


@inlined
def _look_up_plane(u, z, y0, y1, out, pitch, box, medium):
    """Potentials of rows y0 - 1..y1 + 1 of a plane, `pitch` apart, each with one more value before and behind."""
    z = _wrapped(z, box.nz, box.wrap_z)
    for y in range(y0 - 1, y1 + 1):
        i = (z * box.ny + _wrapped(y, box.ny, box.wrap_y)) * box.nx
        row = shifted(out, (y - y0 + 1) * pitch + 1)
        _look_up_row(shifted(u, i), box.nx, row, medium, i)
        row[-1] = row[box.nx - 1] if box.wrap_x != 0 else row[0]
        row[box.nx] = row[0] if box.wrap_x != 0 else row[box.nx - 1]


@inlined
def _run(i, x, n, medium):
    """The end of the run of cells of one kind that begins at cell x of a row of n, and its kind. Where the run is
    short, the end of a stretch of several kinds, and -1."""
    if medium.several == 0:
        return n, 0
    kind, end = medium.kinds[i + x], x + 1
    while end < n and medium.kinds[i + end] == kind:
        end += 1
    if end - x < SHORT:
        return min(n, x + STRETCH), -1
    return end, np.int64(kind)


@inlined
def _look_up_row(u, n, out, medium, i):
    end = 0
    while end < n:
        first = end
        end, kind = _run(i, first, n, medium)
        row = np.int64(medium.material[max(kind, 0)]) * medium.segments
        if kind >= 0:
            for x in range(first, end):
                store(out, x, _potential(load(u, x), row, medium))
        else:
            for x in range(first, end):
                row = np.int64(load(medium.material, np.int64(load(medium.kinds, i + x)))) * medium.segments
                store(out, x, _potential(load(u, x), row, medium))


@inlined
def _potential(u, row, medium):
    at = 2 * (row + segment(u, medium.scale, medium.shift, medium))
    return fma(load(medium.potentials, at + 1), u, load(medium.potentials, at))


@inlined
def _row(out, u, n, potentials, pitch, medium, heat, i):
    """A row of cells, from the i-th on, with their own material on all sides."""
    c, zm, zp = potentials
    ym, yp, numbers, end = shifted(c, -pitch), shifted(c, pitch), medium.numbers, 0
    while end < n:
        first = end
        end, kind = _run(i, first, n, medium)
        at = 6 * NUMBERS * max(kind, 0)
        rxm, rxp, rym = numbers[at], numbers[at + NUMBERS], numbers[at + 2 * NUMBERS]
        ryp, rzm, rzp = numbers[at + 3 * NUMBERS], numbers[at + 4 * NUMBERS], numbers[at + 5 * NUMBERS]
        if medium.uniform != 0:
            for x in range(first, end):
                here, value = load(c, x), _start(x, load(u, x), heat, i, 0)
                value = fma(rxm, (load(c, x - 1) - here) + (load(c, x + 1) - here), value)
                value = fma(rym, (load(ym, x) - here) + (load(yp, x) - here), value)
                store(out, x, fma(rzm, (load(zm, x) - here) + (load(zp, x) - here), value))
        elif kind >= 0:
            for x in range(first, end):
                value = _start(x, load(u, x), heat, i, kind)
                store(out, x, _renewed(x, value, c, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp))
        else:
            for x in range(first, end):
                kind = np.int64(load(medium.kinds, i + x))
                f = shifted(numbers, 6 * NUMBERS * kind)
                value = _start(x, load(u, x), heat, i, kind)
                lower = load(f, 0), load(f, NUMBERS), load(f, 2 * NUMBERS)
                upper = load(f, 3 * NUMBERS), load(f, 4 * NUMBERS), load(f, 5 * NUMBERS)
                store(out, x, _renewed(x, value, c, ym, yp, zm, zp, *lower, *upper))


@inlined
def _renewed(x, value, c, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp):
    here = load(c, x)
    value = fma(rxp, load(c, x + 1) - here, fma(rxm, load(c, x - 1) - here, value))
    value = fma(ryp, load(yp, x) - here, fma(rym, load(ym, x) - here, value))
    return fma(rzp, load(zp, x) - here, fma(rzm, load(zm, x) - here, value))


@inlined
def _start(x, value, heat, i, kind):
    """The cell itself plus its sources; the compiler takes the condition out of the row's loop."""
    value = fma(heat.dt, load(heat.table, heat.start + kind), value)
    if heat.has_field != 0:
        value = fma(heat.gain, load(heat.field, i + x), value)
    return value


# CPU: the temperature that each cell has, from its enthalpy; 8 bytes and four operations a cell in float32.


temperature = functions.temperature


@parallel_jit
def temperatures(u, out, medium, parts):
    """Put the rise of temperature of each cell into `out`, flat as u."""
    for index in prange(parts):
        part, m = np.int64(index), pointed(medium)  # prange counts in unsigned numbers
        for i in range(part * u.size // parts, (part + 1) * u.size // parts):
            kind = np.int64(medium.kinds[i]) if medium.several != 0 else np.int64(0)
            out[i] = temperature(u[i], np.int64(medium.material[kind]) * medium.segments, m)
