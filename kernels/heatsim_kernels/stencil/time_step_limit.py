"""The largest step at which the explicit scheme keeps the maximum principle."""

from __future__ import annotations

import numpy as np
from numba import prange

from heatsim_kernels.runtime.cpu.compilation import inlined, parallel_jit
from heatsim_kernels.runtime.cpu.threads import limited, threads_for
from heatsim_kernels.stencil.terms import StencilCoefficients


def stable_step(terms: StencilCoefficients, wall_a: np.ndarray) -> float:
    """Return min over cells of heat capacity / sum of face conductances, in s; infinite if no heat moves at all.

    A boundary face with the ghost value T + (a*T + b) conducts -a times its exchange rate. At this step the new value
    of a cell is a mean of old values and boundary data without a negative weight (Patankar, Numerical Heat Transfer and
    Fluid Flow, 1980, section 4.3). wall_a: (wall_size,), the least value of a that the run will see. Prescribed cells
    set no limit.
    """
    classes = np.zeros((1, 1, 1), np.uint8) if terms.kinds is None else terms.kinds
    shape, fastest_of_planes = terms.shape, np.zeros(terms.shape[0])
    with limited(threads_for(int(np.prod(shape)))):
        _put_fastest_rates(
            fastest_of_planes,
            shape,
            terms.rates,
            classes,
            terms.periodic,
            wall_a,
            terms.wall_offsets,
            terms.wall_per_cell,
        )
    fastest = float(fastest_of_planes.max())
    return 1.0 / fastest if fastest > 0 else float("inf")


@parallel_jit
def _put_fastest_rates(fastest, shape, rates, classes, periodic, wall_a, offsets, per_cell):
    """Put the largest sum of exchange rates of any cell of each plane, 1/s, into `fastest` (nz,), where it is larger.
    classes: (nz, ny, nx), or of one element for a single class."""
    nz, ny, nx = shape
    several = classes.size > 1
    for z in prange(nz):
        for y in range(ny):
            for x in range(nx):
                cell_class = np.int64(classes[z, y, x]) if several else 0
                at_x, at_y, at_z = cell_class, cell_class, cell_class
                if per_cell:
                    at_x, at_y, at_z = z * ny + y, z * nx + x, y * nx + x
                total = _along(rates[cell_class], 0, x, nx, periodic[0], wall_a, offsets, at_x)
                total += _along(rates[cell_class], 2, y, ny, periodic[1], wall_a, offsets, at_y)
                total += _along(rates[cell_class], 4, z, nz, periodic[2], wall_a, offsets, at_z)
                fastest[z] = max(fastest[z], total)


@inlined
def _along(rates, face, i, n, wraps, wall_a, offsets, at):
    """Exchange of a cell through `face` and the opposite one, on an axis on which it is the i-th of n."""
    low = -wall_a[offsets[face] + at] if i == 0 and not wraps else 1.0
    high = -wall_a[offsets[face + 1] + at] if i == n - 1 and not wraps else 1.0
    return low * rates[face] + high * rates[face + 1]
