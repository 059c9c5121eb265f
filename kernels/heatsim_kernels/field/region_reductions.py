"""What some cells of a field have together: least, greatest and summed values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

CELL_BYTES = 24  # of one of `Cells`; a GPU keeps 20


class RegionCells(NamedTuple):
    """Some cells: flat indices (m,), volumes (m,), m3, and heat capacities (m,), J/K."""

    indices: np.ndarray
    volumes: np.ndarray
    capacities: np.ndarray


class RegionTotals(NamedTuple):
    """Least and greatest value, K; the sum of volume times value, m3 K; of capacity times enthalpy, J. Not numbers
    where one value is none."""

    low: float
    high: float
    by_volume: float
    heat: float


def totals(values: np.ndarray, enthalpies: np.ndarray, cells: RegionCells) -> RegionTotals:
    """Of the values and enthalpies of these cells, (m,) each, in K."""
    values, enthalpies = values.astype(np.float64), enthalpies.astype(np.float64)
    sums = (cells.volumes * values).sum(), (cells.capacities * enthalpies).sum()
    return RegionTotals(*map(float, (values.min(), values.max(), *sums)))
