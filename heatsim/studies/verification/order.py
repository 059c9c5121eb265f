"""Observed orders of convergence, extrapolation to the limit, and fields on unlike grids.

P. J. Roache, Verification and Validation in Computational Science and Engineering, Hermosa 1998, chapter 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from heatsim.base.grid import AXES, CellGrid


def observed_order(spacings: Sequence[float], errors: Sequence[float]) -> float | None:
    """Slope of log error over log spacing by least squares; None where an error is 0, not finite, or there is one."""
    if len(errors) < 2 or not all(math.isfinite(error) and error > 0.0 for error in errors):
        return None
    return float(np.polyfit(np.log(spacings), np.log(errors), 1)[0])


def why_no_order(errors: Sequence[float]) -> str | None:
    """Why signed errors, or differences of successive runs, tell no order: None where they have one sign and fall."""
    if any(before * after < 0.0 for before, after in pairwise(errors)):
        return "change sign"
    if any(abs(after) >= abs(before) for before, after in pairwise(errors)):
        return "do not fall"
    return None


def extrapolate_to_limit(values: Sequence[float], factor: float, order: float | None = None) -> float:
    """The limit of values on grids each `factor` times as fine as the one before.

    With an order, from the last two values (Richardson); without, the order is taken from the last three values
    (Aitken). Values that do not approach a limit are not extrapolated: the last one is given back.
    """
    last = values[-1] - values[-2]
    if order is not None:
        return float(values[-1] + last / (factor**order - 1.0))
    before = values[-2] - values[-3]
    if before == 0.0 or not 0.0 < last / before < 1.0:
        return values[-1]
    return values[-1] + last / (before / last - 1.0)


def restrict_field(field: np.ndarray, grid: CellGrid, factor: int) -> np.ndarray:
    """A field (nz, ny, nx) on `grid` as its means over the cells of a grid `factor` times as coarse.

    Means are weighted by volume, so that the integral over each coarse cell is kept. Axes of one cell stay.
    """
    result = np.asarray(field, dtype=np.float64)
    for number, axis in enumerate(AXES):
        place = 2 - number
        count = result.shape[place]
        if count == 1:
            continue
        measure = grid.measure(axis)
        starts = np.arange(0, count, factor)
        shape = [1, 1, 1]
        shape[place] = -1
        summed = np.add.reduceat(result * measure.reshape(shape), starts, axis=place)
        result = summed / np.add.reduceat(measure, starts).reshape(shape)
    return result


def rms_over_volume(error: np.ndarray, grid: CellGrid, inside: np.ndarray | None = None) -> float:
    """Root of the mean square over the volume, or over that of the cells `inside` (nz, ny, nx)."""
    volume = volumes(grid)
    if inside is not None:
        error, volume = error[inside], volume[inside]
    return float(np.sqrt(np.sum(error**2 * volume) / np.sum(volume)))


def volumes(grid: CellGrid) -> np.ndarray:
    """(nz, ny, nx) the volumes of the cells, m3."""
    return np.asarray(grid.measure("z")[:, None, None] * grid.measure("y")[:, None] * grid.measure("x"))
