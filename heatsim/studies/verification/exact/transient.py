"""Transients: the semi-infinite solid, a heated slab, a spreading Gaussian, solidification, and small bodies.

The semi-infinite solid fills x > 0. It and the slab are at temperature 0 until t = 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from heatsim.studies.verification.exact.special_functions import bisect, erf, erfc
from heatsim.studies.verification.exact.steady import STEFAN_BOLTZMANN


def half_space_fixed_surface(x: np.ndarray, t: float, diffusivity: float) -> np.ndarray:
    """Semi-infinite solid whose surface is held at 1 from t = 0 on. C&J section 2.4."""
    return erfc(x / (2.0 * math.sqrt(diffusivity * t)))


def half_space_flux(x: np.ndarray, t: float, diffusivity: float, conductivity: float, heat_flux: float) -> np.ndarray:
    """Semi-infinite solid into which a heat flux (W/m2) enters from t = 0 on. C&J section 2.9."""
    depth = 2.0 * math.sqrt(diffusivity * t)
    spread = depth / math.sqrt(math.pi) * np.exp(-((x / depth) ** 2)) - x * erfc(x / depth)
    return np.asarray(heat_flux / conductivity * spread)


def half_space_convection(x: np.ndarray, t: float, diffusivity: float, ratio: float) -> np.ndarray:
    """Semi-infinite solid whose surface exchanges heat with an ambient at 1. C&J section 2.7.

    `ratio` is coefficient/conductivity, 1/m.

    For ratio^2 diffusivity t up to some hundreds, beyond which the exponential overflows.
    """
    depth = 2.0 * math.sqrt(diffusivity * t)
    rise = ratio * math.sqrt(diffusivity * t)
    return np.asarray(erfc(x / depth) - np.exp(ratio * x + rise**2) * erfc(x / depth + rise))


_NUMBERS = np.arange(1, 2001)  # of the modes that are summed


def heated_slab(x: np.ndarray, t: float, length: float, k: float, capacity: float, density: float) -> np.ndarray:
    """Slab between faces held at 0, in which a power density (W/m3) is released from t = 0 on. C&J section 3.14.

    k in W/(m K), capacity rho c in J/(m3 K).
    """
    mu = _NUMBERS[::2] * math.pi / length
    amplitude = 4.0 * density / (k * length * mu**3) * np.exp(-k / capacity * mu**2 * t)
    steady = density * x * (length - x) / (2.0 * k)
    return np.asarray(steady - np.sin(np.multiply.outer(x, mu)) @ amplitude)


def slab_sinusoidal_face(x: np.ndarray, t: float, length: float, diffusivity: float, omega: float) -> np.ndarray:
    """Slab whose face x = 0 is held at 0 while x = length follows sin(omega t): problem T3 of NAFEMS.

    Duhamel's theorem, C&J section 3.5.
    """
    mu = _NUMBERS * math.pi / length
    rate = diffusivity * mu**2
    share = 2.0 * np.where(_NUMBERS % 2, 1.0, -1.0) / (_NUMBERS * math.pi)  # of x/length in sin(mu x)
    lag = rate * math.cos(omega * t) + omega * math.sin(omega * t) - rate * np.exp(-rate * t)
    amplitude = share * omega * lag / (rate**2 + omega**2)
    return np.asarray(x / length * math.sin(omega * t) - np.sin(np.multiply.outer(x, mu)) @ amplitude)


def spreading_gaussian(x: np.ndarray, t: float, width: float, diffusivity: float) -> np.ndarray:
    """One axis of a Gaussian in free space that is exp(-x^2/(2 width^2)) at t = 0; the factors of the axes multiply.

    The instantaneous point source of C&J section 10.3, started at a later time.
    """
    squared = width**2 + 2.0 * diffusivity * t
    return np.asarray(width / np.sqrt(squared) * np.exp(-(x**2) / (2.0 * squared)))


class MaterialPhase(NamedTuple):
    """conductivity W/(m K), heat capacity by volume rho c J/(m3 K)."""

    conductivity: float
    capacity: float

    @property
    def diffusivity(self) -> float:
        """m2/s."""
        return self.conductivity / self.capacity


class Solidification(NamedTuple):
    """Two-phase Stefan problem: a liquid solidifies from a wall that is colder than its melting point.

    The front lies at X = 2 lambda sqrt(alpha_s t). Neumann's solution, C&J section 11.2 (II), for equal densities.

    wall, melting, start: temperatures of wall, front, and liquid at t = 0; latent: heat by volume, J/m3.
    """

    solid: MaterialPhase
    liquid: MaterialPhase
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


def lumped_convection(t: float, time_constant: float) -> float:
    """Rise over the ambient, in that at t = 0, of a body small or conductive enough to have one temperature.

    time_constant = heat capacity/(coefficient * area), s. Incropera sections 5.1 and 5.2.
    """
    return math.exp(-t / time_constant)


def lumped_radiation(t: float, start: float, emissivity: float, capacity_by_area: float) -> float:
    """Temperature (K) of such a body that radiates to 0 K; capacity_by_area = rho c V/A in J/(m2 K).

    Incropera section 5.3.
    """
    rate = 3.0 * emissivity * STEFAN_BOLTZMANN * start**3 / capacity_by_area
    return float(start * (1.0 + rate * t) ** (-1.0 / 3.0))
