"""CUDA: heat added to a window of a field, the twin of `heat_window` and of the same bits.

    window, flat:  t0 t1 t2 ... t31 | t32 ...      a thread adds to one cell; the threads of a warp take cells that lie
    field:         u[place of the thread's cell]   side by side in x, row after row of the window

The rates of all windows of a batch of steps lie one after another in one array, so that they cross the bus at once; a
launch adds one of them. 12 bytes a cell of the window in float32, 24 in float64, and one multiply-add.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numba import uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.cuda.arrays import Array, Upload
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.window_source import Corner, WindowSource, require_inside, window_sources_of

WindowSources = Sequence[Sequence[WindowSource]]
THREADS = 4 if SIMULATED else 128  # a block


def build(variant):
    """The kernel `(u, first, row_stride, plane_stride, rates, start, window, gain)`: u is the flat field, `first` its
    first cell in the window, `start` the window's first rate, `window` (cells, of a plane, of a row), all uint64."""

    def heat_window(u, first, row_stride, plane_stride, rates, start, window, gain):
        cells, plane, row = window
        i = uint64(cuda.blockIdx.x) * uint64(THREADS) + uint64(cuda.threadIdx.x)
        if i < cells:
            z = i // plane
            left = i - z * plane
            y = left // row
            at = first + z * plane_stride + y * row_stride + (left - y * row)
            u[at] = fma(gain, rates[start + i], u[at])

    return heat_window


def heat_window(
    u: Array, shape: tuple[int, int, int], corner: Corner, rates: Array, start: int, window: Corner, gain: float
) -> None:
    """Launch the addition of gain * rates to a window of a field in place.

    u: the flat field of `shape`; corner: z, y, x of the window's first cell; rates: flat, of the field's type, of which
    those from `start` on are the window, (z, y, x) in C order. Raises ValueError for a window not inside the field.
    """
    require_inside(shape, corner, window)
    cells = prod(window)
    if not cells:
        return
    _, ny, nx = shape
    z, y, x = corner
    args = (
        u,
        *(np.uint64(n) for n in ((z * ny + y) * nx + x, nx, ny * nx)),
        rates,
        np.uint64(start),
        tuple(np.uint64(n) for n in (cells, window[1] * window[2], window[2])),
        u.dtype.type(gain),
    )
    kernel(build, None, args)((-(-cells // THREADS), 1, 1), (THREADS, 1, 1), args)


class WindowSourceBatches:
    """The windows that get heat after some steps of the batch that was sent last, for fields of `shape`."""

    def __init__(self, shape: tuple[int, int, int], dtype: np.dtype) -> None:
        self._shape, self._dtype = shape, dtype
        self._upload, self._room = Upload(), 0
        self._window_sources: WindowSources = ()
        self._rates: Array | None = None

    def send(self, window_sources: WindowSources) -> None:
        """Send the rates of a batch. The caller must have waited for the launches before last, as for an `Upload`."""
        self._window_sources = window_sources
        rates = [each.rates.reshape(-1) for step in window_sources for each in step]
        if not rates:
            return
        needed = sum(each.size for each in rates)
        if needed > self._room:
            self._room = 2 * needed  # the array is made anew seldom: that waits for the GPU
        whole = np.zeros((1, self._room), self._dtype)
        np.concatenate(rates, out=whole[0, :needed])
        self._rates = self._upload.send(whole, self._dtype).row(0)

    def add(self, u: Array, k: int, gain: float) -> None:
        """Heat the windows of step k in a field, flat; gain: s. Returns at once."""
        start = sum(each.rates.size for step in self._window_sources[:k] for each in step)
        for each in window_sources_of(self._window_sources, k):
            assert self._rates is not None
            heat_window(u, self._shape, each.corner, self._rates, start, each.rates.shape, gain)
            start += each.rates.size
