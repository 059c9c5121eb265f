"""A Gaussian that spreads in free space: C&J section 10.3 (the instantaneous point source, started at a later time)."""

from __future__ import annotations

import numpy as np


def spreading(x: np.ndarray, t: float, width: float, diffusivity: float) -> np.ndarray:
    """The factor of one axis: exp(-x^2/(2 width^2)) at t = 0. In several dimensions the factors multiply."""
    squared = width**2 + 2.0 * diffusivity * t
    return np.asarray(width / np.sqrt(squared) * np.exp(-(x**2) / (2.0 * squared)))
