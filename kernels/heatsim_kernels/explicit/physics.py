"""What one explicit step does to one cell, given the cell and its six neighbours.

These functions are the physics. A kernel fetches the neighbours and calls them; they compile unchanged for the CPU and
for CUDA. All rates are numbers a step (conductance times time step over heat capacity), in the precision of the field.
Every multiply-add is written out, so that all kernels give equal bits.

Differences, not weights: `c + r*(xm + xp - 2c)` leaves a constant field constant to the bit. The weights of
`(1 - 2r)*c + r*(xm + xp)` do not sum to one in floating point, and the field drifts.
"""

from heatsim_kernels.device.fma import fma


def second_difference(start, c, xm, xp, ym, yp, zm, zp, rx, ry, rz):
    """Explicit step in a uniform material: start + rx*d2x + ry*d2y + rz*d2z.

    `start` is the cell itself plus its sources; 7-point central differences, second order in space. `c + c` is exact,
    so `(xm + xp) - (c + c)` rounds as `fma(-2, c, xm + xp)` would. The z difference takes the lower neighbour first,
    because kernels that march in z know it first.
    """
    c2 = c + c
    dx = (xm + xp) - c2
    dy = (ym + yp) - c2
    dz = (zm - c2) + zp
    return fma(rz, dz, fma(ry, dy, fma(rx, dx, start)))


def axis_differences(start, c, xm, xp, ym, yp, zm, zp, rx, ry, rz):
    """As `second_difference`, each difference to a neighbour taken first: what kernels of temperature-dependent
    problems have of a boundary face is such a difference. The lower neighbour in z comes first and the upper one last:
    a kernel that marches in z keeps the first sum of a cell, in place of both `start` and zm - c."""
    start = fma(rz, zm - c, start)
    return fma(rz, zp - c, fma(ry, (ym - c) + (yp - c), fma(rx, (xm - c) + (xp - c), start)))


def face_differences(start, c, xm, xp, ym, yp, zm, zp, rxm, rxp, rym, ryp, rzm, rzp):
    """Explicit step where every face has a rate of its own (several materials): start + sum of r*(neighbour - c)."""
    start = fma(rxp, xp - c, fma(rxm, xm - c, start))
    start = fma(ryp, yp - c, fma(rym, ym - c, start))
    return fma(rzp, zp - c, fma(rzm, zm - c, start))


def layer_differences(start, c, xm, xp, ym, yp, zm, zp, rx, ry, rzm, rzp):
    """Explicit step where both faces of a cell in x have one rate, and both in y, as in layers along z: second
    differences in x and y, as `second_difference` takes them, and in z those of `face_differences`."""
    c2 = c + c
    start = fma(ry, (ym + yp) - c2, fma(rx, (xm + xp) - c2, start))
    return fma(rzp, zp - c, fma(rzm, zm - c, start))


def staged(change, c, before, start, one, mu, nu, gamma, rate):
    """A Runge-Kutta stage in the form of RKL2, of four fields; `change` is dt L(c). See `rk_stages`."""
    return fma(rate, change, fma(gamma, one - start, fma(nu, before - start, fma(mu, c - start, start))))


def staged_of_two(change, c, before, nu, rate):
    """A two-term stage: `staged` with mu + nu = 1 and gamma = 0."""
    return fma(rate, change, fma(-nu, c - before, c))


def ghost(c, a, b):
    """The ghost value beyond a boundary face: c + (a*c + b), an affine map of the cell beside it.

    `a` is -2 at a fixed temperature, 0 at a given flux, and -U h/k at convection. U h/k may be as small as 1e-6, of
    which 1 - U h/k would keep two digits in float32; therefore c is added last.
    """
    return c + fma(a, c, b)
