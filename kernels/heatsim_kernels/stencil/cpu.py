"""CPU sweep: a field in memory, advanced by all cores."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..cpu_memory import CACHE_LINE, padded
from ..cpu_threads import limited, threads_for
from .cpu_pass import Buffers, Heat, advance
from .cpu_places import Grid
from .cpu_rows import Medium
from .cpu_runs import find_runs
from .cpu_tiling import Shape, scratch_rows, steps_to_fuse, tiling
from .cpu_walls import Walls
from .terms import Drive, Terms
from .zone_sums import zone_sums

STREAM_FROM = 12 * 2**20  # bytes of a field above which results bypass the cache


class CpuSweep:
    """A field on the CPU and the means to advance it: see `Sweep` in `stencil/__init__.py`.

    `fused` is the number of steps that a pass over memory takes, at most; None chooses it for the problem, 1 is a
    single sweep a step. The field does not depend on it, the energy ledger in its last digits.
    """

    name = "cpu"
    device = "cpu"

    def __init__(self, terms: Terms, dtype: np.dtype, fused: int | None = None) -> None:
        self.terms, self.dtype = terms, np.dtype(dtype)
        cells = int(np.prod(terms.shape))
        self._u, self._v = padded(cells, dtype), padded(cells, dtype)
        self._zones = None if terms.zones is None else np.ascontiguousarray(terms.zones).reshape(-1)
        self._runs = find_runs(terms)
        self._threads = threads_for(cells)
        self._grid = Grid(*terms.shape, *terms.periodic)
        per_line = CACHE_LINE // self.dtype.itemsize
        # A line between rows: rows of a power of two would all fall on one set of the cache.
        pitch = (-(-terms.shape[2] // per_line) + 1) * per_line
        shape = Shape(terms.shape, terms.periodic[2], terms.periodic[1], pitch * self.dtype.itemsize)
        self.fused = fused or steps_to_fuse(shape)
        self._tiles = tiling(shape, self.fused, self._threads)
        self._buffers = Buffers(pitch, per_line, cells * self.dtype.itemsize > STREAM_FROM)
        rows = scratch_rows(shape, self._tiles, self.fused)
        self._scratch = padded(self._threads * rows * pitch, dtype).reshape(self._threads, -1)
        self._flows = np.zeros((self._tiles[-1, 4] + 1, terms.shape[0], 6))

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        for target, plane in zip(self.field(), planes, strict=True):
            target[:] = plane

    def field(self) -> np.ndarray:
        """The field itself, (nz, ny, nx), to look at until the next `advance`."""
        return self._u.reshape(self.terms.shape)

    def capture(self) -> None:
        """None: a copy of the field would be on the host as well."""

    def plane(self, axis: int, index: int) -> np.ndarray:
        """A copy of one plane; axis 0, 1, 2 is z, y, x of the array."""
        return self.field().take(index, axis)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""
        return self._u[indices]

    def zone_sums(self) -> np.ndarray:
        """(n,) sums of the field over each zone, float64."""
        return zone_sums(self.field(), self.terms.zones, self.terms.zone_count)

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""
        return bool(np.isfinite(zone_sums(self.field(), None, 1)[0]))

    def was_finite(self) -> bool:
        """`is_finite`: the host has nothing to wait for."""
        return self.is_finite()

    def heat_entered(self) -> np.ndarray:
        """(6,) heat that has entered through each of FACES since the start, J."""
        return self._flows.sum(axis=(0, 1))

    def advance(self, dt: float, steps: int, drive: Drive) -> None:
        """Advance `steps` steps of `dt` seconds."""
        with limited(self._threads):
            advance(
                self._u,
                self._v,
                steps,
                self.fused,
                self._grid,
                self._buffers,
                self._tiles,
                self._scratch,
                self._medium(dt),
                self._heat(dt, drive),
                self._walls(dt, drive),
                self._flows,
            )
        if -(-steps // self.fused) % 2:
            self._u, self._v = self._v, self._u

    def _medium(self, dt: float) -> Medium:
        rates = (dt * self.terms.exchange).astype(self.dtype)
        rx, ry, rz = rates.reshape(3, -1)[:, 0]
        pairs = rates.reshape(-1) if rates.ndim == 3 else None
        return Medium(rx, ry, rz, pairs, self._zones, *self._runs, self.terms.zone_count)

    def _heat(self, dt: float, drive: Drive) -> Heat:
        kind = self.dtype
        table = None if drive.heat_table is None else drive.heat_table.astype(kind)
        field = None if drive.heat_field is None else drive.heat_field.astype(kind, copy=False).reshape(-1)
        gain = (dt * drive.heat_scale).astype(kind)
        return Heat(table, 1 if table is None else len(table), kind.type(dt), field, gain, len(gain))

    def _walls(self, dt: float, drive: Drive) -> Walls:
        terms, kind = self.terms, self.dtype
        weights = (dt * terms.self_exchange()).astype(kind).astype(np.float64) * terms.capacity
        a, b = drive.wall_a.astype(kind), drive.wall_b.astype(kind)
        closed = np.array(terms.closed, np.uint8)
        return Walls(
            a,
            b,
            *a.shape,
            terms.wall_per_cell,
            terms.wall_offsets,
            closed,
            weights.reshape(-1),
            terms.zone_count,
        )
