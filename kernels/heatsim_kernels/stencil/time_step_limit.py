"""The largest step at which the explicit scheme keeps the maximum principle."""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.runtime.cpu.compilation import inlined, parallel_jit
from heatsim_kernels.runtime.cpu.threads import limited, threads_for
from heatsim_kernels.stencil.terms import StencilCoefficients


def stable_step(terms: StencilCoefficients, wall_a: np.ndarray) -> float:
    """Return min over cells of heat capacity / sum of face conductances, in s; infinite if no heat moves at all.

    With T + (a*T + b) beyond it a boundary face conducts -a times its exchange rate. At this step the new value of a
    cell is a mean of old values and boundary data with no negative weight (Patankar, Numerical Heat Transfer and Fluid
    Flow, 1980, section 4.3). `wall_a`: (wall_size,), the least value of a that the run will see. Cells that are held
    set no limit.
    """
    kinds = np.zeros((1, 1, 1), np.uint8) if terms.kinds is None else terms.kinds
    with limited(threads_for(int(np.prod(terms.shape)))):
        fastest = _fastest_rate(
            terms.shape, terms.rates, kinds, terms.periodic, wall_a, terms.wall_offsets, terms.wall_per_cell
        )
    return 1.0 / fastest if fastest > 0 else float("inf")


@parallel_jit
def _fastest_rate(shape, rates, kinds, periodic, wall_a, offsets, per_cell):
    """The largest sum of exchange rates over the cells, 1/s; `kinds` of one cell serves all."""
    nz, ny, nx = shape
    several = kinds.size > 1
    fastest = np.zeros(nz)
    for z in prange(nz):
        for y in range(ny):
            for x in range(nx):
                kind = np.int64(kinds[z, y, x]) if several else 0
                at_x, at_y, at_z = (z * ny + y, z * nx + x, y * nx + x) if per_cell else (kind, kind, kind)
                total = _along(rates[kind], 0, x, nx, periodic[0], wall_a, offsets, at_x)
                total += _along(rates[kind], 2, y, ny, periodic[1], wall_a, offsets, at_y)
                total += _along(rates[kind], 4, z, nz, periodic[2], wall_a, offsets, at_z)
                fastest[z] = max(fastest[z], total)
    return fastest.max()


@inlined
def _along(rates, face, i, n, wraps, wall_a, offsets, at):
    """Exchange of a cell through `face` and the one opposite, on an axis where it is the i-th of n."""
    low = -wall_a[offsets[face] + at] if i == 0 and not wraps else 1.0
    high = -wall_a[offsets[face + 1] + at] if i == n - 1 and not wraps else 1.0
    return low * rates[face] + high * rates[face + 1]
