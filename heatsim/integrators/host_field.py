"""A field that solvers work on: float64 on the host whatever the precision of the results."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, sqrt
from typing import TYPE_CHECKING

import numpy as np
from heatsim_kernels.field.cpu.weighted_sum import weighted_sum
from heatsim_kernels.field.time_statistics import CpuTimeStatistics, StatisticsRequest
from heatsim_kernels.multigrid.cpu import operations

from heatsim.integrators.balance import Balance

if TYPE_CHECKING:
    from heatsim_kernels.stencil.terms import StencilCoefficients

    from heatsim.problem import Problem


class HostField:
    """`values` (nz, ny, nx) float64, the rise over the reference in K; read in the ways of a stencil `ExplicitStepper`.

    `entered`: heat that has entered through each face of the box and from each ambient since the start, J; of a steady
    state, W.
    """

    name = "multigrid"
    device = "cpu"

    def __init__(self, terms: StencilCoefficients, dtype: np.dtype) -> None:
        """`dtype` is that of the copies given out."""
        self.terms, self.dtype = terms, np.dtype(dtype)
        self.values: np.ndarray = operations.field(terms.shape, np.float64)
        self.entered = np.zeros(terms.ledger_size)
        self._watch: CpuTimeStatistics | None = None
        held = not terms.capacity.all()
        self._solved = (
            operations.spread(terms.capacity > 0, terms.kinds, terms.shape, np.dtype(np.uint8)) if held else None
        )

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        for target, plane in zip(self.values, planes, strict=True):
            target[:] = plane

    def balance(self, problem: Problem) -> Balance:
        """The heat balance of a problem, computed where the field is."""
        return Balance(problem, operations)

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
        return isfinite(operations.total(self.values))

    def was_finite(self) -> bool:
        """`is_finite`: the host has nothing to wait for."""
        return self.is_finite()

    def heat_entered(self) -> np.ndarray:
        """A copy of `entered`."""
        return self.entered.copy()

    def watch(self, wanted: StatisticsRequest) -> None:
        """Watch the field from now on: see `ExplicitStepper`."""
        self._watch = CpuTimeStatistics(self.values, wanted)

    def look(self, elapsed: float) -> None:
        """Take note of the field, if it is watched, `elapsed` s after the last look."""
        if self._watch is not None:
            self._watch.look(self.values, elapsed)

    def seen(self) -> dict[str, np.ndarray]:
        """What was seen of the field so far: see `CpuWatch.fields`."""
        return {} if self._watch is None else self._watch.fields()

    def extent(self, values: np.ndarray) -> tuple[float, float]:
        """The least and the largest value of a field in the cells that are not held; not numbers where one is none."""
        return operations.extent(values, self._solved)

    @staticmethod
    def norm(values: np.ndarray) -> float:
        """The 2-norm of a field."""
        return sqrt(operations.dot(values, values))
