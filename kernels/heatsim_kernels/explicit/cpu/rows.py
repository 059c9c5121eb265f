"""CPU: one explicit step or one stage of one row of cells, vectorised.

The neighbours of the row come as pointers, wherever they lie: in the field, around a period, in a ring of planes, or in
scratch with ghost values. The row loop does not know.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.device.cpu.compilation import inlined
from heatsim_kernels.device.cpu.pointers import load, shifted, store
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit import physics
from heatsim_kernels.explicit.cpu.class_runs import MIXED

MU, NU, GAMMA, RATE, ZERO, NUMBERS = 0, 1, 2, 3, 4, 5  # places of the numbers of a stage, and how many there are

second_difference = inlined(physics.second_difference)
face_differences = inlined(physics.face_differences)
layer_differences = inlined(physics.layer_differences)
axis_differences = inlined(physics.axis_differences)
staged = inlined(physics.staged)
staged_of_two = inlined(physics.staged_of_two)


class NeighbourRows(NamedTuple):
    """Pointers to a row of values and to the rows beside it."""

    c: int
    ym: int
    yp: int
    zm: int
    zp: int


class CpuExchange(NamedTuple):
    """Exchange rates a step: rx, ry, rz where they are the same everywhere, else `rates`, (n, 6) flat, of the cell
    classes; paired: see `StencilCoefficients`. classes: the class of each cell; from `starts` on, the `ClassRuns` of
    the rows, None where there is a single class. losses: (n,) the share of its value that a cell of each class loses in
    a step; heat_of_losses: (n,) the heat of that, J/K; None where there are none, or where no pass need enter it.
    patterns: of each row which `RowPatterns` it has, or -1; columns: of each pattern (6, width) rates of its cells,
    flat; None where there is a single class. Arrays, or pointers in compiled code."""

    rx: float
    ry: float
    rz: float
    rates: np.ndarray | None
    paired: bool
    classes: np.ndarray | None
    starts: np.ndarray | None
    ends: np.ndarray | None
    run_classes: np.ndarray | None
    odd_starts: np.ndarray | None
    odd: np.ndarray | None
    of_rows: np.ndarray | None
    class_count: int
    losses: np.ndarray | None
    heat_of_losses: np.ndarray | None
    patterns: np.ndarray | None
    columns: np.ndarray | None
    width: int


class RowSources(NamedTuple):
    """Sources of a row in one step: pointers to `table` by cell class, to be multiplied by `dt`, and to `field` by
    cell, to be multiplied by `gain`."""

    table: int | None
    dt: float
    field: int | None
    gain: float


class RowOperands(NamedTuple):
    """What a Runge-Kutta stage is made of besides the exchange (see `rk_stages`), in a row of cells: pointers to
    `before`, Y_{j-2}, `start`, Y_0, and `one`, Y_1, None where they are not read; and to the coefficients mu, nu, gamma
    and rate, followed by a zero, from which a new value starts in the precision of the field."""

    before: int | None
    start: int | None
    one: int | None
    numbers: int | None


@inlined
def class_of(classes, i):
    """The class of cell i of a row."""
    if classes is None:
        return 0
    return np.int64(load(classes, i))


@inlined
def _new_value(
    i, xm, xp, cell_class, u, base, exchange, rates, columns, losses, table, field, sources, before, start, one, numbers
):
    """The new value of cell i of a row, of a cell class, with xm and xp beside it; see `advance_row`. columns: pointer
    to the rates of the cells of the row, see `CpuExchange`, or None."""
    c = load(u.c, i)
    ym, yp, zm, zp = load(u.ym, i), load(u.yp, i), load(u.zm, i), load(u.zp, i)
    own = c
    if base is not None:
        own = load(base, i)
    new = begin_cell(i, own, cell_class, table, field, sources, before, numbers)
    if losses is not None:
        new = fma(-load(losses, cell_class), c, new)
    if rates is None:
        if base is None:
            new = second_difference(new, c, xm, xp, ym, yp, zm, zp, exchange.rx, exchange.ry, exchange.rz)
        else:
            new = axis_differences(new, c, xm, xp, ym, yp, zm, zp, exchange.rx, exchange.ry, exchange.rz)
    else:
        table_of_rates, at, step = rates, 6 * cell_class, 1
        if columns is not None:
            table_of_rates, at, step = columns, i, exchange.width
        rxm, rxp = load(table_of_rates, at), load(table_of_rates, at + step)
        rym, ryp = load(table_of_rates, at + 2 * step), load(table_of_rates, at + 3 * step)
        rzm, rzp = load(table_of_rates, at + 4 * step), load(table_of_rates, at + 5 * step)
        if exchange.paired:
            new = layer_differences(new, c, xm, xp, ym, yp, zm, zp, rxm, rym, rzm, rzp)
        else:
            new = face_differences(new, c, xm, xp, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp)
    return finish_cell(i, new, own, before, start, one, numbers)


@inlined
def begin_cell(i, own, cell_class, table, field, sources, before, numbers):
    """What the new value of cell i of a row starts from: its value `own`, or 0 for a stage, and its sources."""
    new = own
    if before is not None:
        new = load(numbers, ZERO)
    if table is not None:
        new = fma(sources.dt, load(table, cell_class), new)
    if field is not None:
        new = fma(sources.gain, load(field, i), new)
    return new


@inlined
def finish_cell(i, new, own, before, start, one, numbers):
    """The new value of cell i of a row: `new` itself, or the stage of which that is the change; own: its value."""
    if start is not None:
        mu, nu, gamma, rate = load(numbers, MU), load(numbers, NU), load(numbers, GAMMA), load(numbers, RATE)
        new = staged(new, own, load(before, i), load(start, i), load(one, i), mu, nu, gamma, rate)
    elif before is not None:
        new = staged_of_two(new, own, load(before, i), load(numbers, NU), load(numbers, RATE))
    return new


@inlined
def fits_vectors(field, before, of_two):
    """Whether this is an explicit step, or a two-term stage, without sources but those by class."""
    return field is None and (before is None or of_two)


@inlined
def class_of_row(exchange, row, x, n):
    """The class of all n cells of a row from column x on, or MIXED."""
    of_row = table_entry(exchange.of_rows, row, 0)
    if of_row != MIXED:
        return of_row
    end, cell_class = run_at(exchange, first_beyond(exchange.ends, exchange.starts, row, x), n, x)
    odd, last = odd_cells(exchange, row, x)
    if odd < last and table_entry(exchange.odd, odd, 0) < x + n:
        return np.int64(MIXED)
    return cell_class if end == n else np.int64(MIXED)


@inlined
def advance_row(out, n, room, low, high, u, base, classes, exchange, row, x, sources, stage):
    """Take one step or one stage of n cells of a row.

    low, high: values beyond the two ends. u: `NeighbourRows`. base: pointer to the cells themselves, where u are
    potentials whose differences drive heat; None where they are the cells. classes: pointer to the classes of the
    cells. row, x: the row's number and the column of its first cell, for its runs. What lies before and behind the
    cells u.c in memory is read and must be readable, but does not enter the result. room: how many cells `out` has room
    for. What is written behind the n cells means nothing: a loop over whole vectors is faster than one with a
    remainder.
    """
    # Numba prunes branches on None for arguments alone, so what may be None becomes an argument of `_new_value`.
    operands = stage.before, stage.start, stage.one, stage.numbers
    others = exchange.losses, sources.table, sources.field, sources, *operands
    given = u, base, exchange, exchange.rates, None, *others
    if not advance_cells(exchange.patterns, out, n, row, x, classes, u, base, exchange, others):
        end, run = 0, first_beyond(exchange.ends, exchange.starts, row, x)
        while end < n:
            first, (end, cell_class), run = end, run_at(exchange, run, n, x), run + 1
            if cell_class == MIXED:
                # The two ends of the row are computed below. The array of classes has no padding to read beyond.
                for i in range(max(1, first), min(n - 1, end)):
                    store(out, i, _new_value(i, load(u.c, i - 1), load(u.c, i + 1), class_of(classes, i), *given))
            else:
                # xm is handed on from cell to cell: so LLVM shifts a vector that it would otherwise load again.
                xm = load(u.c, first - 1)
                for i in range(first, end if end < n else room):
                    store(out, i, _new_value(i, xm, load(u.c, i + 1), cell_class, *given))
                    xm = load(u.c, i)
        redo_odd_cells(out, n, classes, row, x, given)
    last = n - 1
    right = load(u.c, 1) if n > 1 else high
    store(out, 0, _new_value(0, low, right, class_of(classes, 0), *given))
    if n > 1:
        store(out, last, _new_value(last, load(u.c, last - 1), high, class_of(classes, last), *given))


@inlined
def advance_cells(patterns, out, n, row, x, classes, u, base, exchange, others):
    """Take one step or stage of the n cells of a row by rates of each, if the row has a pattern; what lies beyond its
    ends is what is in memory. others: what `_new_value` takes besides. Returns whether it was done."""
    if patterns is None:
        return False
    pattern = np.int64(load(patterns, row))
    if pattern < 0:
        return False
    columns = shifted(exchange.columns, pattern * 6 * exchange.width + x)
    given = u, base, exchange, exchange.rates, columns, *others
    xm = load(u.c, -1)
    for i in range(n):
        store(out, i, _new_value(i, xm, load(u.c, i + 1), class_of(classes, i), *given))
        xm = load(u.c, i)
    return True


@inlined
def new_value(i, xm, xp, cell_class, given):
    """The new value of cell i of a row, of a cell class, with xm and xp beside it; given: what `_new_value` takes."""
    return _new_value(i, xm, xp, cell_class, *given)


@inlined
def redo_odd_cells(out, n, classes, row, x, given):
    """Compute the cells of a row again that are not of the class of their run."""
    u, exchange = given[0], given[2]
    for number in range(*odd_cells(exchange, row, x)):
        i = table_entry(exchange.odd, number, 0) - x
        if i >= n:
            break
        store(out, i, _new_value(i, load(u.c, i - 1), load(u.c, i + 1), class_of(classes, i), *given))


@inlined
def odd_cells(exchange, row, x):
    """The places of the odd cells of a row from column x on: the first, and the one behind the last."""
    return first_beyond(exchange.odd, exchange.odd_starts, row, x - 1), table_entry(exchange.odd_starts, row + 1, 0)


@inlined
def run_at(exchange, run, n, x):
    """Where a run of cells ends, in the n cells of a row from column x on, and the cell class that it has."""
    return min(n, table_entry(exchange.ends, run, x + n) - x), table_entry(exchange.run_classes, run, 0)


@inlined
def first_beyond(table, starts, row, x):
    """Place of the first entry of a row that is greater than x, in a table of runs, by bisection."""
    first, end = table_entry(starts, row, 0), table_entry(starts, row + 1, 0)
    while first < end:
        middle = (first + end) // 2
        if table_entry(table, middle, 0) > x:
            end = middle
        else:
            first = middle + 1
    return first


@inlined
def table_entry(table, i, otherwise):
    """Entry i of a table of runs. Without a table, for a single cell class, `otherwise`: each row is one run of class
    0."""
    if table is None:
        return np.int64(otherwise)
    return np.int64(load(table, i))
