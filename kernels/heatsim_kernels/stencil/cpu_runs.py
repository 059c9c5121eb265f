"""CPU: the runs that a row of cells is cut into where there are several zones.

    row z, y      | a a a a a a a a a a a a | ? ? ? ? | b b b b b b b b b b b b |
    row z, y+1    | a a a a a a a a a a a a | a a b b | b b b b b b b b b b b b |     (and y-1, z-1, z+1 alike)

In a run of one zone beside runs of one zone each, all cells share their rates but the two at its ends, whose neighbours
in x may be of another zone: there a kernel looks nothing up and its loop vectorises. Elsewhere (?) the run is MIXED.
Zones do not change, so the runs are found once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from ..cpu_jit import inlined, parallel_jit
from ..cpu_threads import limited, threads_for
from .terms import MAX_ZONES, Terms

STRETCH = 16  # cells; runs end at multiples of it
MIXED = MAX_ZONES - 1
BESIDE = 5  # zones of a run: its own and those beside it in y and z


class Runs(NamedTuple):
    """Run r of a row ends before cell ends[r] and has zones[5 r : 5 r + 5]: its own and those of ym, yp, zm, zp, all
    MIXED where one is. A row's runs are those from starts[row] to starts[row + 1]."""

    starts: np.ndarray | None
    ends: np.ndarray | None
    zones: np.ndarray | None


def find_runs(terms: Terms) -> Runs:
    """The runs of all rows, numbered z ny + y; all None for a problem of a single zone."""
    if terms.zones is None:
        return Runs(None, None, None)
    nz, ny, nx = terms.shape
    shape, wraps = (nz, ny, nx), (terms.periodic[1], terms.periodic[2])
    with limited(threads_for(terms.zones.size)):
        stretches = np.empty((nz * ny, -(-nx // STRETCH)), np.uint8)
        _zones_of_stretches(terms.zones.reshape(nz * ny, nx), stretches)
        starts = np.zeros(nz * ny + 1, np.int64)
        _count_runs(stretches, shape, wraps, starts[1:])
        np.cumsum(starts, out=starts)
        ends, zones = np.empty(starts[-1], np.int32), np.empty(BESIDE * starts[-1], np.uint8)
        _fill_runs(stretches, shape, wraps, starts, ends, zones)
    return Runs(starts, ends, zones)


@parallel_jit
def _zones_of_stretches(zones, found):
    for row in prange(zones.shape[0]):
        for stretch in range(found.shape[1]):
            first, end = stretch * STRETCH, min(zones.shape[1], (stretch + 1) * STRETCH)
            zone, one = zones[row, first], True
            for x in range(first, end):
                one = one and zones[row, x] == zone
            found[row, stretch] = zone if one else MIXED


@inlined
def _rows_beside(row, shape, wraps):
    """A row and the rows beside it; the row itself beyond a wall."""
    nz, ny, _ = shape
    z, y = row // ny, row % ny
    ym = row - 1 if y > 0 else (row + ny - 1 if wraps[0] else row)
    yp = row + 1 if y < ny - 1 else (row + 1 - ny if wraps[0] else row)
    zm = row - ny if z > 0 else (row + (nz - 1) * ny if wraps[1] else row)
    zp = row + ny if z < nz - 1 else (row - (nz - 1) * ny if wraps[1] else row)
    return row, ym, yp, zm, zp


@inlined
def _beside(stretches, rows, stretch):
    """The zones of a stretch and of those beside it; all MIXED if one is."""
    c, ym, yp = stretches[rows[0], stretch], stretches[rows[1], stretch], stretches[rows[2], stretch]
    zm, zp = stretches[rows[3], stretch], stretches[rows[4], stretch]
    if c == MIXED or ym == MIXED or yp == MIXED or zm == MIXED or zp == MIXED:
        mixed = np.uint8(MIXED)
        return mixed, mixed, mixed, mixed, mixed
    return c, ym, yp, zm, zp


@parallel_jit
def _count_runs(stretches, shape, wraps, counts):
    for index in prange(stretches.shape[0]):
        rows = _rows_beside(np.int64(index), shape, wraps)  # prange counts in unsigned numbers
        count = 1
        for stretch in range(1, stretches.shape[1]):
            count += _beside(stretches, rows, stretch) != _beside(stretches, rows, stretch - 1)
        counts[index] = count


@parallel_jit
def _fill_runs(stretches, shape, wraps, starts, ends, zones):
    for index in prange(stretches.shape[0]):
        rows = _rows_beside(np.int64(index), shape, wraps)
        run, last = starts[index], stretches.shape[1] - 1
        for stretch in range(stretches.shape[1]):
            here = _beside(stretches, rows, stretch)
            if stretch == last or _beside(stretches, rows, stretch + 1) != here:
                ends[run] = min(shape[2], (stretch + 1) * STRETCH)
                for k in range(BESIDE):
                    zones[BESIDE * run + k] = here[k]
                run += 1
