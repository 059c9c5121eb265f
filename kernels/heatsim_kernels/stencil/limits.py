"""The largest step at which the explicit scheme keeps the maximum principle."""

from __future__ import annotations

import numpy as np
from numba import prange

from ..cpu_jit import jit, parallel_jit
from ..cpu_threads import limited, threads_for
from .terms import Terms


def stable_step(terms: Terms, wall_a: np.ndarray) -> float:
    """Return min over cells of heat capacity / sum of face conductances, in s; infinite if no heat moves at all.

    With T + (a*T + b) beyond it a boundary face conducts -a times its exchange rate. At this step the new value of a
    cell is a mean of old values and boundary data with no negative weight (Patankar, Numerical Heat Transfer and Fluid
    Flow, 1980, section 4.3). `wall_a`: (wall_size,), the least value of a that the run will see.
    """
    with limited(threads_for(int(np.prod(terms.shape)))):
        fastest = _fastest_rate(
            terms.shape,
            terms.exchange.reshape(3, -1),
            None if terms.zones is None else terms.zones.reshape(-1),
            terms.zone_count,
            terms.periodic,
            wall_a,
            terms.wall_offsets,
            terms.wall_per_cell,
        )
    return 1.0 / fastest if fastest > 0 else float("inf")


@parallel_jit
def _fastest_rate(shape, exchange, zones, count, periodic, wall_a, offsets, per_cell):
    """The largest sum of exchange rates over the cells, 1/s; exchange (3, 1) or (3, n*n)."""
    nz, ny, nx = shape
    fastest = np.zeros(nz)
    for z in prange(nz):
        for y in range(ny):
            for x in range(nx):
                cell = (z * ny + y) * nx + x
                total = _axis_rate(
                    cell,
                    x,
                    nx,
                    1,
                    0,
                    z * ny + y,
                    exchange,
                    zones,
                    count,
                    periodic[0],
                    wall_a,
                    offsets,
                    per_cell,
                )
                total += _axis_rate(
                    cell,
                    y,
                    ny,
                    nx,
                    1,
                    z * nx + x,
                    exchange,
                    zones,
                    count,
                    periodic[1],
                    wall_a,
                    offsets,
                    per_cell,
                )
                total += _axis_rate(
                    cell,
                    z,
                    nz,
                    ny * nx,
                    2,
                    y * nx + x,
                    exchange,
                    zones,
                    count,
                    periodic[2],
                    wall_a,
                    offsets,
                    per_cell,
                )
                fastest[z] = max(fastest[z], total)
    return fastest.max()


@jit
def _axis_rate(cell, i, n, stride, axis, position, exchange, zones, count, wraps, wall_a, offsets, per_cell):
    """Exchange of a cell through its two faces along one axis, on which it is the i-th of n."""
    own = 0
    if zones is not None:
        own = np.int64(zones[cell])
    total = 0.0
    for upper in range(2):
        at_wall = i == (n - 1 if upper else 0)
        pair = own * (count + 1)
        weight = 1.0
        if at_wall and not wraps:
            weight = -wall_a[offsets[2 * axis + upper] + (position if per_cell else own)]
        elif zones is not None:
            step = (1 - n if at_wall else 1) * (1 if upper else -1) * stride
            pair = own * count + np.int64(zones[cell + step])
        total += weight * exchange[axis, pair if exchange.shape[1] > 1 else 0]
    return total
