"""The largest step at which the explicit scheme keeps the maximum principle."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from heatsim_kernels.explicit.cell_classes import numbers_in
from heatsim_kernels.explicit.coefficients import StencilCoefficients


class _AxisCells(NamedTuple):
    """Cells along an axis: its first or its last, or those between; lower, upper: whether a boundary is beside them."""

    cells: slice
    lower: bool
    upper: bool


def stable_step(coefficients: StencilCoefficients, boundary_a: np.ndarray) -> float:
    """Return min over cells of heat capacity / sum of face conductances and losses, in s; infinite if no heat moves.

    A boundary face with the ghost value T + (a*T + b) conducts -a times its exchange rate. At this step the new value
    of a cell is a mean of old values and boundary data without a negative weight (Patankar, Numerical Heat Transfer and
    Fluid Flow, 1980, section 4.3). boundary_a: (boundary_size,), the least value of a that the run will see. Prescribed
    cells set no limit.
    """
    along = (_places(n, wraps) for n, wraps in zip(coefficients.shape, coefficients.periodic[::-1], strict=True))
    fastest = max(_fastest_rate(coefficients, boundary_a, places) for places in product(*along))
    return 1.0 / fastest if fastest > 0 else float("inf")


def _places(n: int, wraps: bool) -> list[_AxisCells]:
    if wraps:
        return [_AxisCells(slice(0, n), False, False)]
    if n == 1:
        return [_AxisCells(slice(0, 1), True, True)]
    ends = [_AxisCells(slice(0, 1), True, False), _AxisCells(slice(n - 1, n), False, True)]
    return ends if n == 2 else [*ends, _AxisCells(slice(1, n - 1), False, False)]


def _fastest_rate(coefficients: StencilCoefficients, boundary_a: np.ndarray, places: tuple[_AxisCells, ...]) -> float:
    """The largest sum of exchange rates of the cells at places along z, y, x, 1/s."""
    box = tuple(each.cells for each in places)
    _, ny, nx = coefficients.shape
    if coefficients.boundary_per_cell and any(each.lower or each.upper for each in places):
        z, y, x = np.ogrid[box]
        classes = coefficients.class_ids[box]
        at = z * ny + y, z * nx + x, y * nx + x
    else:
        several = coefficients.several
        classes = numbers_in(coefficients.class_ids[box], coefficients.class_count) if several else np.zeros(1, int)
        at = classes, classes, classes
    total = np.zeros(1)
    for axis, (beside, entries) in enumerate(zip(places[::-1], at, strict=True)):
        lower, upper = (
            -boundary_a[coefficients.boundary_offsets[face] + entries] * coefficients.rates[classes, face]
            if bounded
            else coefficients.rates[classes, face]
            for face, bounded in ((2 * axis, beside.lower), (2 * axis + 1, beside.upper))
        )
        total = total + (lower + upper)
    if coefficients.losses is not None:
        total = total + coefficients.losses[classes]
    return float(total.max())
