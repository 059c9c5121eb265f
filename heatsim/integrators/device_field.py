"""A field that solvers work on, on the GPU: the twin of `HostField`, float64 whatever the precision of the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np
from heatsim_kernels.field.cuda.region_reductions import CudaRegionTotals
from heatsim_kernels.field.cuda.time_statistics import CudaTimeStatistics
from heatsim_kernels.multigrid.cuda import operations
from heatsim_kernels.multigrid.cuda.field import CudaField
from heatsim_kernels.runtime.cuda.arrays import Captures

from heatsim.integrators.balance import Balance

if TYPE_CHECKING:
    from heatsim_kernels.field.region_reductions import RegionCells, RegionTotals
    from heatsim_kernels.field.time_statistics import StatisticsRequest
    from heatsim_kernels.stencil.terms import StencilCoefficients

    from heatsim.problem import Problem


class DeviceField:
    """`values` (nz, ny, nx) float64 on the GPU, the rise over the reference in K; read in the ways of a
    `ExplicitStepper`.

    `entered`: heat that has entered through each face of the box and from each ambient since the start, J; of a steady
    state, W.
    """

    name = "multigrid_cuda"
    device = "cuda"

    def __init__(self, terms: StencilCoefficients, dtype: np.dtype) -> None:
        """`dtype` is that of the copies given out."""
        self.terms, self.dtype = terms, np.dtype(dtype)
        self.values: CudaField = operations.field(terms.shape, np.float64)
        self.entered = np.zeros(terms.ledger_size)
        self._kinds = None if terms.kinds is None else operations.put(terms.kinds)
        held = not terms.capacity.all()
        solved = np.dtype(np.uint8)
        self._solved = operations.spread(terms.capacity > 0, self._kinds, terms.shape, solved) if held else None
        self._captures = Captures(prod(terms.shape), self.dtype)
        self._watch: CudaTimeStatistics | None = None
        self._totals = CudaRegionTotals()

    def balance(self, problem: Problem) -> Balance:
        """The heat balance of a problem, computed where the field is."""
        return Balance(problem, operations)

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        size = self.terms.shape[1] * self.terms.shape[2]
        for z, plane in zip(range(self.terms.shape[0]), planes, strict=True):
            values = np.ascontiguousarray(plane, np.float64).reshape(-1)
            self.values.flat.device[z * size : (z + 1) * size].copy_to_device(values)

    def assign(self, values: CudaField) -> None:
        """Take over the values of another field."""
        self.values.put(values)

    def field(self) -> np.ndarray:
        """A copy of the field."""
        return self._in_its_precision().host()

    def capture(self) -> Callable[[], np.ndarray] | None:
        """A function that gives the field of now, (nz, ny, nx), later and from any thread; None if memory is short."""
        fetch = self._captures.take(self._in_its_precision().flat)
        return None if fetch is None else lambda: fetch().reshape(self.terms.shape)

    def plane(self, axis: int, index: int) -> np.ndarray:
        """A copy of one plane; axis 0, 1, 2 is z, y, x of the array."""
        return np.asarray(self.values.plane(axis, index), self.dtype)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""
        return self.values.cells(indices)

    def totals(self, cells: RegionCells) -> RegionTotals:
        """What some cells have together, found on the GPU."""
        return self._totals.of(self.values.flat, self.values.flat, cells)

    def stored(self) -> float:
        """Sum of heat capacity times value over the cells, J."""
        return operations.weighted_sum(self.values, self.terms.capacity, self._kinds)

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""
        return isfinite(operations.total(self.values))

    def was_finite(self) -> bool:
        """`is_finite`: a step of a solver has waited for the device anyway."""
        return self.is_finite()

    def heat_entered(self) -> np.ndarray:
        """A copy of `entered`."""
        return self.entered.copy()

    def watch(self, wanted: StatisticsRequest) -> None:
        """Watch the field from now on: see `ExplicitStepper`."""
        self._watch = CudaTimeStatistics(self.values.flat, self.terms.shape, wanted)

    def look(self, elapsed: float) -> None:
        """Take note of the field, if it is watched, `elapsed` s after the last look."""
        if self._watch is not None:
            self._watch.look(self.values.flat, elapsed)

    def seen(self) -> dict[str, np.ndarray]:
        """What was seen of the field so far: see `CpuWatch.fields`."""
        return {} if self._watch is None else self._watch.fields()

    def extent(self, values: CudaField) -> tuple[float, float]:
        """The least and the largest value of a field in the cells that are not held; not numbers where one is none."""
        return operations.extent(values, self._solved)[:2]

    @staticmethod
    def norm(values: CudaField) -> float:
        """The 2-norm of a field."""
        return sqrt(operations.dot(values, values))

    def _in_its_precision(self) -> CudaField:
        if self.values.dtype == self.dtype:
            return self.values
        return operations.field(self.terms.shape, self.dtype).put(self.values)
