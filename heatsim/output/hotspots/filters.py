"""The filters of a layer: the Laplacian of a Gaussian, and Sobel behind a Gaussian, on cells of any proportion."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np
from heatsim_kernels.field.filter_bank import filter_bank

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


def sobel() -> np.ndarray:
    """(2, 3, 3): the rise a cell along y and along x, smoothed across; exact on linear fields.

    Source: Sobel and Feldman, 1968, as in Duda and Hart, Pattern classification and scene analysis, 1973.
    """
    smooth, rise = np.array([1.0, 2.0, 1.0]) / 4, np.array([-1.0, 0.0, 1.0]) / 2
    return np.array([np.outer(rise, smooth), np.outer(smooth, rise)])


# The noise of a frame, what filters make of it, and how far it may stand out by chance.


_FALSE_SPOTS = 0.01  # bound on the mean number a search; the tail of a normal distribution lies well below it
_DEVIATIONS = 1.4826  # of a normal distribution, in its median absolute value
# Blind to anything that is up to quadratic along x or y, and of norm 1: its weights squared sum to 36 / 36.
_BLIND = np.array([[1.0, -2.0, 1.0], [-2.0, 4.0, -2.0], [1.0, -2.0, 1.0]]) / 6.0


def estimate_noise(frame: np.ndarray, device: str) -> float:
    """Standard deviation of noise in (ny, nx) cells, independent from cell to cell; robust against what the cells show.

    Source: Immerkaer, Fast noise variance estimation, Computer Vision and Image Understanding 64 (1996), with the
    median in place of the mean.
    """
    if min(frame.shape) < 3:
        return 0.0
    response = filter_bank(frame[None, None], _BLIND[None, None].astype(frame.dtype), device=device)
    return _DEVIATIONS * float(np.median(np.abs(response)))


def deviations_by_chance(cells: int) -> float:
    """How many standard deviations noise hardly exceeds in any of so many cells, from P(x > k) < exp(-k^2 / 2) / 2."""
    return sqrt(2.0 * log(cells / (2.0 * _FALSE_SPOTS)))


def noise_gain(y: Profile, x: Profile, cells: tuple[int, int], block: tuple[int, int]) -> np.ndarray:
    """Standard deviation of the Laplacian's response in each block, where that of each of the cells (ny, nx) is 1.

    It is twice as large in a corner as in the middle: a reflected cell counts twice.
    """
    down, across = (_moments(*each) for each in zip((y, x), cells, block, strict=True))
    gauss, cross, bend = range(3)
    square = np.outer(down[bend], across[gauss]) + np.outer(down[gauss], across[bend])
    return np.asarray(np.sqrt(square + 2.0 * np.outer(down[cross], across[cross])))


def _moments(line: Profile, cells: int, block: int) -> np.ndarray:
    """(3, blocks): sums of gauss^2, gauss bend and bend^2 over cells, for masks reflected at both ends of a line."""
    blocks, span = -(-cells // block), (2 * line.reach + 1) * block
    weights = [np.repeat(each, block) / block for each in (line.gauss, line.bend)]
    places = np.pad(np.arange(cells), (line.reach * block, line.reach * block + blocks * block - cells), "symmetric")
    result = np.empty((3, blocks))
    inner = range(line.reach, (cells // block) - line.reach)  # all the same
    for i in range(blocks):
        if i in inner and i > inner.start:
            result[:, i] = result[:, i - 1]
            continue
        g, b = (np.bincount(places[i * block : i * block + span], each, cells) for each in weights)
        result[:, i] = g @ g, g @ b, b @ b
    return result
