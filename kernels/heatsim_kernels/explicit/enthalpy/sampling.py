"""Where to take a curve so that straight lines between these points are as good as it: properties by expression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TOLERANCE = 1e-5  # of the local value
NARROWEST = 1e-10  # of x: a leap is as wide
MAX_POINTS = 2**17
_SHARES = np.array([0.25, 0.5, 0.75])


def points_of_curves(
    curves: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    tolerance: float = TOLERANCE,
    narrowest: float = 0.0,
) -> np.ndarray:
    """Points between which all curves are straight within a tolerance of their values.

    curves: gives (m, n) values at (n,) x. start: points to begin with, increasing; what happens between two of them
    and is not seen at a quarter, half or three quarters of the way is missed. narrowest: points come no closer than
    that, nor than NARROWEST of x.
    """
    x = np.asarray(start, float)
    values, open_ = curves(x), np.ones(len(x) - 1, bool)
    while open_.any() and len(x) < MAX_POINTS:
        i = np.flatnonzero(open_)
        width = x[i + 1] - x[i]
        between = x[i] + width * _SHARES[:, None]
        found = curves(between.reshape(-1)).reshape(len(values), 3, len(i))
        low, high = values[:, i], values[:, i + 1]
        with np.errstate(invalid="ignore", over="ignore"):
            straight = low[:, None] + (high - low)[:, None] * _SHARES[:, None]
            least = np.minimum(np.abs(low), np.abs(high))[:, None]
            wrong = np.abs(found - straight) > tolerance * np.minimum(least, np.abs(found))
        apart = width > 4 * np.maximum(narrowest, NARROWEST * np.maximum(np.abs(x[i]), np.abs(x[i + 1])))
        bent = i[wrong.any(axis=(0, 1)) & apart]
        of_bent = np.searchsorted(i, bent)
        places = np.repeat(bent + 1, 3)
        x = np.insert(x, places, between[:, of_bent].T.reshape(-1))
        values = np.insert(values, places, found[:, :, of_bent].transpose(0, 2, 1).reshape(len(values), -1), axis=1)
        open_ = np.zeros(len(x) - 1, bool)
        open_[(bent + 3 * np.arange(len(bent)))[:, None] + np.arange(4)] = True
    return x
