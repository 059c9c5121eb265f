"""Exact solutions of heat conduction, as functions of plain numbers and arrays in SI units.

C&J is H. S. Carslaw and J. C. Jaeger, Conduction of Heat in Solids, 2nd edition, Oxford 1959. Incropera is F. P.
Incropera and D. P. DeWitt, Fundamentals of Heat and Mass Transfer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

STEFAN_BOLTZMANN = 5.670374419e-8  # W/(m2 K4), CODATA 2018, exact


# --- functions and roots that NumPy lacks


def erf(u: ArrayLike) -> np.ndarray:
    """Error function of an array."""
    values = np.asarray(u, dtype=np.float64)
    return np.fromiter(map(math.erf, values.ravel()), np.float64, values.size).reshape(values.shape)


def erfc(u: ArrayLike) -> np.ndarray:
    """Complementary error function of an array, accurate where it is small."""
    values = np.asarray(u, dtype=np.float64)
    return np.fromiter(map(math.erfc, values.ravel()), np.float64, values.size).reshape(values.shape)


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of an increasing function between two ends, to the last bits. Raises ValueError if none is there."""
    if not function(low) <= 0.0 <= function(high):
        raise ValueError(f"no root of an increasing function between {low:g} and {high:g}")
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if function(middle) < 0.0 else (low, middle)
    return 0.5 * (low + high)


# --- modes of a slab: what decays in it without a change of shape
#
#     X(x) = cos(mu x - phi),  T = X(x) exp(-alpha mu^2 t)
#
# Its faces x = 0 and x = length lose heat in proportion to their temperature: X' = H X at 0 and -X' = H X at the other
# end, with H = coefficient/conductivity in 1/m; H = 0 is an insulated face, H = infinity one that is held at 0. The
# phases that both faces ask for make the eigenvalue equation
#
#     mu L = arctan(H_low/mu) + arctan(H_high/mu) + (n - 1) pi,   n = 1, 2, ...
#
# whose left side less the right grows with mu. In a box of several dimensions modes multiply and rates add. C&J
# sections 3.9 to 3.11 and 5.6.

FIXED, INSULATED = math.inf, 0.0


class Mode(NamedTuple):
    """wavenumber mu in 1/m, phase phi."""

    wavenumber: float
    phase: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The mode at places x: X(x)."""
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
    """The share of a mode that is left after a time: exp(-alpha mu^2 t)."""
    return math.exp(-diffusivity * mode.wavenumber**2 * t)


# --- steady states: Incropera, chapter 3, unless said otherwise


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

    At x = 0 and x = a, X' = H X and -X' = H X as in `slab_mode`, with H of the two `sides`; at y = b, -dT/dy = H_far T,
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


# --- transients; the semi-infinite solid fills x > 0: it and the slab are at temperature 0 until t = 0


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
