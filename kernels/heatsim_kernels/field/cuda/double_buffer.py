"""A field on the GPU and its successor: how it is set and read, whatever advances it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from heatsim_kernels.field.cuda import cell_reads, field_sums
from heatsim_kernels.runtime.cuda.arrays import Array, Captures, Download, empty, on_device
from heatsim_kernels.runtime.cuda.launch import kernel

CHECKED_PLANE_STRIDE = 8


class DoubleBufferedField:
    """A field of `shape` (nz, ny, nx), flat in `now`; steps write `next` and call `swap`."""

    def __init__(self, shape: tuple[int, int, int], dtype: np.dtype, capacity: np.ndarray, kinds: Array | None) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        cells = int(np.prod(shape))
        self.now, self.next = empty(cells, self.dtype), empty(cells, self.dtype)
        self._several = kinds is not None
        self._kinds = on_device(np.zeros(1, np.uint8)) if kinds is None else kinds
        self._capacity, self._one = on_device(np.asarray(capacity, np.float64)), on_device(np.ones(1))
        self._partial_sums = empty(field_sums.BLOCKS, np.float64)
        self._watch = Download(self._partial_sums)
        self._captures = Captures(cells, self.dtype)

    def swap(self) -> None:
        """The successor is the field from now on."""
        self.now, self.next = self.next, self.now

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        size = self.shape[1] * self.shape[2]
        for z, plane in zip(range(self.shape[0]), planes, strict=True):
            values = np.ascontiguousarray(plane, self.dtype).reshape(-1)
            self.now.device[z * size : (z + 1) * size].copy_to_device(values)

    def host(self) -> np.ndarray:
        """A host copy, (nz, ny, nx)."""
        return self.now.host().reshape(self.shape)

    def capture(self) -> Callable[[], np.ndarray] | None:
        """A function that gives the field of now, (nz, ny, nx), later and from any thread; None if memory is short."""
        fetch = self._captures.take(self.now)
        return None if fetch is None else lambda: fetch().reshape(self.shape)

    def plane(self, axis: int, index: int) -> np.ndarray:
        """A host copy of one plane; axis 0, 1, 2 is z, y, x of the array."""
        strides = [self.shape[1] * self.shape[2], self.shape[2], 1]
        (rows, columns), first = np.delete(self.shape, axis), index * strides.pop(axis)
        out = empty(int(rows * columns), self.dtype)
        args = (self.now, np.int64(first), np.int64(columns), *map(np.int64, strides), out)
        kernel(cell_reads.build_plane, None, args)(cell_reads.grid(rows * columns), (cell_reads.THREADS, 1, 1), args)
        return out.host().reshape(rows, columns)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""
        chosen = np.asarray(indices, np.int64)
        if not chosen.size:
            return np.empty(chosen.shape, self.dtype)
        args = (self.now, on_device(chosen.reshape(-1)), empty(chosen.size, self.dtype))
        kernel(cell_reads.build_cells, None, args)(cell_reads.grid(chosen.size), (cell_reads.THREADS, 1, 1), args)
        return args[2].host().reshape(chosen.shape)

    def stored(self) -> float:
        """Sum of heat capacity times field, J."""
        self._start_sum(self._capacity, self._several)
        return float(self._partial_sums.host().sum())

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""
        self._start_sum(self._one, several=False)
        return bool(np.isfinite(self._partial_sums.host().sum()))

    def was_finite(self) -> bool:
        """Whether every value looked at was finite at the last call; True at the first. Waits for nothing. Looked at is
        every APART-th plane, which what is not finite reaches in as many steps."""
        before = self._watch.arrived()
        nz, ny, nx = self.shape
        apart = CHECKED_PLANE_STRIDE if nz >= 2 * CHECKED_PLANE_STRIDE else 1
        planes = -(-nz // apart)
        args = (self.now, *map(np.uint64, (planes, ny * nx, apart)), self._partial_sums)
        summing = kernel(field_sums.build_of_planes, None, args)
        summing(field_sums.grid_of_planes(planes), (field_sums.THREADS, 1, 1), args)
        self._watch.start()
        return before is None or bool(np.isfinite(before.sum()))

    def _start_sum(self, weights: Array, several: bool) -> None:
        args = (self.now, self._kinds, weights, self._partial_sums)
        summing = kernel(field_sums.build, several, args)
        summing((field_sums.BLOCKS, 1, 1), (field_sums.THREADS, 1, 1), args)
