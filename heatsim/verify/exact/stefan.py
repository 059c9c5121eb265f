"""Two-phase Stefan problem: a liquid solidifies from a wall that is colder than its melting point.

The front lies at X = 2 lambda sqrt(alpha_s t). Neumann's solution, C&J section 11.2 (II), for equal densities.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from heatsim.verify.exact.functions import bisect, erf, erfc


class Phase(NamedTuple):
    """conductivity W/(m K), heat capacity by volume rho c J/(m3 K)."""

    conductivity: float
    capacity: float

    @property
    def diffusivity(self) -> float:
        """m2/s."""
        return self.conductivity / self.capacity


class Solidification(NamedTuple):
    """wall, melting, start: temperatures of wall, front, and liquid at t = 0; latent: heat by volume, J/m3."""

    solid: Phase
    liquid: Phase
    wall: float
    melting: float
    start: float
    latent: float

    def front_number(self) -> float:
        """lambda."""
        solid, liquid = self.solid, self.liquid
        ratio = math.sqrt(solid.diffusivity / liquid.diffusivity)

        def deficit(number: float) -> float:
            """Heat that the front sets free less what is led away: grows with lambda."""
            away = solid.conductivity * (self.melting - self.wall) * math.exp(-(number**2))
            away /= math.erf(number) * math.sqrt(math.pi * solid.diffusivity)
            brought = liquid.conductivity * (self.start - self.melting) * math.exp(-((number * ratio) ** 2))
            brought /= math.erfc(number * ratio) * math.sqrt(math.pi * liquid.diffusivity)
            return self.latent * number * math.sqrt(solid.diffusivity) + brought - away

        return bisect(deficit, 1e-9, 4.0 / max(1.0, ratio))

    def front(self, t: float) -> float:
        """Place of the front, m."""
        return 2.0 * self.front_number() * math.sqrt(self.solid.diffusivity * t)

    def temperature(self, x: np.ndarray, t: float) -> np.ndarray:
        """Temperature at depths x (m)."""
        number = self.front_number()
        ratio = math.sqrt(self.solid.diffusivity / self.liquid.diffusivity)
        in_solid = erf(x / (2.0 * math.sqrt(self.solid.diffusivity * t))) / math.erf(number)
        in_liquid = erfc(x / (2.0 * math.sqrt(self.liquid.diffusivity * t))) / math.erfc(number * ratio)
        solid = self.wall + (self.melting - self.wall) * in_solid
        liquid = self.start - (self.start - self.melting) * in_liquid
        return np.asarray(np.where(x < self.front(t), solid, liquid))
