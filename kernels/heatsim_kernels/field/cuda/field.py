"""The field in the memory of a GPU: see `Field`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

import numpy as np

from heatsim_kernels.device.cuda.arrays import Array, Captures, Download, empty, on_device
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.field import Fetch, FieldCells, StoredField, Temperatures
from heatsim_kernels.field.cuda import cell_reads, field_sums
from heatsim_kernels.field.cuda.block_reduction import THREADS
from heatsim_kernels.field.cuda.cell_reads import gathered, read_cells
from heatsim_kernels.field.cuda.region_reductions import CudaRegionTotals, of_parts
from heatsim_kernels.field.cuda.time_statistics import CudaTimeStatistics
from heatsim_kernels.field.region_reductions import RegionCells, RegionTotals
from heatsim_kernels.field.time_statistics import StatisticsRequest

CHECKED_PLANE_STRIDE = 8


class CudaField(StoredField[Array]):
    """A `Field` on the GPU.

    class_ids: the class of each cell, flat, on the GPU; one element where there is a single class. parts: how many
    sums `start_stored` makes, as many of each plane.
    """

    device = "cuda"

    def __init__(
        self,
        cells: FieldCells,
        dtype: np.dtype,
        stored_dtype: np.dtype | None = None,
        temperatures: Temperatures | None = None,
        whole: tuple[int, int, int] | None = None,
    ) -> None:
        """whole: (nz, ny, nx) of the grid, of which the cells may be a slab; for other arguments see `StoredField`."""
        self._parts_of_plane = field_sums.blocks_of_plane(whole or cells.shape)
        self.parts = cells.shape[0] * self._parts_of_plane
        super().__init__(cells, dtype, stored_dtype, temperatures)

    def _keep(self, cells: FieldCells) -> None:
        classes = cells.classes_to_look_up
        self._several = classes is not None
        self.class_ids = on_device(np.zeros(1, np.uint8) if classes is None else classes)
        self._capacity, self._one = on_device(np.asarray(cells.capacity, np.float64)), on_device(np.ones(1))
        self._stored_sums, self._partial_sums = empty(self.parts, np.float64), empty(field_sums.BLOCKS, np.float64)
        self._last_check = Download(self._partial_sums)
        self._captures = Captures(prod(self.shape), self.dtype if self._temperatures.direct else self._stored_dtype)
        self._region_totals = CudaRegionTotals(self.shape[1] * self.shape[2])

    def host(self) -> np.ndarray:
        """A host copy of the offsets."""
        return self._temperatures.whole(self._read_out().host().reshape(self.shape), self.dtype)

    def planes(self) -> Iterator[np.ndarray]:
        """The planes of the offsets: see `Field`."""
        if not self._temperatures.direct:  # then the whole is looked at for what has left its range
            yield from self.host()
            return
        size = self.shape[1] * self.shape[2]
        for z in range(self.shape[0]):
            values = self.now.device[z * size : (z + 1) * size].copy_to_host()
            yield np.asarray(values, self.dtype).reshape(self.shape[1:])

    def capture(self) -> Fetch | None:
        """Return a function that gives `host` as of now: see `Field`. None if the GPU's memory is short."""
        fetch = self._captures.take(self._read_out())
        if fetch is None:
            return None
        direct = self._temperatures.direct
        if direct:
            return lambda room, arrived: fetch(room, arrived).reshape(self.shape)
        return lambda room, arrived: self._temperatures.whole(
            fetch(None, lambda count: None).reshape(self.shape), self.dtype
        )

    def plane(self, axis: int, index: int) -> np.ndarray:
        """Return a host copy of one plane: see `Field`."""
        strides = [self.shape[1] * self.shape[2], self.shape[2], 1]
        start = index * strides.pop(axis)
        rows, columns = (n for each, n in enumerate(self.shape) if each != axis)
        out = empty(rows * columns, self._stored_dtype)
        args = (self.now, np.int64(start), np.int64(columns), *map(np.int64, strides), out)
        kernel(cell_reads.build_plane, None, args)(cell_reads.grid(rows * columns), (cell_reads.THREADS, 1, 1), args)
        return self._temperatures.plane(out.host().reshape(rows, columns), axis, index, self.dtype)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """Return the values of some cells: see `Field`."""
        chosen = np.asarray(indices, np.int64)
        return self._temperatures.cells(read_cells(self.now, chosen), chosen, self.dtype)

    def stored_cells(self, indices: Array) -> Array:
        """Return the stored values of some cells, which stay on the GPU: see `Field`."""
        return gathered(self.now, indices)

    def put_state(self, planes: Iterable[np.ndarray]) -> None:
        """Set the stored values: see `Field`."""
        self.changes += 1
        size = self.shape[1] * self.shape[2]
        for z, plane in zip(range(self.shape[0]), planes, strict=True):
            values = np.ascontiguousarray(plane, self._stored_dtype).reshape(-1)
            self.now.device[z * size : (z + 1) * size].copy_to_device(values)

    def state(self) -> np.ndarray:
        """A host copy of the stored values, (nz, ny, nx)."""
        return self.now.host().reshape(self.shape)

    def totals(self, cells: RegionCells) -> RegionTotals:
        """Return the extremes and sums over some cells, found on the GPU: see `Field`."""
        return of_parts(self.parts_of_totals(cells))

    def parts_of_totals(self, cells: RegionCells) -> np.ndarray:
        """Return what `totals` is made of, plane by plane: see `CudaRegionTotals`."""
        return self._region_totals.parts(self._offsets(), self.now, cells)

    def extremes(self, cells: RegionCells) -> tuple[float, float]:
        """Return the extremes of some cells: see `Field`."""
        low, high, _, _ = self.totals(cells)
        return low, high

    def melted_fraction(self) -> np.ndarray:
        """Return the share of each cell that has melted."""
        state = np.broadcast_to(0.0, self.shape) if self._temperatures.direct else self.state()
        return self._temperatures.melted_fraction(state, self.dtype)

    def stored(self) -> float:
        """Return the heat over that at the reference temperature, J."""
        return self.sum_of_parts(self.stored_parts())

    def stored_parts(self) -> np.ndarray:
        """Return (nz,) the heat of each plane, J."""
        self.start_stored(self._stored_sums)
        return np.asarray(self._stored_sums.host().reshape(self.shape[0], -1).sum(axis=1))

    @staticmethod
    def sum_of_parts(parts: np.ndarray) -> float:
        """Return what `stored` makes of the parts of all planes."""
        return float(parts.sum())

    def start_stored(self, sums: Array) -> None:
        """Start to find `stored`, as `parts` sums."""
        plane = np.uint64(self.shape[1] * self.shape[2]), np.uint64(self._parts_of_plane)
        args = (self.now, self.class_ids, self._capacity, *plane, sums)
        summing = kernel(field_sums.build_by_plane, self._several, args)
        summing((self.parts, 1, 1), (THREADS, 1, 1), args)

    def is_finite(self) -> bool:
        """Return whether every value is a finite number."""
        args = (self.now, self.class_ids, self._one, self._partial_sums)
        kernel(field_sums.build, False, args)((field_sums.BLOCKS, 1, 1), (THREADS, 1, 1), args)
        return bool(np.isfinite(self._partial_sums.host().sum()))

    def was_finite(self) -> bool:
        """Return whether the values looked at were finite at the last call; True at the first. Waits for nothing.

        Only every CHECKED_PLANE_STRIDE-th plane is looked at, which a value that is not finite reaches in as many
        steps.
        """
        before = self._last_check.arrived()
        nz, ny, nx = self.shape
        apart = CHECKED_PLANE_STRIDE if nz >= 2 * CHECKED_PLANE_STRIDE else 1
        planes = -(-nz // apart)
        args = (self.now, *map(np.uint64, (planes, ny * nx, apart)), self._partial_sums)
        summing = kernel(field_sums.build_of_planes, None, args)
        summing(field_sums.grid_of_planes(planes), (THREADS, 1, 1), args)
        self._last_check.start()
        return before is None or bool(np.isfinite(before.sum()))

    def _room(self) -> Array:
        return empty(prod(self.shape), self._stored_dtype)

    def as_stored(self, values: np.ndarray) -> Array:
        """Return host values as `stored_cells` gives them."""
        return on_device(np.ascontiguousarray(values))

    def _begin_statistics(self, request: StatisticsRequest) -> CudaTimeStatistics:
        return CudaTimeStatistics(self._offsets(), self.shape, request)

    def _read_out(self) -> Array:
        """What crosses the bus for a whole field: stored offsets are rounded to `dtype` first."""
        if not self._temperatures.direct or self._stored_dtype == self.dtype:
            return self.now
        rounded = empty(self.now.shape, self.dtype)
        args = (self.now, rounded)
        kernel(cell_reads.build_rounded, None, args)(
            cell_reads.grid(self.now.shape[0]), (cell_reads.THREADS, 1, 1), args
        )
        return rounded
