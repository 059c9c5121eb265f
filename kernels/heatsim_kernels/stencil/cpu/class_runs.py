"""CPU: the runs that a row of cells is cut into where there are several cell classes.

    classes of a row   a a a a a a a a a a a a a a a c d b b b b b b b b b b b b b b b   two materials that meet
    stretches          |              a              | |              b              |   the class in the middle
    odd cells                                        c d

A row is cut into stretches of 16 cells, which are whole vectors. Each is computed with the rates of its middle cell, so
that the loop looks nothing up and vectorises. Then the cells of other classes, the odd cells, are computed again, one
by one. Stretches of one class in succession make one run. In a stretch with too many odd cells, a MIXED one, every cell
looks up its rates. Classes do not change, so the runs are found once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from heatsim_kernels.runtime.cpu.compilation import inlined, parallel_jit
from heatsim_kernels.runtime.cpu.threads import limited, threads_for
from heatsim_kernels.stencil.terms import StencilCoefficients

STRETCH = 16  # cells; runs end at multiples of it
MAX_ODD_CELLS = STRETCH // 2  # of a stretch that is not MIXED
MIXED = -1


class ClassRuns(NamedTuple):
    """Run r of a row ends before cell ends[r] and has the class classes[r], or MIXED, but for the cells `odd`.

    The runs of a row are those from starts[row] to starts[row + 1], its odd cells those from odd_starts[row] to
    odd_starts[row + 1].
    """

    starts: np.ndarray | None
    ends: np.ndarray | None
    classes: np.ndarray | None
    odd_starts: np.ndarray | None
    odd: np.ndarray | None


def find_class_runs(terms: StencilCoefficients) -> ClassRuns:
    """The runs of all rows, numbered z ny + y; all None where there is a single cell class."""
    if terms.kinds is None:
        return ClassRuns(None, None, None, None, None)
    rows = terms.kinds.reshape(-1, terms.shape[2])
    with limited(threads_for(rows.size)):
        starts, odd_starts = np.zeros((2, len(rows) + 1), np.int64)
        nothing = np.empty(0, np.int32)
        _find(rows, starts[1:], odd_starts[1:], nothing, nothing, nothing, False)
        starts, odd_starts = np.cumsum(starts), np.cumsum(odd_starts)
        ends, classes, odd = (np.empty(n, np.int32) for n in (starts[-1], starts[-1], odd_starts[-1]))
        _find(rows, starts, odd_starts, ends, classes, odd, True)
    return ClassRuns(starts, ends, classes, odd_starts, odd)


@parallel_jit
def _find(rows, starts, odd_starts, ends, classes, odd, fill):
    """Fill in the runs and odd cells of every row, or first only count them."""
    for index in prange(rows.shape[0]):
        row, n = rows[index], rows.shape[1]
        run, cell = (starts[index], odd_starts[index]) if fill else (0, 0)
        for first in range(0, n, STRETCH):
            end = min(n, first + STRETCH)
            cell_class = _class_of_stretch(row, first, end)
            if fill and cell_class != MIXED:
                cell = _list_odd(row, first, end, cell_class, odd, cell)
            elif cell_class != MIXED:
                cell += _odd_cells(row, first, end)
            if end == n or _class_of_stretch(row, end, min(n, end + STRETCH)) != cell_class:
                if fill:
                    ends[run], classes[run] = end, cell_class
                run += 1
        if not fill:
            starts[index], odd_starts[index] = run, cell


@inlined
def _class_of_stretch(row, first, end):
    """The class of a stretch, or MIXED."""
    return MIXED if _odd_cells(row, first, end) > MAX_ODD_CELLS else np.int64(row[(first + end) // 2])


@inlined
def _odd_cells(row, first, end):
    """How many cells of a stretch are of another class than its middle one."""
    count = 0
    for x in range(first, end):
        count += row[x] != row[(first + end) // 2]
    return count


@inlined
def _list_odd(row, first, end, cell_class, odd, cell):
    """List the odd cells of a stretch, from place `cell` on, and give the place behind them."""
    for x in range(first, end):
        if row[x] != cell_class:
            odd[cell] = x
            cell += 1
    return cell
