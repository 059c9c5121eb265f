"""Steady conduction along one coordinate: walls of layers, cylinders, spheres, fins, and nonlinear laws.

F. P. Incropera and D. P. DeWitt, Fundamentals of Heat and Mass Transfer, chapter 3, unless said otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from heatsim.verify.exact.functions import bisect

STEFAN_BOLTZMANN = 5.670374419e-8  # W/(m2 K4), CODATA 2018, exact


def wall_flux(layers: Sequence[tuple[float, float]], contacts: Sequence[float], difference: float) -> float:
    """Heat flux (W/m2) through layers (thickness, conductivity) with contact resistances (m2 K/W) between them."""
    return difference / (sum(thickness / k for thickness, k in layers) + sum(contacts))


def wall(
    x: np.ndarray, layers: Sequence[tuple[float, float]], contacts: Sequence[float], ends: tuple[float, float]
) -> np.ndarray:
    """Temperature at places x (m) from the first face; a place on an interface counts to the layer above it."""
    heat_flux = wall_flux(layers, contacts, ends[0] - ends[1])
    result = np.full(np.shape(x), ends[1])
    start, entry = 0.0, ends[0]
    for (thickness, k), contact in zip(layers, [*contacts, 0.0], strict=True):
        inside = (x >= start) & (x < start + thickness)
        result = np.where(inside, entry - heat_flux * (x - start) / k, result)
        start += thickness
        entry -= heat_flux * (thickness / k + contact)
    return result


def cylinders(r: np.ndarray, radii: tuple[float, float], ends: tuple[float, float]) -> np.ndarray:
    """Temperature between concentric cylinders."""
    return np.asarray(ends[0] + (ends[1] - ends[0]) * np.log(r / radii[0]) / math.log(radii[1] / radii[0]))


def cylinders_heat(length: float, k: float, radii: tuple[float, float], difference: float) -> float:
    """Heat from the inner to the outer cylinder, W."""
    return 2.0 * math.pi * k * length * difference / math.log(radii[1] / radii[0])


def spheres(r: np.ndarray, radii: tuple[float, float], ends: tuple[float, float]) -> np.ndarray:
    """Temperature between concentric spheres."""
    share = (1.0 / radii[0] - 1.0 / r) / (1.0 / radii[0] - 1.0 / radii[1])
    return np.asarray(ends[0] + (ends[1] - ends[0]) * share)


def heated_cylinder(r: np.ndarray, radius: float, k: float, density: float, coefficient: float) -> np.ndarray:
    """Rise over the ambient in a cylinder with a power density (W/m3), cooled by convection."""
    return np.asarray(density * (radius**2 - r**2) / (4.0 * k) + density * radius / (2.0 * coefficient))


def fin(x: np.ndarray, length: float, parameter: float) -> np.ndarray:
    """Rise along a fin with an insulated tip over that of its foot; parameter m = sqrt(h P/(k A)), 1/m."""
    return np.asarray(np.cosh(parameter * (length - x)) / math.cosh(parameter * length))


def heated_wall_of_varying_conductivity(
    x: np.ndarray, length: float, k0: float, slope: float, density: float
) -> np.ndarray:
    """k = k0 (1 + slope T), a power density (W/m3), insulated at x = 0, T = 0 at x = length.

    Kirchhoff's transformation T + slope T^2/2 = density (length^2 - x^2)/(2 k0), C&J section 1.6.
    """
    transformed = density * (length**2 - x**2) / (2.0 * k0)
    return np.asarray((np.sqrt(1.0 + 2.0 * slope * transformed) - 1.0) / slope)


def radiating_end(length: float, k: float, emissivity: float, hot: float, ambient: float) -> float:
    """Temperature (K) of the end of a bar that radiates, the other end being held at `hot`. Problem T2 of NAFEMS."""

    def excess(end: float) -> float:
        return emissivity * STEFAN_BOLTZMANN * (end**4 - ambient**4) - k * (hot - end) / length

    return bisect(excess, min(hot, ambient), max(hot, ambient))
