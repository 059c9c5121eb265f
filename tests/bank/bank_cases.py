"""Filter banks to try, and what they must give: the definition in float64, by NumPy's windows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.field.filter_bank import Epilogue
from helpers.arrays import same_bits

Pair = tuple[int, int]


class Bank(NamedTuple):
    """Shapes (batch, channels, y, x) and (filters, mask y, mask x), and the options of `filter_bank`."""

    images: tuple[int, int, int, int]
    filters: tuple[int, int, int]
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    pool: tuple[Pair, Pair] | None = None
    relu: bool = False

    def data(self, dtype: type, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Images, filters and bias."""
        rng = np.random.default_rng([seed, *self.images, *self.filters])
        shape = (self.filters[0], self.images[1], *self.filters[1:])
        images, filters, bias = (rng.standard_normal(n) for n in (self.images, shape, self.filters[0]))
        return np.asarray(images, dtype), np.asarray(filters, dtype), np.asarray(bias, dtype)

    def options(self) -> dict[str, Any]:
        return {"stride": self.stride, "padding": self.padding, "epilogue": Epilogue(self.relu, self.pool)}


def expected(images: np.ndarray, filters: np.ndarray, bias: np.ndarray, bank: Bank) -> np.ndarray:
    """The definition, in float64."""
    (top, left), (down, right) = bank.padding, bank.stride
    wide = np.pad(images.astype(np.float64), ((0, 0), (0, 0), (top, top), (left, left)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, filters.shape[2:], axis=(2, 3))[:, :, ::down, ::right]
    response = np.einsum("bcyxij,kcij->bkyx", windows, filters.astype(np.float64)) + bias[:, None, None]
    if bank.relu:
        response = np.maximum(response, 0.0)
    return response if bank.pool is None else maxima(response, *bank.pool)


def maxima(values: np.ndarray, window: Pair, step: Pair) -> np.ndarray:
    """The largest value of each whole window of the last two axes."""
    windows = np.lib.stride_tricks.sliding_window_view(values, window, axis=(-2, -1))
    return np.asarray(windows[..., :: step[0], :: step[1], :, :].max(axis=(-2, -1)))


def tolerance(filters: np.ndarray) -> float:
    """Rounding of a sum of standard normal products: some units for the root of their number."""
    return 16 * float(np.finfo(filters.dtype).eps) * float(np.sqrt(filters[0].size)) * 4


def random_banks(count: int, seed: int) -> list[Bank]:
    """Shapes, strides, paddings and poolings of all sorts."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        mask = rng.integers(1, 8, 2)
        image = mask + rng.integers(0, 60, 2)
        padding, stride = rng.integers(0, 5, 2), rng.integers(1, 4, 2)
        response = (image + 2 * padding - mask) // stride + 1
        window = np.minimum(rng.integers(1, 5, 2), response)
        pool = (pair(window), pair(rng.integers(1, 4, 2))) if rng.random() < 0.5 else None
        images = (int(rng.integers(1, 4)), int(rng.integers(1, 5)), *pair(image))
        filters = (int(rng.integers(1, 20)), *pair(mask))
        found.append(Bank(images, filters, pair(stride), pair(padding), pool, bool(rng.random() < 0.5)))
    return found


def pair(values: np.ndarray) -> Pair:
    return int(values[0]), int(values[1])


def same_numbers(a: np.ndarray, b: np.ndarray) -> bool:
    """As `same_bits`, but what is not a number may be written in other bits."""
    missing = np.isnan(a)
    return np.array_equal(missing, np.isnan(b)) and same_bits(np.where(missing, 0, a), np.where(missing, 0, b))
