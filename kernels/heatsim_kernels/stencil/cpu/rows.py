"""CPU: one explicit step of one row of cells, vectorised.

The row's neighbours come as pointers, wherever they lie: in the field, around a period, in a ring of planes, or as
ghosts in scratch. The row loop never learns of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.runtime.cpu.compilation import inlined
from heatsim_kernels.runtime.cpu.pointers import load, store
from heatsim_kernels.runtime.fma import fma
from heatsim_kernels.stencil import physics
from heatsim_kernels.stencil.cpu.class_runs import MIXED

MU, NU, GAMMA, RATE, ZERO, NUMBERS = 0, 1, 2, 3, 4, 5  # places of the numbers of a stage, and how many there are

second_difference = inlined(physics.second_difference)
face_differences = inlined(physics.face_differences)
staged = inlined(physics.staged)
staged_of_two = inlined(physics.staged_of_two)


class NeighbourRows(NamedTuple):
    """Pointers to a row of values and the rows beside it."""

    c: int
    ym: int
    yp: int
    zm: int
    zp: int


class CpuExchange(NamedTuple):
    """Exchange: rates `rx, ry, rz` a step where they are the same everywhere, else `rates` flat (n, 6) of the kinds;
    `kinds` of the cells, and from `starts` on the `cpu_runs.Runs` of the rows. Arrays, or pointers in compiled code;
    None where there is a single kind."""

    rx: float
    ry: float
    rz: float
    rates: np.ndarray | None
    kinds: np.ndarray | None
    starts: np.ndarray | None
    ends: np.ndarray | None
    run_kinds: np.ndarray | None
    odd_starts: np.ndarray | None
    odd: np.ndarray | None
    count: int  # of kinds


class RowSources(NamedTuple):
    """Sources of a row in one step: pointers to `table` by kind, to be multiplied by `dt`, and to `field` by cell, to
    be multiplied by `gain`."""

    table: int | None
    dt: float
    field: int | None
    gain: float


class StageOperands(NamedTuple):
    """What a stage of several is made of besides the exchange (see `stages`), in a row of cells: pointers to `before`
    Y_{j-2}, `start` Y_0 and `one` Y_1, None where they are not read, and to the coefficients mu, nu, gamma and rate,
    behind which there is a zero."""

    before: int | None
    start: int | None
    one: int | None
    numbers: int | None


@inlined
def kind_of(kinds, i):
    """The kind of cell i of a row."""
    if kinds is None:
        return 0
    return np.int64(load(kinds, i))


@inlined
def _cell(i, xm, xp, kind, u, m, rates, table, field, heat, before, start, one, numbers):
    """The new value of cell i of a row, of a kind and between two others in x."""
    c = load(u.c, i)
    ym, yp, zm, zp = load(u.ym, i), load(u.yp, i), load(u.zm, i), load(u.zp, i)
    new = c
    if before is not None:
        new = load(numbers, ZERO)
    if table is not None:
        new = fma(heat.dt, load(table, kind), new)
    if field is not None:
        new = fma(heat.gain, load(field, i), new)
    if rates is None:
        new = second_difference(new, c, xm, xp, ym, yp, zm, zp, m.rx, m.ry, m.rz)
    else:
        at = 6 * kind
        rxm, rxp, rym, ryp = load(rates, at), load(rates, at + 1), load(rates, at + 2), load(rates, at + 3)
        rzm, rzp = load(rates, at + 4), load(rates, at + 5)
        new = face_differences(new, c, xm, xp, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp)
    if start is not None:
        mu, nu, gamma, rate = load(numbers, MU), load(numbers, NU), load(numbers, GAMMA), load(numbers, RATE)
        new = staged(new, c, load(before, i), load(start, i), load(one, i), mu, nu, gamma, rate)
    elif before is not None:
        new = staged_of_two(new, c, load(before, i), load(numbers, NU), load(numbers, RATE))
    return new


@inlined
def is_plain(rates, table, field, before):
    """Whether a step is one in a uniform material without sources."""
    return rates is None and table is None and field is None and before is None


@inlined
def advance_row(out, n, room, low, high, u, kinds, m, row, x, heat, stage):
    """One step of n cells of a row, or one stage; `low`, `high` are the values beyond the ends.

    `u` are the Rows of values, `kinds` those of the cells, which are the row's from the `x`-th on; the row is number
    `row`. What lies before and behind the cells `u.c` in memory is read, and must be readable, but does not enter the
    result. `out` has room for more than n cells: a row of whole vectors is faster than one with a remainder.
    """
    rates, table, field = m.rates, heat.table, heat.field  # Numba prunes branches on None for arguments alone
    before, start, one, numbers = stage.before, stage.start, stage.one, stage.numbers
    end, run = 0, _first_beyond(m.ends, m.starts, row, x)
    while end < n:
        first, end, kind = end, min(n, _entry(m.ends, run, x + n) - x), _entry(m.run_kinds, run, 0)
        run += 1
        if kind == MIXED:
            # The row's two ends are put right below; kinds have no padding.
            for i in range(max(1, first), min(n - 1, end)):
                xm, xp = load(u.c, i - 1), load(u.c, i + 1)
                store(
                    out,
                    i,
                    _cell(i, xm, xp, kind_of(kinds, i), u, m, rates, table, field, heat, before, start, one, numbers),
                )
        else:
            xm = load(u.c, first - 1)  # handed on from cell to cell: a vector is shifted where it would be loaded again
            for i in range(first, end if end < n else room):
                xp = load(u.c, i + 1)
                store(out, i, _cell(i, xm, xp, kind, u, m, rates, table, field, heat, before, start, one, numbers))
                xm = load(u.c, i)
    for number in range(_first_beyond(m.odd, m.odd_starts, row, x - 1), _entry(m.odd_starts, row + 1, 0)):
        i = _entry(m.odd, number, 0) - x
        if i >= n:
            break
        xm, xp = load(u.c, i - 1), load(u.c, i + 1)
        store(out, i, _cell(i, xm, xp, kind_of(kinds, i), u, m, rates, table, field, heat, before, start, one, numbers))
    last = n - 1
    right = load(u.c, 1) if n > 1 else high
    store(out, 0, _cell(0, low, right, kind_of(kinds, 0), u, m, rates, table, field, heat, before, start, one, numbers))
    if n > 1:
        left = load(u.c, last - 1)
        store(
            out,
            last,
            _cell(last, left, high, kind_of(kinds, last), u, m, rates, table, field, heat, before, start, one, numbers),
        )


@inlined
def _first_beyond(table, starts, row, x):
    """The first entry of a row in a table of runs that is greater than x."""
    first, end = _entry(starts, row, 0), _entry(starts, row + 1, 0)
    while first < end:
        middle = (first + end) // 2
        if _entry(table, middle, 0) > x:
            end = middle
        else:
            first = middle + 1
    return first


@inlined
def _entry(table, i, otherwise):
    """Entry i of a table of runs; there is but one run a row, of kind 0, where there is a single kind."""
    if table is None:
        return np.int64(otherwise)
    return np.int64(load(table, i))
