"""Smoothing filters of any standard deviation, as masks to be passed one after another along an axis.

Variances of masks add, so a filter is a chain of masks whose variances sum to that of the filter:
    gaussian    discrete Gaussians, as many as keep each within the widest mask; what is cut off is below 1 % of sigma
    binomial    (a, 1 - 2a, a) n times, with n = ceil(2 sigma^2) and a = sigma^2 / 2n; where 2 sigma^2 is whole this is
                row 2n of Pascal's triangle. Each of the n is a step of explicit heat conduction.
    box         equal weights, but for the outermost, which are smaller by as much as the width asked for takes
Sources: Lindeberg, Scale-space for discrete signals, IEEE Trans. PAMI 12 (1990), section VI, for the first two;
Gwosdek, Grewenig, Bruhn and Weickert, Theoretical foundations of Gaussian convolution by extended box filtering, Scale
Space and Variational Methods 2011, for the third.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, sqrt

import numpy as np
from heatsim_kernels.convolution import masks

_WIDEST_GAUSSIAN = 3.8  # cells: the standard deviation whose mask is as wide as may be
_STEPS_A_MASK = masks.WIDEST // 2


def gaussian(sigma: float) -> list[np.ndarray]:
    """Masks that together are a Gaussian of standard deviation `sigma` cells."""
    count = ceil((sigma / _WIDEST_GAUSSIAN) ** 2)
    return [masks.gaussian(sigma / sqrt(count))] * count


def binomial(sigma: float) -> list[np.ndarray]:
    """Masks that together are a binomial of standard deviation `sigma` cells."""
    count = ceil(2.0 * sigma**2 * (1 - 1e-12))  # 1/2 from a rounded sigma is one step, not two
    share = sigma**2 / (2.0 * count)
    step = np.array([share, 1.0 - 2.0 * share, share])
    chain = []
    for first in range(0, count, _STEPS_A_MASK):
        mask = np.ones(1)
        for _ in range(min(_STEPS_A_MASK, count - first)):
            mask = np.convolve(mask, step)
        chain.append(mask)
    return chain


def box(sigma: float) -> list[np.ndarray]:
    """One mask of equal weights with standard deviation `sigma` cells, its outermost weights between 0 and the others.

    With r whole weights a side and one of w beyond them, 3 sigma^2 (2r + 1 + 2w) = r (r + 1) (2r + 1) + 6 w (r + 1)^2.
    """
    whole = floor((sqrt(1.0 + 12.0 * sigma**2) - 1.0) / 2.0 + 1e-9)
    excess = (2 * whole + 1) * (3.0 * sigma**2 - whole * (whole + 1))
    end = max(0.0, excess / (6.0 * ((whole + 1) ** 2 - sigma**2)))
    ends = [end] if end > 1e-9 else []
    weights = np.array([*ends, *[1.0] * (2 * whole + 1), *ends])
    return [weights / weights.sum()]


FILTERS: dict[str, Callable[[float], list[np.ndarray]]] = {"gaussian": gaussian, "box": box, "binomial": binomial}
