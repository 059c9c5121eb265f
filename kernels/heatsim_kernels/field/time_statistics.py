"""Statistics of a field over time: highest value so far, time above a threshold, cooling rate at a crossing.

They depend on the whole past, so they are kept beside the field and brought up to date by a pass each step, or every
few steps. Between two samples each cell is taken to change linearly in time, which errs with the square of the time:

    value                      x after          time above += elapsed * share of the interval above
      |                 .   '                   cooling rate = (before - after) / elapsed, kept at the last sample
      |- - - - - - .x- - - - - - - threshold                   between which the value fell below the crossing
      |     . '    '                            peak = max(peak, after)
      |  x before  '
      +--'---------'----'------> time
         |<- elapsed -->|

Bytes a cell in float32: peak 8 (4 more where it rises); the others 8 together, and 16 where the cell is hot. Times sum
up in float64: in float32 a hundred thousand equal steps lose up to 0.3 % of the time. A pass is bound by memory: three
additions and a division where the threshold is crossed. `cuda.time_statistics` is the twin, with the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import inlined, parallel_jit
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.device.fma import fma

TIME = np.dtype(np.float64)  # of times that are summed up


class StatisticsRequest(NamedTuple):
    """The statistics to keep: the peak, the time above the value `above`, the cooling rate at the value `crossing`."""

    peak: bool = False
    above: float | None = None
    crossing: float | None = None

    @property
    def wanted(self) -> bool:
        """Whether there is any to keep. A value of 0 is one."""
        return self.peak or self.above is not None or self.crossing is not None


def bytes_a_cell(peak: bool, times: bool, coolings: bool, itemsize: int) -> int:
    """Bytes a cell that the statistics take, for a field whose values have `itemsize` bytes."""
    last = times or coolings
    return itemsize * (peak + last + coolings) + TIME.itemsize * times


def time_above(total, before, after, elapsed):
    """`total` and the part of `elapsed` in which a value that goes linearly from `before` to `after` is above 0.

    One of them has to be.
    """
    low, high = min(before, after), max(before, after)
    share = 1.0 if low > 0.0 else high / (high - low)
    return fma(elapsed, share, total)


_time_above = inlined(time_above)


class CpuTimeStatistics:
    """Statistics that begin with `u`, flat, a field of `shape`, at the time 0."""

    def __init__(self, u: np.ndarray, shape: tuple[int, int, int], wanted: StatisticsRequest) -> None:
        self._shape, self._wanted = shape, wanted
        times, coolings = wanted.above is not None, wanted.crossing is not None
        self._last = u.copy() if times or coolings else None
        self._peak = u.copy() if wanted.peak else None
        self._time = np.zeros(u.size, TIME) if times else None
        self._cooling = np.full(u.size, np.nan, u.dtype) if coolings else None

    def sample(self, u: np.ndarray, elapsed: float) -> None:
        """Bring the statistics up to date with the field, `elapsed` s after the last sample."""
        numbers = float(self._wanted.above or 0.0), float(self._wanted.crossing or 0.0), float(elapsed)
        with limited(threads_for(u.size)):
            _sample(u, self._last, self._peak, self._time, self._cooling, *numbers)

    def fields(self) -> dict[str, np.ndarray]:
        """The statistics, (nz, ny, nx): `peak_temperature`, `time_above` (s) and `cooling_rate` (a second, positive
        where the value fell; NaN where it never fell below the crossing)."""
        kept = {"peak_temperature": self._peak, "time_above": self._time, "cooling_rate": self._cooling}
        return {name: values.reshape(self._shape) for name, values in kept.items() if values is not None}

    def state(self) -> dict[str, np.ndarray]:
        """All that is kept, flat arrays by name: for `restore`."""
        kept = {"last": self._last, "peak": self._peak, "time": self._time, "cooling": self._cooling}
        return {name: values for name, values in kept.items() if values is not None}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state` gave, of statistics for the same request."""
        for name, values in self.state().items():
            values[:] = saved[name]


@parallel_jit
def _sample(u, last, peak, time, cooling, above, crossing, elapsed):
    """Arrays are flat; those that are not wanted are None, and Numba compiles nothing for them."""
    for i in prange(u.size):
        after = u[i]
        if peak is not None and after > peak[i]:
            peak[i] = after
        if last is not None:
            before = last[i]
            last[i] = after
            if time is not None and (before > above or after > above):
                time[i] = _time_above(time[i], np.float64(before) - above, np.float64(after) - above, elapsed)
            if cooling is not None and before > crossing and after <= crossing:
                cooling[i] = (np.float64(before) - np.float64(after)) / elapsed
