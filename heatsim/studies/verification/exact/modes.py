"""Modes of a slab: what decays in it without a change of shape.

    X(x) = cos(mu x - phi),  T = X(x) exp(-alpha mu^2 t)

Its faces x = 0 and x = length lose heat in proportion to their temperature: X' = H X at 0 and -X' = H X at the other
end, with H = coefficient/conductivity in 1/m; H = 0 is an insulated face, H = infinity one that is held at 0. The
phases that both faces ask for make the eigenvalue equation

    mu L = arctan(H_low/mu) + arctan(H_high/mu) + (n - 1) pi,   n = 1, 2, ...

whose left side less the right grows with mu. In a box of several dimensions modes multiply and rates add. C&J sections
3.9 to 3.11 and 5.6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from heatsim.studies.verification.exact.special_functions import bisect

FIXED, INSULATED = math.inf, 0.0


class Mode(NamedTuple):
    """wavenumber mu in 1/m, phase phi."""

    wavenumber: float
    phase: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """X(x)."""
        return np.cos(self.wavenumber * x - self.phase)


def slab_mode(length: float, low: float, high: float, number: int = 1) -> Mode:
    """Mode `number` (from 1) of a slab whose faces have H = `low` and `high`, 1/m."""
    if low == high == INSULATED and number == 1:
        return Mode(0.0, 0.0)

    def excess(mu: float) -> float:
        return mu * length - math.atan2(low, mu) - math.atan2(high, mu) - (number - 1) * math.pi

    mu = bisect(excess, 1e-12 / length, (number + 1) * math.pi / length)
    return Mode(mu, math.atan2(low, mu))


def decay(diffusivity: float, mode: Mode, t: float) -> float:
    """What is left of a mode after a time, 1: exp(-alpha mu^2 t)."""
    return math.exp(-diffusivity * mode.wavenumber**2 * t)
