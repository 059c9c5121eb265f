"""The balance of heat at a boundary surface, which half a cell separates from the centre of the cell.

    (x - T) / r = e(x),   e(x) = flux + h (ambient - x) + em (surroundings^4 - x^4)       x: temperature of the surface

    r   resistance of the half cell, d/k;   em   emissivity times Stefan and Boltzmann's constant

e falls and is concave, so Newton's steps from x = max(T, surroundings) on never fall below the root again. Without
radiation e is a line and needs none of them: with s = -e'(x) the heat that enters is (e(x) - s (T - x)) / (1 + r s),
which holds for x = T. A given temperature is a coefficient so large that 1 vanishes beside r s.

The law is in this file alone: the names of its terms, how kernels read them, what a factor in the temperature of the
surface does to them, the balance itself, and its steepest slope, which bounds the time step.
"""

from __future__ import annotations

import numpy as np

from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.enthalpy.pieces import value_at

SURFACE_TERMS = ("coefficient", "ambient", "flux", "emissivity", "surroundings")  # h to surroundings, in this order
STEFAN_BOLTZMANN = 5.670374419e-8  # W/(m2 K4), CODATA 2018
POINTS_OF_PIECE = 9  # at which the steepest slope of a factor is looked for
INSIDE = 1e-9  # of a piece, from its ends
NEWTON_STEPS = 8  # the last ones double the digits: a cell of 1500 K with r = 1 m2 K/W that faces 3 K is right to 1e-7


def kernel_terms(values: np.ndarray) -> np.ndarray:
    """Values (k, terms, m) as kernels have them: em in place of the emissivity."""
    values = values.copy()
    values[:, SURFACE_TERMS.index("emissivity")] *= STEFAN_BOLTZMANN
    return values


def build_terms_at(inlined, read):
    """terms_at(values, at, size): the terms of a face, whose first is at `at` and the others `size` apart."""

    @inlined
    def terms_at(values, at, size):
        h, ambient, flux = read(values, at), read(values, at + size), read(values, at + 2 * size)
        return h, ambient, flux, read(values, at + 3 * size), read(values, at + 4 * size)

    return terms_at


def terms_with_factor(terms, f, slope, x, zero):
    """The terms for a surface near x if coefficient and emissivity have a factor f there, of that slope.

    Those of the coefficient are the tangent of h f(x) (ambient - x). Where a warmer surface would lose less by it, they
    are h f and the flux itself: then the next x lies between T and the ambient whatever f is.
    """
    h, ambient, flux, em, surroundings = terms
    over = x - ambient
    steeper = h * slope * over
    if steeper < zero:
        steeper = zero
    return fma(h, f, steeper), ambient, fma(steeper, over, flux), em * f, surroundings


def heat_entering(T, r, terms, reference, zero, one, four):
    """Heat that enters a cell at T through its surface, W/m2, and how much less of it a warmer cell lets in, W/(m2 K).

    Temperatures are offsets from `reference`, K. zero, one, four are these numbers in the precision of all others.
    """
    h, ambient, flux, em, surroundings = terms
    x, e, s = T, fma(h, ambient - T, flux), h
    if em > zero:
        if surroundings > x:
            x = surroundings
        around, moved = surroundings + reference, zero
        for step in range(NEWTON_STEPS + 1):
            if step > 0:
                moved = fma(r, e, T - x) / fma(r, s, one)
                x = x + moved
            absolute = x + reference
            square = absolute * absolute
            e = fma(
                em * (surroundings - x), (around + absolute) * fma(around, around, square), fma(h, ambient - x, flux)
            )
            s = fma(four * em, absolute * square, h)
            if step > 0 and fma(moved, moved, square) == square:
                break  # the next step would be about moved^2/absolute, less than rounding
    through = fma(r, s, one)
    return fma(s, x - T, e) / through, s / through


def steepest_slope(values: np.ndarray, hottest: float, reference: float) -> np.ndarray:
    """(m,) the largest coefficient of each face in the rows (k, terms, m) of `values`, radiation included, W/(m2 K).

    hottest: the highest temperature of the body, an offset from `reference`, K.
    """
    h, _, _, emissivity, surroundings = values.swapaxes(0, 1)
    absolute = np.maximum(hottest, surroundings) + reference
    return np.asarray((h + 4 * emissivity * STEFAN_BOLTZMANN * absolute**3).max(axis=0))


def steepest_slope_with_factor(
    values: np.ndarray, pieces: np.ndarray, reached: tuple[float, float], reference: float
) -> np.ndarray:
    """(m,) the same of faces with a factor f of these pieces (PIECE_NUMBERS, n), between the offsets `reached`.

    It is the largest of h f and the slopes of h f (x - ambient) and of em f (x^4 - surroundings^4), found at points of
    all pieces, x being the temperature of the surface.
    """
    h, ambient, _, emissivity, surroundings = values.swapaxes(0, 1)
    knots = np.unique(np.clip(pieces[0][np.isfinite(pieces[0])], *reached))
    ends = np.unique(np.concatenate((reached, knots)))
    shares = np.linspace(INSIDE, 1.0 - INSIDE, POINTS_OF_PIECE)  # at a knot the slope is that of the next piece
    x = (ends[:-1, None] + np.diff(ends)[:, None] * shares).reshape(-1) if len(ends) > 1 else ends
    x = np.append(x, max(reached[1], surroundings.max()))
    f, slope = value_at(pieces[None], x, 0), value_at(pieces[None], x, 0, slope=True)
    absolute = x + reference
    losing, radiating = f, 4 * f * absolute**3
    for end in (np.min, np.max):
        around = end(surroundings) + reference
        losing = np.maximum(losing, f + slope * (x - end(ambient)))
        radiating = np.maximum(radiating, 4 * f * absolute**3 + slope * (absolute**4 - around**4))
    return np.asarray((h * losing.max() + emissivity * STEFAN_BOLTZMANN * radiating.max()).max(axis=0))
