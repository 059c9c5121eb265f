"""What the tests of the convolutions share: a plain reference in float64, tolerances, and small cases for CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from heatsim_kernels.field.convolution import EDGES, LINE_KERNELS, PLANE_KERNELS, convolve_lines, convolve_planes

PADS: dict[str, str] = dict(zip(EDGES, ("constant", "edge", "symmetric", "wrap"), strict=True))
SCIPY_MODES: dict[str, str] = dict(zip(EDGES, ("constant", "nearest", "reflect", "wrap"), strict=True))


def convolved(planes: np.ndarray, mask: np.ndarray, edge: str) -> np.ndarray:
    """(n, ny, nx) convolved with a 2-D mask in float64, by the definition."""
    above, left = mask.shape[0] // 2, mask.shape[1] // 2
    padded = np.pad(planes.astype(np.float64), ((0, 0), (above, above), (left, left)), mode=PADS[edge])  # type: ignore[call-overload]
    windows = np.lib.stride_tricks.sliding_window_view(padded, mask.shape, axis=(1, 2))
    return np.asarray(np.einsum("zyxjk,jk->zyx", windows, mask[::-1, ::-1].astype(np.float64), optimize=True))


def tolerance(magnitudes: np.ndarray, dtype: type, weights: int) -> np.ndarray:
    """Two units in the last place of the sum of magnitudes for every eight weights added, as a random walk adds up.

    A sum of n terms in a row may err by n/2 units; the reference in float64 errs as well.
    """
    units = 2 * max(1.0, np.sqrt(weights / 8)) * (2 if dtype is np.float64 else 1)
    return np.asarray(units * np.finfo(dtype).eps * magnitudes + np.finfo(dtype).tiny)


class LineCase(NamedTuple):
    shape: tuple[int, ...]
    width: int
    axis: int
    edge: str
    dtype: type

    def run(self, kernel: str, device: str) -> np.ndarray:
        field, mask = numbers(self.shape, self.dtype, 1), numbers((self.width,), np.float64, 2)
        return convolve_lines(field, mask, self.axis, self.edge, kernel, device)


class PlaneCase(NamedTuple):
    shape: tuple[int, ...]
    mask: tuple[int, int]
    edge: str
    dtype: type
    channels: bool = False

    def run(self, kernel: str, device: str) -> np.ndarray:
        field, mask = numbers(self.shape, self.dtype, 3), numbers(self.mask, np.float64, 4)
        return convolve_planes(field, mask, self.edge, kernel, device, self.channels)


def numbers(shape: tuple[int, ...], dtype: type, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


# Rows of whole vectors and others, fields smaller than the mask, and enough rows and columns for several blocks.
SMALL_LINES = (
    LineCase((3, 13), 5, 1, "zero", np.float32),
    LineCase((2, 3, 5), 3, 1, "reflect", np.float64),
    LineCase((7, 2, 3), 5, 0, "wrap", np.float32),
    LineCase((1, 16), 7, 1, "nearest", np.float32),
    LineCase((2,), 5, 0, "reflect", np.float32),
)
SMALL_PLANES = (
    PlaneCase((4, 16), (3, 5), "zero", np.float32),
    PlaneCase((2, 7, 3), (5, 1), "wrap", np.float64),
    PlaneCase((2, 3), (5, 5), "reflect", np.float32),
    PlaneCase((2, 5, 3), (1, 3), "nearest", np.float32, channels=True),
)


def small_cases() -> Iterator[tuple[str, str, LineCase | PlaneCase]]:
    """Name, kernel and case for every CUDA kernel."""
    for kernels, cases in ((LINE_KERNELS, SMALL_LINES), (PLANE_KERNELS, SMALL_PLANES)):
        for kernel in kernels:
            for case in cases if kernel != "cpu" else ():
                yield f"{kernel}: {type(case).__name__} {case}", kernel, case
