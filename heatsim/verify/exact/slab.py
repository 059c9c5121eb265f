"""A slab between faces held at 0, at 0 until t = 0, then heated."""

from __future__ import annotations

import math

import numpy as np

_NUMBERS = np.arange(1, 2001)


def heated_inside(x: np.ndarray, t: float, length: float, k: float, capacity: float, density: float) -> np.ndarray:
    """A power density (W/m3) is released from t = 0 on; k in W/(m K), capacity rho c in J/(m3 K). C&J section 3.14."""
    mu = _NUMBERS[::2] * math.pi / length
    amplitude = 4.0 * density / (k * length * mu**3) * np.exp(-k / capacity * mu**2 * t)
    steady = density * x * (length - x) / (2.0 * k)
    return np.asarray(steady - np.sin(np.multiply.outer(x, mu)) @ amplitude)


def sine_at_the_end(x: np.ndarray, t: float, length: float, diffusivity: float, omega: float) -> np.ndarray:
    """The face x = length follows sin(omega t). Duhamel's theorem, C&J section 3.5; problem T3 of NAFEMS."""
    mu = _NUMBERS * math.pi / length
    rate = diffusivity * mu**2
    share = 2.0 * np.where(_NUMBERS % 2, 1.0, -1.0) / (_NUMBERS * math.pi)  # of x/length in sin(mu x)
    lag = rate * math.cos(omega * t) + omega * math.sin(omega * t) - rate * np.exp(-rate * t)
    amplitude = share * omega * lag / (rate**2 + omega**2)
    return np.asarray(x / length * math.sin(omega * t) - np.sin(np.multiply.outer(x, mu)) @ amplitude)
