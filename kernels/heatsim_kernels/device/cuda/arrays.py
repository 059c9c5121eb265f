"""Arrays on the GPU, and the ways to and from them that do not make the GPU wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, driver, driver_call, memory, memory_errors

PIECE = 2**20  # items fetched at once; page-locking more of them would hold up launches for longer
RESERVE = 2**30  # bytes of the GPU's memory left to others
HIGHEST_PRIORITY = -5  # of a stream; a GPU that has fewer takes the highest that it has


class Array:
    """A contiguous array on the GPU; `parameters` are what a kernel is given of it (see `device/cuda/launch.py`)."""

    __slots__ = ("device", "dtype", "parameters", "shape")

    def __init__(self, device: Any) -> None:
        self.device = device
        self.shape, self.dtype = tuple(device.shape), np.dtype(device.dtype)
        self.parameters = () if SIMULATED else _parameters(_address(device), self.shape, self.dtype.itemsize)

    def row(self, k: int) -> Array:
        """Row k of a table, for kernels alone."""
        if SIMULATED:
            return Array(self.device[k])
        row = object.__new__(Array)
        row.device, row.shape, row.dtype = None, self.shape[1:], self.dtype
        stride = self.parameters[5 + len(self.shape)]
        row.parameters = _parameters(self.parameters[4] + k * stride, row.shape, self.dtype.itemsize)
        return row

    def some_rows(self, first: int, count: int) -> Array:
        """Some rows of a table, for kernels alone."""
        if SIMULATED:
            return Array(self.device[first : first + count])
        rows = object.__new__(Array)
        rows.device, rows.shape, rows.dtype = None, (count, *self.shape[1:]), self.dtype
        stride = self.parameters[5 + len(self.shape)]
        rows.parameters = _parameters(self.parameters[4] + first * stride, rows.shape, self.dtype.itemsize)
        return rows

    @property
    def address(self) -> int:
        """Where it begins in the memory of the GPU."""
        return int(self.parameters[4])

    def host(self) -> np.ndarray:
        """A copy on the host, when everything launched so far is done."""
        return np.asarray(self.device.copy_to_host())


def _address(device: Any) -> int:
    return int(device.__cuda_array_interface__["data"][0] or 0)


def _parameters(address: int, shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """meminfo, parent, items, bytes an item, address, shape, strides: Numba's form of an array argument."""
    strides = [itemsize]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * n)
    items = strides[-1] // itemsize * shape[0]
    return 0, 0, items, itemsize, address, *shape, *reversed(strides)


