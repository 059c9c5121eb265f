"""Filters that find things: the Laplacian of a Gaussian for spots of a size, Sobel for edges; lengths in cells.

Source: Lindeberg, Feature detection with automatic scale selection, International Journal of Computer Vision 30 (1998)
79-116, for the scale-normalised Laplacian; Sobel and Feldman, 1968, as in Duda and Hart, Pattern classification and
scene analysis, 1973.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite

import numpy as np

STANDARD_DEVIATIONS = 4  # standard deviations from the middle to the end of a mask
MIN_SIGMA_CELLS = 1 / 3  # cells: a narrower Gaussian lies within one cell, and its samples say nothing of its width
MAX_SIGMA_CELLS = 64.0  # cells: a mask of 513 x 513


def laplacian_of_gaussian(sigma: float) -> np.ndarray:
    """-sigma^2 (d2/dx2 + d2/dy2) of a Gaussian of standard deviation `sigma` cells; float64, square, odd width.

    A field A exp(-r^2 / 2 s^2) answers with 2 A s^2 sigma^2 / (s^2 + sigma^2)^2 in its middle, at most A / 2, where
    sigma = s: the scale that answers most tells the size of a spot. Hot spots answer positive. The mask sums to zero
    and is exact on quadratic fields, whatever sigma. Raises `ValueError` unless 1/3 <= sigma <= 64.
    """
    if not (isfinite(sigma) and MIN_SIGMA_CELLS <= sigma <= MAX_SIGMA_CELLS):
        raise ValueError(f"sigma must be between 1/3 and {MAX_SIGMA_CELLS:g} cells; it is {sigma!r}")
    reach = max(1, ceil(STANDARD_DEVIATIONS * sigma))
    x = np.arange(-reach, reach + 1, dtype=float)
    gauss = np.exp(-0.5 * (x / sigma) ** 2)
    gauss /= gauss.sum()
    second = gauss * ((x / sigma) ** 2 - 1.0)
    second -= gauss * second.sum()
    second *= 2.0 / (x**2 @ second)  # the second derivative of x^2
    mask = -(sigma**2) * (np.outer(second, gauss) + np.outer(gauss, second))
    return np.asarray(mask - mask.mean())  # what rounding left


def sobel() -> np.ndarray:
    """(2, 3, 3): the rise a cell along y and along x, smoothed across; exact on linear fields."""
    smooth, rise = np.array([1.0, 2.0, 1.0]) / 4, np.array([-1.0, 0.0, 1.0]) / 2
    return np.array([np.outer(rise, smooth), np.outer(smooth, rise)])


def bank_of(masks: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """Filters (masks, channels, y, x): each mask, in the middle of zeros up to the largest, times a weight a channel.

    With weights 1 / n it filters the mean of n frames. Raises `ValueError` for masks of even width.
    """
    if not len(masks) or not len(weights):
        raise ValueError("a bank needs a mask and a channel at least")
    if any(mask.ndim != 2 or mask.shape[0] % 2 == 0 or mask.shape[1] % 2 == 0 for mask in masks):
        raise ValueError(f"masks must be (y, x) of odd widths; their shapes are {[mask.shape for mask in masks]}")
    height, width = (max(mask.shape[axis] for mask in masks) for axis in (0, 1))
    bank = np.zeros((len(masks), height, width))
    for target, mask in zip(bank, masks, strict=True):
        top, left = (height - mask.shape[0]) // 2, (width - mask.shape[1]) // 2
        target[top : top + mask.shape[0], left : left + mask.shape[1]] = mask
    return np.asarray(bank[:, None] * np.asarray(weights, dtype=float)[:, None, None])
