"""The balance of heat at a wall's surface, which half a cell parts from the cell's centre.

    (x - T) / r = e(x),   e(x) = flux + h (ambient - x) + em (surroundings^4 - x^4)       x: temperature of the surface

    r   resistance of the half cell, d/k;   em   emissivity times Stefan and Boltzmann's constant

e falls and is concave, so Newton's steps from x = max(T, surroundings) on never fall below the root again. Without
radiation e is a line and needs none of them: with s = -e'(x) the heat that enters is (e(x) - s (T - x)) / (1 + r s),
which holds for x = T. A given temperature is a coefficient so large that 1 vanishes beside r s.
"""

from heatsim_kernels.runtime.fma import fma

SURFACE_TERMS = ("coefficient", "ambient", "flux", "emissivity", "surroundings")  # h to surroundings, in this order
NEWTON_STEPS = 8  # the last ones double the digits: a cell of 1500 K with r = 1 m2 K/W that faces 3 K is right to 1e-7


def heat_entering(T, r, h, ambient, flux, em, surroundings, reference, zero, one, four):
    """Heat that enters a cell at T through its surface, W/m2, and how much less of it a warmer cell lets in, W/(m2 K).

    Temperatures are rises over `reference`, K. zero, one, four are these numbers in the precision of all others.
    """
    x, e, s = T, fma(h, ambient - T, flux), h
    if em > zero:
        if surroundings > x:
            x = surroundings
        around = surroundings + reference
        for step in range(NEWTON_STEPS + 1):
            if step > 0:
                x = x + fma(r, e, T - x) / fma(r, s, one)
            absolute = x + reference
            squares = fma(absolute, absolute, around * around)
            e = fma(em * (surroundings - x), (around + absolute) * squares, fma(h, ambient - x, flux))
            s = fma(four * em, absolute * (absolute * absolute), h)
    through = fma(r, s, one)
    return fma(s, x - T, e) / through, s / through
