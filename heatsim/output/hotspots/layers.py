"""A layer: the frames seen at one scale, on cells not much smaller than that scale, and what the filters answer."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, hypot, sqrt
from typing import NamedTuple

import numpy as np
from heatsim_kernels.field.filter_bank import filter_bank, max_pool, relu

from heatsim.output.hotspots.filters import layer_masks, noise_gain, profile

_FINE = 2.0  # cells of a layer that a scale measures, at least, before cells are joined into blocks
# A peak is a ridge where its curvatures differ more than so many times (Lowe, Distinctive image features from
# scale-invariant keypoints, International Journal of Computer Vision 60 (2004), section 4.1),
_RIDGE = 10.0
# or where the lesser may come of noise: four of its deviations, which is 2.12 times the response's over scale^2.
_BENT_BY_NOISE = 4.0 * 2.12
_SLOPE = 0.5  # rise over a scale, in responses, of a rim: 1 at a straight one, 0.63 at the corner of a square


class Peak(NamedTuple):
    """A place (row, column) in cells of the frame from the centre of the first, and the response there."""

    row: float
    column: float
    response: float


@dataclass(frozen=True, eq=False)
class ScaleLayer:
    """What the filters of a scale (m) answer.

    values: (3, rows, columns), the response, the slopes along y and x. noise: (rows, columns), of the response. A cell
    here is a block (y, x) of the `cells` (ny, nx) of the frame; width: the scale in cells here, along y and x.
    """

    scale: float
    cells: tuple[int, int]
    block: tuple[int, int]
    width: np.ndarray
    values: np.ndarray
    noise: np.ndarray

    def at(self, row: float, column: float) -> float:
        """The response at a place of the frame."""
        y, x = ((at + 0.5) / size - 0.5 for at, size in zip((row, column), self.block, strict=True))
        return sample(self.values[0], y, x)

    def peaks(self, least: float, deviations: float, device: str) -> list[Peak]:
        """Peaks of the response above `least` and that many deviations of its noise, that are round and no rim."""
        response = self.values[0]
        floors = np.maximum(least, deviations * self.noise).astype(response.dtype)
        above = relu(response - floors, device=device)
        around = max_pool(np.pad(above, 1), 3, 1, device=device)
        cells = np.argwhere((above > 0) & (above == around))
        return [peak for row, column in cells.tolist() if (peak := self._fitted(row, column)) is not None]

    def _fitted(self, row: int, column: int) -> Peak | None:
        """The top of the quadratic through a cell and its neighbours; None for a ridge, a saddle or a rim."""
        rows, columns = self.noise.shape
        near = np.ix_(*(np.clip(np.arange(i - 1, i + 2), 0, n - 1) for i, n in ((row, rows), (column, columns))))
        f = self.values[0][near].astype(np.float64)
        slope = 0.5 * np.array([f[2, 1] - f[0, 1], f[1, 2] - f[1, 0]])
        cross = 0.25 * (f[2, 2] + f[0, 0] - f[2, 0] - f[0, 2])
        bend = np.array([[f[2, 1] - 2 * f[1, 1] + f[0, 1], cross], [cross, f[1, 2] - 2 * f[1, 1] + f[1, 0]]])
        most, least = -np.linalg.eigvalsh(bend * np.outer(self.width, self.width))  # along the axes of the peak
        if least * _RIDGE <= most or least <= _BENT_BY_NOISE * self.noise[row, column]:
            return None
        shift = np.clip(-np.linalg.solve(bend, slope), -0.5, 0.5)
        response = float(f[1, 1] + 0.5 * slope @ shift)
        y, x = row + float(shift[0]), column + float(shift[1])
        if hypot(*(sample(values, y, x) for values in self.values[1:])) > _SLOPE * response:
            return None
        down, across = (  # in the frame, no farther out than its faces
            min((at + 0.5) * size, float(n)) - 0.5 for at, size, n in zip((y, x), self.block, self.cells, strict=True)
        )
        return Peak(down, across, response)


def make_layer(frames: np.ndarray, sigma: tuple[float, float], scale: float, noise: float, device: str) -> ScaleLayer:
    """The layer of a scale, `sigma` cells along y and x, over the mean of frames (n, ny, nx) about zero.

    noise: standard deviation of that mean from cell to cell. Beyond its edges a frame is reflected, as if insulated.
    """
    cells = frames.shape[1], frames.shape[2]
    block = max(1, floor(sigma[0] / _FINE)), max(1, floor(sigma[1] / _FINE))
    # A block has a variance of its own, (m^2 - 1) / 12 cells^2; the Gaussian adds the rest.
    y, x = (
        profile(sqrt((each / m) ** 2 - (1.0 - 1.0 / (m * m)) / 12.0), each / m)
        for each, m in zip(sigma, block, strict=True)
    )
    masks = layer_masks(y, x)
    filters = np.repeat(masks[:, None], len(frames), axis=1) / len(frames)
    # Continued by so many blocks a side as masks reach, the last of them whole.
    margins = [(n * m, n * m + -size % m) for n, m, size in zip((y.reach, x.reach), block, cells, strict=True)]
    coarse = np.pad(frames, [(0, 0), *margins], mode="symmetric")
    if block != (1, 1):  # means of blocks (n, rows, columns): a convolution with a stride
        mean = np.full((1, 1, *block), 1.0 / (block[0] * block[1]))
        coarse = np.asarray(filter_bank(coarse[:, None], mean, stride=block, device=device)[:, 0])
    values = filter_bank(coarse[None], filters, device=device)[0]
    return ScaleLayer(
        scale, cells, block, np.array([y.length, x.length]), values, noise * noise_gain(y, x, cells, block)
    )


def sample(values: np.ndarray, row: float, column: float) -> float:
    """A value between the centres of cells (rows, columns), linear along both; beyond the outer ones that of these."""
    (y, v), (x, u) = (_between(at, n) for at, n in zip((row, column), values.shape, strict=True))
    upper, right = min(y + 1, values.shape[0] - 1), min(x + 1, values.shape[1] - 1)
    below = (1.0 - u) * float(values[y, x]) + u * float(values[y, right])
    above = (1.0 - u) * float(values[upper, x]) + u * float(values[upper, right])
    return (1.0 - v) * below + v * above


def _between(at: float, count: int) -> tuple[int, float]:
    inside = min(max(at, 0.0), count - 1.0)
    return int(inside), inside - int(inside)
