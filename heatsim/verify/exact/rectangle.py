"""Steady temperature in a rectangle that is heated along one side.

    y = 0: T = 1;  x = 0 and x = width: X' = H X and -X' = H X as in `modes`;  y = height: -dT/dy = H_far T

    T = sum over n of c_n X_n(x) [mu cosh(mu (b - y)) + H_far sinh(mu (b - y))] / [mu cosh(mu b) + H_far sinh(mu b)]

with c_n the coefficients of 1 in the modes X_n. C&J sections 5.2 and 5.3.
"""

from __future__ import annotations

import math

import numpy as np

from heatsim.verify.exact.modes import Mode, slab_mode


def heated_side(
    x: np.ndarray,
    y: np.ndarray,
    size: tuple[float, float],
    sides: tuple[float, float],
    far: float,
    terms: int = 400,
) -> np.ndarray:
    """T at points x, y of one shape (m) in a rectangle of `size`; H of the two `sides` and of the `far` side, 1/m.

    Converges like exp(-terms pi y/width): points on the heated side itself need not be asked.
    """
    width, height = size
    total = np.zeros(np.broadcast(x, y).shape)
    for number in range(1, terms + 1):
        mode = slab_mode(width, *sides, number)
        if number > 1 and mode.wavenumber * float(np.min(y)) > 40.0:
            break
        total += _coefficient(mode, width) * mode(x) * _fall(mode.wavenumber, height, far, y)
    return total


def _coefficient(mode: Mode, width: float) -> float:
    """Integral of X over that of X^2."""
    mu, phase = mode
    if mu == 0.0:
        return 1.0
    ends = mu * width - phase, -phase
    once = (math.sin(ends[0]) - math.sin(ends[1])) / mu
    squared = 0.5 * width + (math.sin(2.0 * ends[0]) - math.sin(2.0 * ends[1])) / (4.0 * mu)
    return once / squared


def _fall(mu: float, height: float, far: float, y: np.ndarray) -> np.ndarray:
    """The factor in y, 1 at y = 0; written in decaying exponentials, as cosh overflows."""
    back = 1.0 if far == 0.0 else (mu - far) / (mu + far) if math.isfinite(far) else -1.0  # share reflected far off
    numerator = np.exp(-mu * y) + back * np.exp(-mu * (2.0 * height - y))
    return np.asarray(numerator / (1.0 + back * math.exp(-2.0 * mu * height)))
