"""Masks: the weights of a smoothing, of sum 1, as float64; and what a mask may be.

A sampled Gaussian of small width has another width than the one asked for. So `gaussian` is the discrete Gaussian
`exp(-t) I_n(t)` with `t = sigma^2` (I_n: modified Bessel function), the solution of the heat equation on a grid of
points, whose variance is `t` exactly whatever the width, and which has the semigroup property: smoothing twice is
smoothing once with the sum of the variances. Integrals of a Gaussian over cells would add 1/12 to the variance.
Source: Lindeberg, Scale-space for discrete signals, IEEE Trans. PAMI 12(3), 1990, eq. 27 and following.
"""

from __future__ import annotations

import math

import numpy as np

MAX_MASK_WIDTH = 31  # elements of a mask along an axis
SPREAD_KEPT = 0.99  # of sigma, at least, when the tails of a Gaussian are cut off


def gaussian(sigma: float, truncate: float = 4.0) -> np.ndarray:
    """The discrete Gaussian of standard deviation `sigma` cells, cut off at `truncate` times that.

    At least one neighbour a side is kept, and as many more as keep the standard deviation of the mask within 1 % of
    `sigma`. Raises `ValueError` where that needs more than WIDEST weights, or for a sigma that is not positive.
    """
    if not (math.isfinite(sigma) and sigma > 0 and truncate > 0):
        raise ValueError(f"sigma {sigma} and truncate {truncate} must be positive numbers")
    half = max(1, math.floor(truncate * sigma + 0.5))
    while half <= MAX_MASK_WIDTH // 2:
        mask = _cut(sigma**2, half)
        if deviation(mask) >= SPREAD_KEPT * sigma:
            return mask
        half += 1
    widest = MAX_MASK_WIDTH // 2
    raise ValueError(
        f"a Gaussian of sigma {sigma:g} cells cut off at {truncate:g} sigma reaches beyond {widest} cells a side, "
        f"the most that a mask has: smooth several times, variances add"
    )


def _cut(t: float, half: int) -> np.ndarray:
    """exp(-t) I_n(t) for |n| <= half, scaled to sum 1, from the ratios r_n = I_n / I_(n-1) = t / (2n + t r_(n+1)).

    Source: Olver et al. (eds.), NIST Digital Library of Mathematical Functions, 10.33(i).
    """
    ratios, ratio = np.ones(half + 1), 0.0
    for n in range(half + 30 + math.ceil(t), 0, -1):
        ratio = t / (2 * n + t * ratio)
        if n <= half:
            ratios[n] = ratio
    side = np.cumprod(ratios)
    return _normalised(np.concatenate((side[:0:-1], side)))


def box(width: int) -> np.ndarray:
    """The mean of `width` neighbours; odd. Variance (width^2 - 1) / 12."""
    return _normalised(np.ones(odd(width)))


def binomial(order: int) -> np.ndarray:
    """Row `order` of Pascal's triangle, order + 1 weights; even, so that there is a middle. Variance order / 4."""
    odd(order + 1)
    return _normalised(np.array([math.comb(order, k) for k in range(order + 1)], dtype=np.float64))


def deviation(mask: np.ndarray) -> float:
    """Standard deviation of a 1-D mask about its middle, cells."""
    at = np.arange(mask.size) - mask.size // 2
    return float(np.sqrt((mask * at**2).sum() / mask.sum()))


def odd(width: int) -> int:
    """The width itself; raises `ValueError` where it is even, not positive or more than WIDEST."""
    if width < 1 or width % 2 == 0 or width > MAX_MASK_WIDTH:
        raise ValueError(
            f"a mask is {width} wide, but must be odd and at most {MAX_MASK_WIDTH}, to have a middle and to fit"
        )
    return width


def checked(mask: np.ndarray, axes: int) -> np.ndarray:
    """The mask as float64; raises `ValueError` unless it has that many axes, all odd, and finite weights."""
    weights = np.asarray(mask, dtype=np.float64)
    if weights.ndim != axes:
        raise ValueError(f"a mask has {weights.ndim} axes where {axes} are wanted")
    for width in weights.shape:
        odd(width)
    if not np.isfinite(weights).all():
        raise ValueError("a mask's weights must be finite numbers")
    return weights


def _normalised(weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights / weights.sum())
