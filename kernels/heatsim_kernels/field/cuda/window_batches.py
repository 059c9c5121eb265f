"""Windows of a field on CUDA that get heat after some steps of a batch: see `cuda.window_source`.

The rates of all windows of a batch lie one after another in one array and cross the bus at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heatsim_kernels.field.cuda.window_source import heat_window
from heatsim_kernels.field.window_source import WindowSource, window_sources_of
from heatsim_kernels.runtime.cuda.arrays import Array, Upload

WindowSources = Sequence[Sequence[WindowSource]]


class WindowSourceBatches:
    """The windows of the batch that was sent last, for fields of `shape`."""

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
