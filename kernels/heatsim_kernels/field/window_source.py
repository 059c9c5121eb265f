"""Heat added to a window of a field, as a moving beam needs, at the cost of the window alone; and how the CPU adds it.

    u  . . . . . . .      u[z0 + k, y0 + j, x0 + i] = fma(gain, rates[k, j, i], u[...])
       . . # # # . .
       . . # # # . .      Taken after a sweep, whose step it ends: an explicit step is the old field plus what the
       . . . . . . .      rates of that field make of it, in whatever order these are added.

Reads the field and the rates and writes the field, 12 bytes a cell of the window in float32 and 24 in float64, and one
multiply-add. Nothing is read or written outside the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import parallel_jit
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.device.fma import fma

Corner = tuple[int, int, int]


class WindowSource(NamedTuple):
    """Heat for a window of cells in a step: corner, (z, y, x) of its first cell; rates, (z, y, x) K/s in the field's
    precision; power, the heat that they bring, W."""

    corner: Corner
    rates: np.ndarray
    power: float


def window_sources_of(window_sources: Sequence[Sequence[WindowSource]], k: int) -> Sequence[WindowSource]:
    """Those of step k of a batch; none for steps beyond the last entry."""
    return window_sources[k] if k < len(window_sources) else ()


def window_heating_rate(window_sources: Sequence[WindowSource], shape: tuple[int, int, int]) -> np.ndarray:
    """Heating rate of each cell of a field of `shape`, K/s, float64."""
    field = np.zeros(shape)
    for each in window_sources:
        z, y, x = (slice(first, first + size) for first, size in zip(each.corner, each.rates.shape, strict=True))
        field[z, y, x] += each.rates
    return field


def heat_window(field: np.ndarray, corner: Corner, rates: np.ndarray, gain: float) -> None:
    """Add gain * rates to a window of a field in place.

    field: (nz, ny, nx) in C order; corner: z, y, x of the window's first cell; rates: the window, in the field's type,
    K/s; gain: s, rounded to the field's type. Raises ValueError for a window that is not inside the field, and for
    arrays of unlike types or not contiguous.
    """
    require_inside(field.shape, corner, rates.shape)
    if field.dtype != rates.dtype or not (field.flags.c_contiguous and rates.flags.c_contiguous):
        raise ValueError("field and rates must be of one type and contiguous, in C order")
    if rates.size:
        threads = threads_for(rates.size)
        with limited(threads):
            _heat_window(field, *corner, rates, field.dtype.type(gain), threads)


def require_inside(shape: tuple[int, ...], corner: Corner, window: tuple[int, ...]) -> None:
    """Raise ValueError unless a window of this shape and corner lies in a field of this shape."""
    if any(first < 0 or first + size > n for n, first, size in zip(shape, corner, window, strict=True)):
        raise ValueError(f"a window {window} at {corner} is not inside a field {shape}")


@parallel_jit
def _heat_window(field, z0, y0, x0, rates, gain, parts):
    nz, ny, nx = rates.shape
    rows = nz * ny
    for index in prange(parts):
        part = np.int64(index)  # prange counts in unsigned numbers
        for row in range(part * rows // parts, (part + 1) * rows // parts):
            target, source = field[z0 + row // ny, y0 + row % ny], rates[row // ny, row % ny]
            for x in range(nx):
                target[x0 + x] = fma(gain, source[x], target[x0 + x])