def empty(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """An array of whatever was there. Raises `MemoryError`."""
    with memory_errors():
        return Array(cuda.device_array(shape, dtype))


def on_device(values: np.ndarray) -> Array:
    """A copy of a host array. Raises `MemoryError`."""
    with memory_errors():
        return Array(cuda.to_device(np.ascontiguousarray(values)))


class Table(NamedTuple):
    """Rows on the GPU, the last of which serves all later ones too."""

    array: Array
    rows: int

    def row(self, k: int) -> Array:
        """Row k, or the last."""
        return self.array.row(min(k, self.rows - 1))

    def of_steps(self, first: int, steps: int) -> Table:
        """The rows of some steps, for kernels alone; one is always given."""
        at = min(first, self.rows - 1)
        rows = min(max(1, steps), self.rows - at)
        return self if rows == self.rows else Table(self.array.some_rows(at, rows), rows)


class Upload:
    """A host table (rows, values) that may be another for each batch of launches.

    It goes through page-locked memory, two buffers in turn, so that neither the host nor the GPU waits for the other.
    The caller must have waited for the launches before last when it sends again; `CudaPass.advance` does.
    """

    def __init__(self) -> None:
        self._source: np.ndarray | None = None
        self._table: Table | None = None
        self._buffers: list[np.ndarray] = []

    def send(self, source: np.ndarray, dtype: np.dtype) -> Table:
        """The table on the GPU, rounded to `dtype`; one that is the same object as last time is there already."""
        if self._table is None or source is not self._source:
            self._source, self._table = source, Table(self._array_for(source, dtype), len(source))
            self._buffers.reverse()
            self._buffers[0][: len(source)] = source
            rows = slice(0, len(source))
            copy_in(self._table.array, rows, self._buffers[0][rows])
        return self._table

    def _array_for(self, source: np.ndarray, dtype: np.dtype) -> Array:
        """Where the table goes: the array of last time if it is large enough."""
        old = self._table
        if old is not None and old.array.shape[0] >= len(source) and old.array.shape[1] == source.shape[1]:
            return old.array
        if old is not None:
            cuda.synchronize()  # launches may still read what is given up here
        self._buffers = [cuda.pinned_array(source.shape, dtype) for _ in range(2)]
        return empty(source.shape, dtype)


class Download:
    """A small array fetched in the order of launches, and looked at later."""

    def __init__(self, array: Array) -> None:
        self._array = array
        self._host = cuda.pinned_array(array.shape, array.dtype)
        self._done: Any = None

    def start(self) -> None:
        """Fetch what the launches so far make of the array. Call it after `arrived`."""
        copy_out(self._host, self._array, slice(0, self._host.size))
        self._done = cuda.event()
        self._done.record()

    def arrived(self) -> np.ndarray | None:
        """What the last `start` fetched, or None before the first."""
        if self._done is None:
            return None
        self._done.synchronize()
        return np.asarray(self._host)


class Captures:
    """Copies of arrays of so many items, taken on the GPU at its own speed, and fetched later, by any thread.

    Fetching runs beside the computation, on a stream of its own and through page-locked memory.
    """

    def __init__(self, items: int, dtype: Any) -> None:
        self._spare: list[Array] = []  # taken and given back by single operations, which need no lock
        self._fetching = threading.Lock()
        # Now, since page-locking makes launches of all threads wait.
        self._buffers = [cuda.pinned_array(min(PIECE, items), dtype) for _ in range(2)]
        self._stream = own_stream()

    def take(self, array: Array) -> Callable[[np.ndarray | None, Callable[[int], None]], np.ndarray] | None:
        """A function that gives the host copy of what `array` holds now, put into an array of as many items if it is
        given one, and tells how many items are there as they come; call it once. None if the GPU has no room."""
        try:
            copy = self._spare.pop()
        except IndexError:
            if memory()[0] < 2 * _bytes(array) + RESERVE:
                return None
            copy = empty(array.shape, array.dtype)
        copy.device.copy_to_device(array.device)
        done = cuda.event()
        done.record()
        return lambda room, arrived: self._fetch(copy, done, room, arrived)

    def _fetch(self, copy: Array, done: Any, room: np.ndarray | None, arrived: Callable[[int], None]) -> np.ndarray:
        cuda.current_context()  # attaches this thread
        if SIMULATED:
            return copy.host()
        done.synchronize()
        with self._fetching:  # there is one pair of buffers; `take` does not wait for them
            host = np.empty(_items(copy), copy.dtype) if room is None else room.reshape(-1)
            self._copy_out(copy, host, arrived)
        self._spare.append(copy)
        return host.reshape(copy.shape)

    def _copy_out(self, copy: Array, host: np.ndarray, arrived: Callable[[int], None]) -> None:
        """Piece by piece: one crosses the bus while the last is copied from page-locked memory to the result."""
        size = self._buffers[0].size
        last: tuple[slice, np.ndarray] | None = None

        def keep() -> None:
            if last is not None:
                host[last[0]] = last[1]
                arrived(last[0].stop)

        for number, first in enumerate(range(0, host.size, size)):
            piece, buffer = slice(first, min(first + size, host.size)), self._buffers[number % 2]
            copy_out(buffer, copy, piece, self._stream)
            keep()
            wait_for_launches(self._stream)
            last = piece, buffer[: piece.stop - first]
        keep()


def page_locked(items: int, dtype: Any) -> np.ndarray:
    """Room on the host from and to which the GPU copies without waiting."""
    return np.asarray(cuda.pinned_array(items, dtype))


def copy_out(target: np.ndarray, source: Array, piece: slice, stream: int = 0) -> None:
    """Copy part of a flat array to page-locked memory in the order of launches on a stream, without waiting."""
    if SIMULATED:
        target[: piece.stop - piece.start] = source.host()[piece]
        return
    item = source.dtype.itemsize
    address, size = source.address + piece.start * item, (piece.stop - piece.start) * item
    driver_call(driver().cuMemcpyDtoHAsync(target.ctypes.data, address, size, stream))


def copy_in(target: Array, piece: slice, source: np.ndarray, stream: int = 0) -> None:
    """Copy page-locked memory to some rows of an array, or items of a flat one, in the order of launches on a stream,
    without waiting."""
    if SIMULATED:
        target.device[piece].copy_to_device(source)
        return
    at = target.address + piece.start * prod(target.shape[1:]) * target.dtype.itemsize
    driver_call(driver().cuMemcpyHtoDAsync(at, source.ctypes.data, source.nbytes, stream))


def wait_for_launches(stream: int = 0) -> None:
    """Wait until all that was launched and copied so far on a stream is done."""
    if not SIMULATED:
        driver_call(driver().cuStreamSynchronize(stream))


def own_stream() -> int:
    """A stream that does not wait for the default stream, nor the default stream for it. What is launched on it begins
    first where there is no room for all."""
    if SIMULATED:
        return 0
    flag = driver().CUstream_flags.CU_STREAM_NON_BLOCKING
    return int(driver_call(driver().cuStreamCreateWithPriority(flag, HIGHEST_PRIORITY)))


def put_after(later: int, earlier: int) -> None:
    """Have what is launched on one stream from now on wait for all that was launched on another."""
    if SIMULATED:
        return
    event = driver_call(driver().cuEventCreate(driver().CUevent_flags.CU_EVENT_DISABLE_TIMING))
    driver_call(driver().cuEventRecord(event, earlier))
    driver_call(driver().cuStreamWaitEvent(later, event, 0))
    driver_call(driver().cuEventDestroy(event))  # once it has happened


def _items(array: Array) -> int:
    return prod(array.shape)


def _bytes(array: Array) -> int:
    return _items(array) * int(array.dtype.itemsize)
