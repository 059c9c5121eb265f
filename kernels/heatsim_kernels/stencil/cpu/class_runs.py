"""CPU: the runs that a row of cells is cut into where there are several kinds.

    kinds of a row   a a a a a a a a a a a a a a a c d b b b b b b b b b b b b b b b     two materials that meet
    stretches        |              a              | |              b              |     the kind in the middle
    odd cells                                      c d

A row comes in stretches of 16 cells, which are whole vectors. Each is computed with the rates of its middle cell, so
that the loop looks nothing up and vectorises; then the cells of other kinds are computed again, one by one. Stretches
of one kind in succession are one run. A stretch with more odd cells than others is MIXED: every cell of it looks up
its rates. Kinds do not change, so the runs are found once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from heatsim_kernels.runtime.cpu.compilation import inlined, parallel_jit
from heatsim_kernels.runtime.cpu.threads import limited, threads_for
from heatsim_kernels.stencil.terms import StencilCoefficients

STRETCH = 16  # cells; runs end at multiples of it
MAX_ODD_CELLS = STRETCH // 2  # cells of a stretch that is not MIXED
MIXED = -1


class ClassRuns(NamedTuple):
    """Run r of a row ends before cell ends[r] and has the kind kinds[r], or MIXED, but for the cells `odd`. A row's
    runs are those from starts[row] to starts[row + 1], its odd cells those from odd_starts[row] to odd_starts[row + 1].
    """

    starts: np.ndarray | None
    ends: np.ndarray | None
    kinds: np.ndarray | None
    odd_starts: np.ndarray | None
    odd: np.ndarray | None


def find_class_runs(terms: StencilCoefficients) -> ClassRuns:
    """The runs of all rows, numbered z ny + y; all None for a problem of a single kind."""
    if terms.kinds is None:
        return ClassRuns(None, None, None, None, None)
    rows = terms.kinds.reshape(-1, terms.shape[2])
    with limited(threads_for(rows.size)):
        starts, odd_starts = np.zeros((2, len(rows) + 1), np.int64)
        nothing = np.empty(0, np.int32)
        _find(rows, starts[1:], odd_starts[1:], nothing, nothing, nothing, False)
        starts, odd_starts = np.cumsum(starts), np.cumsum(odd_starts)
        ends, kinds, odd = (np.empty(n, np.int32) for n in (starts[-1], starts[-1], odd_starts[-1]))
        _find(rows, starts, odd_starts, ends, kinds, odd, True)
    return ClassRuns(starts, ends, kinds, odd_starts, odd)


@parallel_jit
def _find(rows, starts, odd_starts, ends, kinds, odd, fill):
    """Fill in the runs and odd cells of every row, or first only count them."""
    for index in prange(rows.shape[0]):
        row, n = rows[index], rows.shape[1]
        run, cell = (starts[index], odd_starts[index]) if fill else (0, 0)
        for first in range(0, n, STRETCH):
            end = min(n, first + STRETCH)
            kind = _kind_of(row, first, end)
            if fill and kind != MIXED:
                cell = _list_odd(row, first, end, kind, odd, cell)
            elif kind != MIXED:
                cell += _odd_cells(row, first, end)
            if end == n or _kind_of(row, end, min(n, end + STRETCH)) != kind:
                if fill:
                    ends[run], kinds[run] = end, kind
                run += 1
        if not fill:
            starts[index], odd_starts[index] = run, cell


@inlined
def _kind_of(row, first, end):
    """The kind of a stretch, or MIXED."""
    return MIXED if _odd_cells(row, first, end) > MAX_ODD_CELLS else np.int64(row[(first + end) // 2])


@inlined
def _odd_cells(row, first, end):
    """How many cells of a stretch are not of the kind of its middle one."""
    count = 0
    for x in range(first, end):
        count += row[x] != row[(first + end) // 2]
    return count


@inlined
def _list_odd(row, first, end, kind, odd, cell):
    """List the cells of a stretch that are of another kind, from place `cell` on; the place behind them."""
    for x in range(first, end):
        if row[x] != kind:
            odd[cell] = x
            cell += 1
    return cell
