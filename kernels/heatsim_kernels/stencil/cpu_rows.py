"""CPU: one explicit step of one row of cells, vectorised.

The row's neighbours come as pointers, wherever they lie: in the field, around a period, in a ring of planes, or as
ghosts in scratch. The row loop never learns of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..cpu_jit import inlined
from ..cpu_memory import load, store
from ..fma import fma
from . import physics
from .cpu_runs import BESIDE, MIXED

second_difference = inlined(physics.second_difference)
face_differences = inlined(physics.face_differences)


class Rows(NamedTuple):
    """Pointers to a row and the rows beside it, of values or of zones (None where there is a single zone)."""

    c: int
    ym: int
    yp: int
    zm: int
    zp: int


class Medium(NamedTuple):
    """Exchange: rates `rx, ry, rz` a step of a uniform material, or `pairs` flat (3, n, n) by the zones of two
    neighbours; `starts`, `ends` and `run_zones` are the `cpu_runs.Runs` of the rows. Arrays, or pointers in compiled
    code; None where there is a single zone."""

    rx: float
    ry: float
    rz: float
    pairs: np.ndarray | None
    zones: np.ndarray | None
    starts: np.ndarray | None
    ends: np.ndarray | None
    run_zones: np.ndarray | None
    count: int  # of zones


class RowHeat(NamedTuple):
    """Sources of a row in one step: pointers to `table` by zone, to be multiplied by `dt`, and to `field` by cell, to
    be multiplied by `gain`."""

    table: int | None
    dt: float
    field: int | None
    gain: float


@inlined
def zone_of(zones, i):
    """The zone of cell i of a row."""
    if zones is None:
        return 0
    return np.int64(load(zones, i))


@inlined
def _start(i, c, zone, table, field, heat):
    """The cell itself plus its sources."""
    start = c
    if table is not None:
        start = fma(heat.dt, load(table, zone), start)
    if field is not None:
        start = fma(heat.gain, load(field, i), start)
    return start


@inlined
def _cell(i, im, ip, xm, xp, u, z, m, pairs, table, field, heat):
    """The new value of cell i of a row; `im`, `ip` say whose zones lie beside it in x (its own at a wall)."""
    c, zone = load(u.c, i), zone_of(z.c, i)
    start = _start(i, c, zone, table, field, heat)
    ym, yp, zm, zp = load(u.ym, i), load(u.yp, i), load(u.zm, i), load(u.zp, i)
    if pairs is None:
        return second_difference(start, c, xm, xp, ym, yp, zm, zp, m.rx, m.ry, m.rz)
    x = zone * m.count
    y = x + m.count * m.count
    w = y + m.count * m.count
    rxm, rxp = load(pairs, x + zone_of(z.c, im)), load(pairs, x + zone_of(z.c, ip))
    rym, ryp = load(pairs, y + zone_of(z.ym, i)), load(pairs, y + zone_of(z.yp, i))
    rzm, rzp = load(pairs, w + zone_of(z.zm, i)), load(pairs, w + zone_of(z.zp, i))
    return face_differences(start, c, xm, xp, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp)


@inlined
def _calm_cell(i, u, zones, m, pairs, table, field, heat):
    """`_cell` in a run of one zone beside runs of one zone each: the same bits without look-ups, unless a neighbour in
    x is of another zone."""
    c = load(u.c, i)
    start = _start(i, c, zones.c, table, field, heat)
    xm, xp = load(u.c, i - 1), load(u.c, i + 1)
    ym, yp, zm, zp = load(u.ym, i), load(u.yp, i), load(u.zm, i), load(u.zp, i)
    if pairs is None:
        return second_difference(start, c, xm, xp, ym, yp, zm, zp, m.rx, m.ry, m.rz)
    x = zones.c * m.count
    y = x + m.count * m.count
    w = y + m.count * m.count
    rx, rym, ryp = load(pairs, x + zones.c), load(pairs, y + zones.ym), load(pairs, y + zones.yp)
    rzm, rzp = load(pairs, w + zones.zm), load(pairs, w + zones.zp)
    return face_differences(start, c, xm, xp, ym, yp, zm, zp, rx, rx, rym, ryp, rzm, rzp)


@inlined
def advance_row(out, n, room, low, high, wraps, u, z, m, row, heat):
    """One step of a row of n cells; `low`, `high` are the values beyond its ends, which wrap or lie beyond a wall.

    `u` and `z` are the Rows of values and of zones, `row` the row's number. What lies before and
    behind row `u.c` in memory is read, and must be readable, but does not enter the result. `out` has room for more
    than n cells: a row of whole vectors is faster than one with a remainder.
    """
    pairs, table, field = m.pairs, heat.table, heat.field  # Numba prunes branches on None for arguments alone
    end, run = 0, _first_run(m.starts, row)
    while end < n:
        first, end, zones = end, _end_of(m.ends, run, room), _zones_of(m.run_zones, run)
        run += 1
        if zones.c == MIXED:
            # The row's two ends are put right below; zones have no padding.
            for i in range(max(1, first), min(n - 1, end)):
                xm, xp = load(u.c, i - 1), load(u.c, i + 1)
                store(out, i, _cell(i, i - 1, i + 1, xm, xp, u, z, m, pairs, table, field, heat))
        else:
            for i in range(first, end):
                store(out, i, _calm_cell(i, u, zones, m, pairs, table, field, heat))
            left, right = max(1, first), min(n - 2, end - 1)
            if pairs is not None and left <= right:
                for i in (left, right):
                    xm, xp = load(u.c, i - 1), load(u.c, i + 1)
                    store(out, i, _cell(i, i - 1, i + 1, xm, xp, u, z, m, pairs, table, field, heat))
    last = n - 1
    before, after = (last, 0) if wraps else (0, last)
    right = load(u.c, 1) if n > 1 else high
    store(out, 0, _cell(0, before, min(1, last), low, right, u, z, m, pairs, table, field, heat))
    if n > 1:
        left = load(u.c, last - 1)
        store(out, last, _cell(last, last - 1, after, left, high, u, z, m, pairs, table, field, heat))


@inlined
def _first_run(starts, row):
    """The first run of a row."""
    if starts is None:
        return 0
    return load(starts, row)


@inlined
def _end_of(ends, run, room):
    """Where a run ends; there is but one in a row where there are no zones."""
    if ends is None:
        return room
    return np.int64(load(ends, run))


@inlined
def _zones_of(zones, run):
    """The zones of a run and of those beside it."""
    if zones is None:
        return Rows(0, 0, 0, 0, 0)
    at = BESIDE * run
    c, ym, yp = np.int64(load(zones, at)), np.int64(load(zones, at + 1)), np.int64(load(zones, at + 2))
    return Rows(c, ym, yp, np.int64(load(zones, at + 3)), np.int64(load(zones, at + 4)))
