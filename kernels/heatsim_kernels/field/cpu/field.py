"""The field in the host's memory: see `Field`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite, prod

import numpy as np

from heatsim_kernels.field import (
    DirectTemperatures,
    FieldCells,
    Temperatures,
    saved_field,
    saved_range,
    saved_statistics,
)
from heatsim_kernels.field.cpu.weighted_sum import weighted_sum
from heatsim_kernels.field.region_reductions import RegionCells, RegionTotals, totals
from heatsim_kernels.field.time_statistics import CpuTimeStatistics, StatisticsRequest
from heatsim_kernels.runtime.cpu.pointers import padded


class CpuField:
    """A `Field` on the CPU. Steps write `next` and call `swap`; `next` takes memory from its first use on."""

    device = "cpu"

    def __init__(
        self,
        cells: FieldCells,
        dtype: np.dtype,
        stored_dtype: np.dtype | None = None,
        temperatures: Temperatures | None = None,
    ) -> None:
        """dtype: of the values handed out; stored_dtype: of those stored, `dtype` unless given; temperatures: how
        offsets follow from the stored values, which are the offsets unless given."""
        self.shape, self.dtype = cells.shape, np.dtype(dtype)
        self.now = padded(prod(self.shape), self.dtype if stored_dtype is None else np.dtype(stored_dtype))
        self._next: np.ndarray | None = None
        self._capacity = cells.capacity
        self._class_ids = None if cells.class_ids is None else np.ascontiguousarray(cells.class_ids)
        self._temperatures = temperatures or DirectTemperatures()
        self._statistics: CpuTimeStatistics | None = None

    @property
    def next(self) -> np.ndarray:
        """Room for the field after a step, flat."""
        if self._next is None:
            self._next = padded(self.now.size, self.now.dtype)
        return self._next

    @next.setter
    def next(self, array: np.ndarray) -> None:
        self._next = array

    def swap(self) -> None:
        """Make the successor the field."""
        self.now, self.next = self.next, self.now

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from planes of offsets: see `Field`."""
        self.put_state(self._temperatures.state_planes(planes))

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
        for target, plane in zip(self.state(), planes, strict=True):
            target[:] = plane

    def state(self) -> np.ndarray:
        """The stored array itself, (nz, ny, nx)."""
        return self.now.reshape(self.shape)

    def totals(self, cells: RegionCells) -> RegionTotals:
        """Return the extremes and sums over some cells: see `Field`."""
        return totals(self.cells(cells.indices), self.now[cells.indices], cells)

    def melted_fraction(self) -> np.ndarray:
        """Return the share of each cell that has melted."""
        return self._temperatures.melted_fraction(self.state(), self.dtype)

    def stored(self) -> float:
        """Return the heat over that at the reference temperature, J."""
        return weighted_sum(self.state(), self._capacity, self._class_ids)

    def is_finite(self) -> bool:
        """Return whether every value is a finite number."""
        return isfinite(self.stored())  # also where a cell has no heat capacity: 0 times infinity is not a number

    def was_finite(self) -> bool:
        """`is_finite`: the host has nothing to wait for."""
        return self.is_finite()

    def out_of_range(self) -> Mapping[int, float]:
        """Return the materials that left the range of their properties: see `Field`."""
        return self._temperatures.out_of_range()

    def track(self, request: StatisticsRequest) -> None:
        """Keep statistics over time from now on."""
        self._statistics = CpuTimeStatistics(self._offsets(), request)

    @property
    def tracked(self) -> bool:
        """Whether statistics are kept."""
        return self._statistics is not None

    def sample(self, elapsed: float) -> None:
        """Bring the statistics up to date: see `Field`."""
        if self._statistics is not None:
            self._statistics.sample(self._offsets(), elapsed)

    def statistics(self) -> dict[str, np.ndarray]:
        """Return the statistics by name: see `Field`."""
        return {} if self._statistics is None else self._statistics.fields()

    def saved(self) -> dict[str, np.ndarray]:
        """Return all that the future depends on: see `Field`."""
        return saved_field(self, {} if self._statistics is None else self._statistics.state())

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from what `saved` gave: see `Field`."""
        self.put_state(saved["stored"])
        self._temperatures.restore_out_of_range(saved_range(saved))
        if self._statistics is not None:
            self._statistics.restore(saved_statistics(saved))

    def as_stored(self, values: np.ndarray) -> np.ndarray:
        """Return host values as `stored_cells` gives them."""
        return values

    def _offsets(self) -> np.ndarray:
        """The offsets in the stored precision, (nz, ny, nx); if they are not what is stored, in the room of `next`."""
        if self._temperatures.direct:
            return self.state()
        self._temperatures.fill(self.now, self.next)
        return self.next.reshape(self.shape)
