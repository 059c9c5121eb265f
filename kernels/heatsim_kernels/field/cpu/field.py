"""The field in the host's memory: see `Field`."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, prod

import numpy as np

from heatsim_kernels.device.cpu.pointers import padded
from heatsim_kernels.field import FieldCells, StoredField
from heatsim_kernels.field.cpu.weighted_sum import row_sums, sum_of_rows, weighted_sum
from heatsim_kernels.field.region_reductions import RegionCells, RegionTotals, totals
from heatsim_kernels.field.time_statistics import CpuTimeStatistics, StatisticsRequest


class CpuField(StoredField[np.ndarray]):
    """A `Field` on the CPU."""

    device = "cpu"

    def _keep(self, cells: FieldCells) -> None:
        self._capacity, self._classes = cells.capacity, cells.classes_to_look_up

    def host(self) -> np.ndarray:
        """The offsets: see `Field`."""
        return self._temperatures.whole(self.state(), self.dtype)

    def capture(self) -> None:
        """None: a copy would be on the host as well."""

    def plane(self, axis: int, index: int) -> np.ndarray:
        """Return a copy of one plane: see `Field`."""
        return self._temperatures.plane(self.state().take(index, axis), axis, index, self.dtype)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """Return the values of some cells: see `Field`."""
        return self._temperatures.cells(self.now[indices], indices, self.dtype)

    def stored_cells(self, indices: np.ndarray) -> np.ndarray:
        """Return the stored values of some cells: see `Field`."""
        return np.asarray(self.now[indices])

    def put_state(self, planes: Iterable[np.ndarray]) -> None:
        """Set the stored values: see `Field`."""
        self.changes += 1
        for target, plane in zip(self.state(), planes, strict=True):
            target[:] = plane

    def state(self) -> np.ndarray:
        """The stored array itself, (nz, ny, nx)."""
        return self.now.reshape(self.shape)

    def totals(self, cells: RegionCells) -> RegionTotals:
        """Return the extremes and sums over some cells: see `Field`."""
        return totals(self.cells(cells.indices), self.now[cells.indices], cells)

    def extremes(self, cells: RegionCells) -> tuple[float, float]:
        """Return the extremes of some cells: see `Field`."""
        indices = cells.indices
        stored = self.now if indices.size == self.now.size else self.now[indices]  # a copy of all cells costs a sweep
        values = self._temperatures.cells(stored, indices, self.dtype)
        return float(values.min()), float(values.max())

    def melted_fraction(self) -> np.ndarray:
        """Return the share of each cell that has melted."""
        return self._temperatures.melted_fraction(self.state(), self.dtype)

    def stored(self) -> float:
        """Return the heat over that at the reference temperature, J."""
        return weighted_sum(self.state(), self._capacity, self._classes)

    def stored_parts(self) -> np.ndarray:
        """Return (nz, ny) the heat of each row, J."""
        return row_sums(self.state(), self._capacity, self._classes)

    @staticmethod
    def sum_of_parts(parts: np.ndarray) -> float:
        """Return what `stored` makes of the parts of all planes."""
        return sum_of_rows(parts)

    def is_finite(self) -> bool:
        """Return whether every value is a finite number."""
        return isfinite(self.stored())  # also where a cell has no heat capacity: 0 times infinity is not a number

    def was_finite(self) -> bool:
        """`is_finite`: the host has nothing to wait for."""
        return self.is_finite()

    def _room(self) -> np.ndarray:
        return padded(prod(self.shape), self._stored_dtype)

    def as_stored(self, values: np.ndarray) -> np.ndarray:
        """Return host values as `stored_cells` gives them."""
        return values

    def _begin_statistics(self, request: StatisticsRequest) -> CpuTimeStatistics:
        return CpuTimeStatistics(self._offsets(), self.shape, request)
