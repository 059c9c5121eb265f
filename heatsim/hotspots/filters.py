"""The filters of a layer: the Laplacian of a Gaussian, and Sobel behind a Gaussian, on cells of any proportion."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from heatsim_kernels.bank.filters import sobel

_REACH = 4.0  # standard deviations from the middle to the end of a mask

Pair = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Profile:
    """Along an axis: a sampled Gaussian, and `length`^2 times its second derivative; both of one odd length."""

    gauss: np.ndarray
    bend: np.ndarray
    width: float
    length: float

    @property
    def reach(self) -> int:
        """Cells from the middle to the end."""
        return self.gauss.size // 2


def profile(width: float, length: float) -> Profile:
    """width: standard deviation of the Gaussian, cells. length: what derivatives are multiplied by, cells.

    The second derivative is zero for linear fields and exact for quadratic ones.
    """
    reach = max(2, ceil(_REACH * width))
    x = np.arange(-reach, reach + 1)
    gauss = _gaussian(width, reach)
    second = gauss * ((x / width) ** 2 - 1.0)
    second -= gauss * second.sum()
    return Profile(gauss, length**2 * second * (2.0 / (x**2 @ second)), width, length)


def layer_masks(y: Profile, x: Profile) -> np.ndarray:
    """(3, y, x): minus the Laplacian, the rise along y, the rise along x, all of the field behind a Gaussian."""
    laplacian = np.outer(y.bend, x.gauss) + np.outer(y.gauss, x.bend)
    inner = np.outer(*(_gaussian(each.width, each.reach - 1) for each in (y, x)))
    slopes = [each.length * _convolved(inner, mask) for each, mask in zip((y, x), sobel(), strict=True)]
    return np.stack([laplacian.mean() - laplacian, *slopes])


def _gaussian(width: float, reach: int) -> np.ndarray:
    x = np.arange(-reach, reach + 1)
    values = np.exp(-0.5 * (x / width) ** 2)
    return np.asarray(values / values.sum())


def _convolved(wide: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The filter that is `wide` and then the 3 x 3 correlation mask, one cell larger a side."""
    rows, columns = wide.shape
    result = np.zeros((rows + 2, columns + 2))
    for (y, x), weight in np.ndenumerate(mask):
        result[y : y + rows, x : x + columns] += weight * wide
    return result
