"""Bodies so small or so conductive that they have one temperature. Incropera and DeWitt, sections 5.1 to 5.3.

time constant = heat capacity/(coefficient * area).
"""

from __future__ import annotations

import math

from heatsim.verify.exact.steady import STEFAN_BOLTZMANN


def convective(t: float, time_constant: float) -> float:
    """Rise over the ambient as a share of that at t = 0."""
    return math.exp(-t / time_constant)


def radiating(t: float, start: float, emissivity: float, capacity_by_area: float) -> float:
    """Temperature (K) of a body that radiates to 0 K; capacity_by_area = rho c V/A in J/(m2 K)."""
    rate = 3.0 * emissivity * STEFAN_BOLTZMANN * start**3 / capacity_by_area
    return float(start * (1.0 + rate * t) ** (-1.0 / 3.0))
