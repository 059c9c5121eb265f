"""The semi-infinite solid x > 0, at 0 until t = 0."""

from __future__ import annotations

import math

import numpy as np

from heatsim.verify.exact.functions import erfc


def step(x: np.ndarray, t: float, diffusivity: float) -> np.ndarray:
    """The surface is held at 1 from t = 0 on. C&J section 2.4."""
    return erfc(x / (2.0 * math.sqrt(diffusivity * t)))


def flux(x: np.ndarray, t: float, diffusivity: float, conductivity: float, heat_flux: float) -> np.ndarray:
    """A heat flux (W/m2) enters from t = 0 on. C&J section 2.9."""
    depth = 2.0 * math.sqrt(diffusivity * t)
    spread = depth / math.sqrt(math.pi) * np.exp(-((x / depth) ** 2)) - x * erfc(x / depth)
    return np.asarray(heat_flux / conductivity * spread)


def convection(x: np.ndarray, t: float, diffusivity: float, ratio: float) -> np.ndarray:
    """The surface exchanges heat with an ambient at 1; `ratio` is coefficient/conductivity, 1/m. C&J section 2.7.

    For ratio^2 diffusivity t up to some hundreds, beyond which the exponential overflows.
    """
    depth = 2.0 * math.sqrt(diffusivity * t)
    rise = ratio * math.sqrt(diffusivity * t)
    return np.asarray(erfc(x / depth) - np.exp(ratio * x + rise**2) * erfc(x / depth + rise))
