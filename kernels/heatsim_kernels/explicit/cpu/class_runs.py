"""CPU: the runs that a row of cells is cut into where there are several cell classes.

    classes of a row   a a a a a a a a a a a a a a a c d b b b b b b b b b b b b b b b   two materials that meet
    stretches          |              a              | |              b              |   the class in the middle
    odd cells                                        c d

A row is cut into stretches of 16 cells, which are whole vectors. Each is computed with the rates of its middle cell, so
that the loop looks nothing up and vectorises. Then the cells of other classes, the odd cells, are computed again, one
by one. Stretches of one class in succession make one run. In a stretch with too many odd cells, a MIXED one, every cell
looks up its rates. Classes do not change, so the runs are found once.

Rows that are cut often are mostly alike, since parts are extruded along y or z. Rows of the same classes have one
*pattern*, for which the rates of all its cells are laid out: a loop over whole rows loads them like cells.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, cast

import numpy as np

from heatsim_kernels.device.cpu.threads import threads_for
from heatsim_kernels.explicit.coefficients import StencilCoefficients

STRETCH = 16  # cells; runs end at multiples of it
MAX_ODD_CELLS = STRETCH // 2  # of a stretch that is not MIXED
MIXED = -1
CELLS_AT_ONCE = 2**18  # of the rows whose runs are found together
CELLS_A_CUT = 16  # a row may have a pattern if of so many cells more than one is computed apart
LEAST_ROWS = 32  # that have a pattern
MAX_PATTERN_CELLS = 2**17  # whose rates, six each, stay in cache


class ClassRuns(NamedTuple):
    """Run r of a row ends before cell ends[r] and has the class classes[r], or MIXED, but for the cells `odd`.

    The runs of a row are those from starts[row] to starts[row + 1], its odd cells those from odd_starts[row] to
    odd_starts[row + 1]. of_rows: (rows,) the class of all cells of a row, or MIXED.
    """

    starts: np.ndarray | None
    ends: np.ndarray | None
    classes: np.ndarray | None
    odd_starts: np.ndarray | None
    odd: np.ndarray | None
    of_rows: np.ndarray | None


def find_class_runs(coefficients: StencilCoefficients) -> ClassRuns:
    """The runs of all rows, numbered z ny + y; all None where there is a single cell class."""
    if not coefficients.several:
        return ClassRuns(None, None, None, None, None, None)
    rows = coefficients.class_ids.reshape(-1, coefficients.shape[2])
    step = max(1, CELLS_AT_ONCE // rows.shape[1])
    with ThreadPoolExecutor(threads_for(rows.size)) as threads:
        parts = list(threads.map(lambda first: _runs_of(rows[first : first + step]), range(0, len(rows), step)))
    counts, ends, classes, odd_counts, odd = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    starts, odd_starts = _starts(counts), _starts(odd_counts)
    of_rows = np.where((counts == 1) & (odd_counts == 0), classes[starts[:-1]], np.int32(MIXED))
    return ClassRuns(starts, ends, classes, odd_starts, odd, of_rows)


def _runs_of(rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Of each of some rows how many runs it has, and of these the ends and the classes; of each how many odd cells, and
    these."""
    first = np.arange(0, rows.shape[1], STRETCH)
    end = np.append(first[1:], rows.shape[1])
    middle = rows[:, (first + end) // 2]
    odd = rows != np.repeat(middle, end - first, axis=1)
    mixed = np.add.reduceat(odd, first, axis=1, dtype=np.int32) > MAX_ODD_CELLS
    classes = np.where(mixed, np.int32(MIXED), middle.astype(np.int32))
    is_last = np.ones(classes.shape, bool)
    is_last[:, :-1] = classes[:, 1:] != classes[:, :-1]
    odd &= ~np.repeat(mixed, end - first, axis=1)
    ends = np.broadcast_to(end.astype(np.int32), classes.shape)[is_last]
    return is_last.sum(axis=1), ends, classes[is_last], odd.sum(axis=1), np.nonzero(odd)[1].astype(np.int32)


class RowPatterns(NamedTuple):
    """of_rows: (rows,) int32 which pattern each row has, or -1; classes: (patterns, nx) of the cells of each."""

    of_rows: np.ndarray
    classes: np.ndarray


def find_row_patterns(coefficients: StencilCoefficients, runs: ClassRuns) -> RowPatterns | None:
    """The patterns of the rows that are cut often, those of most rows first, up to MAX_PATTERN_CELLS cells of them all;
    none of fewer than LEAST_ROWS. None where there is a single cell class."""
    if not coefficients.several:
        return None
    rows = coefficients.class_ids.reshape(-1, coefficients.shape[2])
    chosen = np.flatnonzero(_cells_apart(runs) > rows.shape[1] // CELLS_A_CUT)
    marks = np.random.default_rng(0).integers(1, 2**63, rows.shape[1], dtype=np.uint64)
    step = max(1, CELLS_AT_ONCE // rows.shape[1])
    hashes = np.concatenate(
        [np.zeros(0, np.uint64), *(rows[chosen[k : k + step]] @ marks for k in range(0, len(chosen), step))]
    )
    _, first, of_rows, counts = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[: MAX_PATTERN_CELLS // rows.shape[1]]
    kept = kept[counts[kept] >= LEAST_ROWS]
    number = np.full(len(counts), -1, np.int32)
    number[kept] = np.arange(len(kept))
    found = RowPatterns(np.full(len(rows), -1, np.int32), rows[chosen[first[kept]]])
    found.of_rows[chosen] = number[of_rows]
    return found


def _cells_apart(runs: ClassRuns) -> np.ndarray:
    """(rows,) how many cells of each row are computed one by one."""
    starts, ends, classes, odd_starts = cast(tuple[np.ndarray, ...], runs[:4])
    begins = np.append(0, ends[:-1])
    begins[starts[:-1]] = 0
    mixed = np.where(classes == MIXED, ends - begins, 0)
    return np.asarray(np.add.reduceat(mixed, starts[:-1]) + np.diff(odd_starts))


def _starts(counts: np.ndarray) -> np.ndarray:
    """Where the entries of each row start, and where the last ones end, int64."""
    return np.append(0, np.cumsum(counts)).astype(np.int64)
