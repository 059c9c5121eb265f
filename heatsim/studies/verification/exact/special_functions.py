"""Special functions and root finding that NumPy lacks."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike


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
