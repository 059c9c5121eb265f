"""CPU: stretches of a row whose cells and neighbours are all of one zone.

There a kernel needs no look-up of zones, and most stretches are like that in most geometries.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from ..cpu_jit import jit, parallel_jit
from ..cpu_threads import limited, threads_for
from .terms import MAX_ZONES, Terms

STRETCH = 16  # cells
MIXED = MAX_ZONES - 1


def zones_of_stretches(terms: Terms) -> np.ndarray | None:
    """Flat (nz * ny * ceil(nx / STRETCH)) uint8: the zone of each stretch, or MIXED where it, the cells at its ends and
    the four stretches beside it are not all of one zone; None for a problem of a single zone."""
    if terms.zones is None:
        return None
    nz, ny, nx = terms.shape
    found = np.empty((nz * ny, -(-nx // STRETCH)), np.uint8)
    with limited(threads_for(terms.zones.size)):
        _find(terms.zones.reshape(nz * ny, nx), terms.shape, terms.periodic, found)
    return found.reshape(-1)


@parallel_jit
def _find(zones, shape, wraps, found):
    nz, ny, nx = shape
    for index in prange(nz * ny):
        row = np.int64(index)  # prange counts in unsigned numbers
        z, y = row // ny, row % ny
        lower_y = row - 1 if y > 0 else (row + ny - 1 if wraps[1] else row)
        upper_y = row + 1 if y < ny - 1 else (row + 1 - ny if wraps[1] else row)
        lower_z = row - ny if z > 0 else (row + (nz - 1) * ny if wraps[2] else row)
        upper_z = row + ny if z < nz - 1 else (row - (nz - 1) * ny if wraps[2] else row)
        for stretch in range(found.shape[1]):
            first, end = stretch * STRETCH, min(nx, (stretch + 1) * STRETCH)
            zone = zones[row, first]
            one = zone != MIXED and _all(zones[row], max(0, first - 1), min(nx, end + 1), zone)
            one = one and _all(zones[lower_y], first, end, zone) and _all(zones[upper_y], first, end, zone)
            one = one and _all(zones[lower_z], first, end, zone) and _all(zones[upper_z], first, end, zone)
            found[row, stretch] = zone if one else MIXED


@jit
def _all(row, first, end, zone):
    same = True
    for x in range(first, end):
        same = same and row[x] == zone
    return same
