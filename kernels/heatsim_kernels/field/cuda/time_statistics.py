"""CUDA: statistics of a field over time, the twin of `field.time_statistics`, kept and brought up to date on the GPU.

A thread a cell, as in any pass bound by memory; neighbours are not looked at. What is not wanted is not compiled.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import float64, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.field.time_statistics import StatisticsRequest
from heatsim_kernels.field.time_statistics import time_above as _time_above

THREADS = 4 if SIMULATED else 256  # a block

time_above = inlined(_time_above)


def build(variant):
    """The kernel `(u, last, peak, time, cooling, above, crossing, elapsed)`; variant: which of peak, time and cooling
    rate are wanted. Arrays are flat, and any array of one element where they are not wanted."""
    peaks, times, coolings = variant

    def sample(u, last, peak, time, cooling, above, crossing, elapsed):
        i = uint64(cuda.blockIdx.x) * uint64(THREADS) + uint64(cuda.threadIdx.x)
        if i < uint64(u.size):
            after = u[i]
            if peaks and after > peak[i]:
                peak[i] = after
            if times or coolings:
                before = last[i]
                last[i] = after
                if times and (before > above or after > above):
                    time[i] = time_above(time[i], float64(before) - above, float64(after) - above, elapsed)
                if coolings and before > crossing and after <= crossing:
                    cooling[i] = (float64(before) - float64(after)) / elapsed

    return sample


class CudaTimeStatistics:
    """Statistics that begin with `u`, flat, a field of `shape`: see `CpuTimeStatistics`."""

    def __init__(self, u: Array, shape: tuple[int, int, int], wanted: StatisticsRequest) -> None:
        self._shape, self._wanted = shape, wanted
        self._variant = wanted.peak, wanted.above is not None, wanted.crossing is not None
        cells, (peaks, times, coolings) = u.shape[0], self._variant
        self._last = _copy(u) if times or coolings else empty(1, u.dtype)
        self._peak = _copy(u) if peaks else empty(1, u.dtype)
        self._time = on_device(np.zeros(cells if times else 1))
        self._cooling = on_device(np.full(cells if coolings else 1, np.nan, u.dtype))

    def sample(self, u: Array, elapsed: float) -> None:
        """Bring the statistics up to date with the field, `elapsed` s after the last sample. Returns at once."""
        numbers = (np.float64(self._wanted.above or 0.0), np.float64(self._wanted.crossing or 0.0), np.float64(elapsed))
        args = (u, self._last, self._peak, self._time, self._cooling, *numbers)
        blocks = -(-u.shape[0] // THREADS)
        kernel(build, self._variant, args)((blocks, 1, 1), (THREADS, 1, 1), args)

    def fields(self) -> dict[str, np.ndarray]:
        """Host copies of the statistics, as `CpuTimeStatistics.fields`."""
        kept = {"peak_temperature": self._peak, "time_above": self._time, "cooling_rate": self._cooling}
        wanted = zip(kept.items(), self._variant, strict=True)
        return {name: values.host().reshape(self._shape) for (name, values), each in wanted if each}

    def state(self) -> dict[str, np.ndarray]:
        """Host copies of all that is kept, as `CpuTimeStatistics.state`."""
        return {name: values.host() for name, values in self._kept().items()}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave: see `CpuTimeStatistics`."""
        for name, values in self._kept().items():
            values.device.copy_to_device(np.ascontiguousarray(saved[name], values.dtype))

    def _kept(self) -> dict[str, Array]:
        peaks, times, coolings = self._variant
        kept = {"last": self._last, "peak": self._peak, "time": self._time, "cooling": self._cooling}
        wanted = {"last": times or coolings, "peak": peaks, "time": times, "cooling": coolings}
        return {name: values for name, values in kept.items() if wanted[name]}


def _copy(source: Array) -> Array:
    copy = empty(source.shape, source.dtype)
    copy.device.copy_to_device(source.device)
    return copy
