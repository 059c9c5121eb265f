"""Steady conduction: walls of layers, cylinders, spheres, fins, nonlinear laws, a rectangle, and a moving source.

Sources: Incropera, chapter 3, unless said otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from heatsim.studies.verification.exact.modes import Mode, slab_mode
from heatsim.studies.verification.exact.special_functions import bisect

STEFAN_BOLTZMANN = 5.670374419e-8  # W/(m2 K4), CODATA 2018, exact


def layered_wall_flux(layers: Sequence[tuple[float, float]], contacts: Sequence[float], difference: float) -> float:
    """Heat flux (W/m2) through layers (thickness, conductivity) with contact resistances (m2 K/W) between them."""
    return difference / (sum(thickness / k for thickness, k in layers) + sum(contacts))


def layered_wall(
    x: np.ndarray, layers: Sequence[tuple[float, float]], contacts: Sequence[float], ends: tuple[float, float]
) -> np.ndarray:
    """Temperature at places x (m) from the first face; a place on an interface counts to the layer above it."""
    heat_flux = layered_wall_flux(layers, contacts, ends[0] - ends[1])
    result = np.full(np.shape(x), ends[1])
    start, entry = 0.0, ends[0]
    for (thickness, k), contact in zip(layers, [*contacts, 0.0], strict=True):
        inside = (x >= start) & (x < start + thickness)
        result = np.where(inside, entry - heat_flux * (x - start) / k, result)
        start += thickness
        entry -= heat_flux * (thickness / k + contact)
    return result


def concentric_cylinders(r: np.ndarray, radii: tuple[float, float], ends: tuple[float, float]) -> np.ndarray:
    """Temperature between concentric cylinders."""
    return np.asarray(ends[0] + (ends[1] - ends[0]) * np.log(r / radii[0]) / math.log(radii[1] / radii[0]))


def concentric_cylinders_heat(length: float, k: float, radii: tuple[float, float], difference: float) -> float:
    """Heat from the inner to the outer cylinder, W."""
    return 2.0 * math.pi * k * length * difference / math.log(radii[1] / radii[0])


def concentric_spheres(r: np.ndarray, radii: tuple[float, float], ends: tuple[float, float]) -> np.ndarray:
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


def rectangle_heated_side(
    x: np.ndarray,
    y: np.ndarray,
    size: tuple[float, float],
    sides: tuple[float, float],
    far: float,
    terms: int = 400,
) -> np.ndarray:
    """T at points x, y of one shape (m) in a rectangle of `size` (a, b) that is held at T = 1 along y = 0.

    At x = 0 and x = a, X' = H X and -X' = H X as in `modes`, with H of the two `sides`; at y = b, -dT/dy = H_far T,
    with H_far = `far`; all in 1/m. C&J sections 5.2 and 5.3:

        T = sum over n of c_n X_n(x) [mu cosh(mu (b - y)) + H_far sinh(mu (b - y))] / [mu cosh(mu b) + H_far sinh(mu b)]

    with c_n the coefficients of 1 in the modes X_n. The sum converges like
    exp(-terms pi y/a): points on the heated side itself need not be asked.
    """
    width, height = size
    total = np.zeros(np.broadcast(x, y).shape)
    for number in range(1, terms + 1):
        mode = slab_mode(width, *sides, number)
        if number > 1 and mode.wavenumber * float(np.min(y)) > 40.0:
            break
        total += _mode_coefficient(mode, width) * mode(x) * _decay_into_rectangle(mode.wavenumber, height, far, y)
    return total


def _mode_coefficient(mode: Mode, width: float) -> float:
    """Integral of X over that of X^2."""
    mu, phase = mode
    if mu == 0.0:
        return 1.0
    ends = mu * width - phase, -phase
    once = (math.sin(ends[0]) - math.sin(ends[1])) / mu
    squared = 0.5 * width + (math.sin(2.0 * ends[0]) - math.sin(2.0 * ends[1])) / (4.0 * mu)
    return once / squared


def _decay_into_rectangle(mu: float, height: float, far: float, y: np.ndarray) -> np.ndarray:
    """The factor in y, 1 at y = 0; written in decaying exponentials, as cosh overflows."""
    back = 1.0 if far == 0.0 else (mu - far) / (mu + far) if math.isfinite(far) else -1.0  # share reflected far off
    numerator = np.exp(-mu * y) + back * np.exp(-mu * (2.0 * height - y))
    return np.asarray(numerator / (1.0 + back * math.exp(-2.0 * mu * height)))


def rosenthal(
    ahead: np.ndarray, aside: np.ndarray, power: float, speed: float, conductivity: float, diffusivity: float
) -> np.ndarray:
    """Rise (K) in the surface of a half-space over which a point source moves at constant speed: a steady state.

    At `ahead` m before the source (negative: behind) and `aside` m from its line; `power` in W is absorbed.
    D. Rosenthal, The theory of moving sources of heat, Trans. ASME 68 (1946) 849-866; C&J section 10.7.
    """
    distance = np.hypot(ahead, aside)
    fall = np.exp(-speed * (ahead + distance) / (2.0 * diffusivity))
    return np.asarray(power / (2.0 * np.pi * conductivity * distance) * fall)
