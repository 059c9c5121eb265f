"""A field that solvers work on: float64 on the host whatever the precision of the results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from heatsim_kernels.multigrid import cpu
from heatsim_kernels.stencil.weighted_sum import weighted_sum

from heatsim.integrators.balance import Balance

if TYPE_CHECKING:
    from heatsim_kernels.stencil.terms import Terms

    from heatsim.problem import Problem


class HostField:
    """`values` (nz, ny, nx) float64, the rise over the reference in K; read in the ways of a stencil `Sweep`.

    `entered`: heat that has entered through each face of the box and from each ambient since the start, J; of a steady
    state, W.
    """

    name = "multigrid"
    device = "cpu"

    def __init__(self, terms: Terms, dtype: np.dtype) -> None:
        """`dtype` is that of the copies given out."""
        self.terms, self.dtype = terms, np.dtype(dtype)
        self.values: np.ndarray = cpu.field(terms.shape, np.float64)
        self.entered = np.zeros(terms.ledger_size)

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        for target, plane in zip(self.values, planes, strict=True):
            target[:] = plane

    def balance(self, problem: Problem) -> Balance:
        """The heat balance of a problem, computed where the field is."""
        return Balance(problem)

    def assign(self, values: np.ndarray) -> None:
        """Take over the values of another field."""
        self.values[...] = values

    def field(self) -> np.ndarray:
        """A copy of the field."""
        return self.values.astype(self.dtype)

    def capture(self) -> None:
        """None: a copy of the field would be on the host as well."""

    def plane(self, axis: int, index: int) -> np.ndarray:
        """A copy of one plane; axis 0, 1, 2 is z, y, x of the array."""
        return np.asarray(self.values.take(index, axis), self.dtype)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""
        return np.asarray(self.values.reshape(-1)[indices])

    def stored(self) -> float:
        """Sum of heat capacity times the field, J."""
        return weighted_sum(self.values, self.terms.capacity, self.terms.kinds)

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""
        return bool(np.isfinite(self.values.sum()))

    def was_finite(self) -> bool:
        """`is_finite`: the host has nothing to wait for."""
        return self.is_finite()

    def heat_entered(self) -> np.ndarray:
        """A copy of `entered`."""
        return self.entered.copy()

    @staticmethod
    def extent(values: np.ndarray) -> tuple[float, float]:
        """The least and the largest value of a field; not numbers where one value is none."""
        return float(values.min()), float(values.max())

    @staticmethod
    def norm(values: np.ndarray) -> float:
        """The 2-norm of a field."""
        return float(np.linalg.norm(values))
