"""A field on a CUDA device and the means to advance it; the movement of data is a choice of kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..cuda_api import cuda, device_name, shared_memory
from ..cuda_launch import Resources, kernel
from ..cuda_memory import Array, Captures, Download, Table, Upload, empty, on_device
from . import cuda_reads, cuda_wall_flows, cuda_zone_sums, temporal
from .cuda_cell import Heat, Medium, Shape, Walls
from .structure import Structure
from .temporal import Rates, Tables
from .temporal_launch import FusedSteps, classes_of, tables_of
from .terms import Drive, Terms
from .tuning import tile_for

NOTHING = np.zeros((1, 1))  # in place of a table that a problem has not


class Batch(NamedTuple):
    """What the steps of one `advance` have in common, on the device."""

    structure: Structure
    wall_a: Table
    wall_b: Table
    weights: Array
    medium: Medium
    heat_table: Table
    dt: np.floating
    heat_field: Array
    gains: np.ndarray


class CudaSweep:
    """A field on the GPU: see `Sweep` in `stencil/__init__.py`.

    movement: a module such as `basic`, which takes single steps; `tile` one of its TILES (default: see `tuning`).
    fused: whether to take several steps at once, by `temporal`, where these can be fused.
    """

    device = "cuda"

    def __init__(
        self, terms: Terms, dtype: np.dtype, movement: ModuleType, tile: Any = None, fused: bool = False
    ) -> None:
        self.terms, self.dtype = terms, np.dtype(dtype)
        self.name = "temporal" if fused else movement.__name__.rpartition(".")[2]
        self._movement, self._given_tile, self._to_fuse = movement, tile, fused
        self._fused: dict[Structure, FusedSteps | None] = {}
        cells = int(np.prod(terms.shape))
        self._u, self._v = empty(cells, self.dtype), empty(cells, self.dtype)
        self._zones = on_device(np.zeros(1, np.uint8) if terms.zones is None else terms.zones.reshape(-1))
        self._shape, self._zone_count = Shape(*(np.uint32(n) for n in terms.shape)), np.uint32(terms.zone_count)
        self._offsets, self._places = on_device(terms.wall_offsets), on_device(terms.cell_offsets)
        self._open_faces = np.flatnonzero(~np.array(terms.closed)).astype(np.int32)
        self._faces = on_device(self._open_faces if self._open_faces.size else np.zeros(1, np.int32))
        self._entered = on_device(np.zeros((6, cuda_wall_flows.BLOCKS)))
        self._zone_partial = empty(cuda_zone_sums.BLOCKS, np.float64)
        self._watch = Download(self._zone_partial)
        self._uploads = {name: Upload() for name in ("a", "b", "table", "rates", "weights")}
        self._device_name = device_name()
        self._captures = Captures()
        self._dt = np.nan
        self._heat_source: np.ndarray | None = None
        self._heat_field: Array | None = None
        self._done: Any = None

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        size = self.terms.shape[1] * self.terms.shape[2]
        for z, plane in zip(range(self.terms.shape[0]), planes, strict=True):
            values = np.ascontiguousarray(plane, self.dtype).reshape(-1)
            self._u.device[z * size : (z + 1) * size].copy_to_device(values)

    def field(self) -> np.ndarray:
        """A host copy of the field, (nz, ny, nx)."""
        return self._u.host().reshape(self.terms.shape)

    def capture(self) -> Callable[[], np.ndarray] | None:
        """A function that gives the field of now, (nz, ny, nx), later and from any thread; None if memory is short."""
        fetch = self._captures.take(self._u)
        return None if fetch is None else lambda: fetch().reshape(self.terms.shape)

    def plane(self, axis: int, index: int) -> np.ndarray:
        """A host copy of one plane; axis 0, 1, 2 is z, y, x of the array."""
        strides = [self.terms.shape[1] * self.terms.shape[2], self.terms.shape[2], 1]
        (rows, columns), first = np.delete(self.terms.shape, axis), index * strides.pop(axis)
        out = empty(int(rows * columns), self.dtype)
        args = (self._u, np.int64(first), np.int64(columns), *map(np.int64, strides), out)
        kernel(cuda_reads.build_plane, None, args)(cuda_reads.grid(rows * columns), (cuda_reads.THREADS, 1, 1), args)
        return out.host().reshape(rows, columns)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""
        chosen = np.asarray(indices, np.int64)
        if not chosen.size:
            return np.empty(chosen.shape, self.dtype)
        args = (self._u, on_device(chosen.reshape(-1)), empty(chosen.size, self.dtype))
        kernel(cuda_reads.build_cells, None, args)(cuda_reads.grid(chosen.size), (cuda_reads.THREADS, 1, 1), args)
        return args[2].host().reshape(chosen.shape)

    def zone_sums(self) -> np.ndarray:
        """(n,) sums of the field over each zone, float64."""
        zones = self.terms.zones is not None
        return np.array([self._sum(zone, zones) for zone in range(self.terms.zone_count)])

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""
        return bool(np.isfinite(self._sum(0, zones=False)))

    def was_finite(self) -> bool:
        """Whether every value was finite at the last call; True at the first. Waits for nothing."""
        before = self._watch.arrived()
        self._start_sum(0, zones=False)
        self._watch.start()
        return before is None or bool(np.isfinite(before.sum()))

    def _sum(self, zone: int, zones: bool) -> float:
        """Sum of the cells of one zone, or of all."""
        self._start_sum(zone, zones)
        return float(self._zone_partial.host().sum())

    def _start_sum(self, zone: int, zones: bool) -> None:
        args = (self._u, self._zones, np.int64(zone), self._zone_partial)
        summing = kernel(cuda_zone_sums.build, zones, args)
        summing((cuda_zone_sums.BLOCKS, 1, 1), (cuda_zone_sums.THREADS, 1, 1), args)

    def heat_entered(self) -> np.ndarray:
        """(6,) heat that has entered through each of FACES since the start, J."""
        return self._entered.host().sum(axis=1)

    def synchronize(self) -> None:
        """Wait until all steps taken so far are done."""
        cuda.synchronize()

    def resources(self, drive: Drive) -> Resources:
        """What the kernel takes of the GPU, the fused one where steps are fused."""
        batch = self._batch(1.0, drive)
        fused = self._fused_for(batch.structure)
        if fused is not None:
            return fused.resources(self._u, *_for_fused(batch))
        return self._sweep(batch).resources(self._tile(batch).block)

    def advance(self, dt: float, steps: int, drive: Drive) -> None:
        """Advance `steps` steps of `dt` seconds. Returns when the steps of the call before are done: the host is one
        batch ahead of the device, so neither waits for the other."""
        batch = self._batch(dt, drive)
        sweep = self._sweep(batch)
        tile = self._tile(batch)
        grid, block = self._movement.grid(self.terms.shape, tile), tile.block
        fused, k = self._fused_for(batch.structure), 0
        while k < steps:
            if fused is not None and k + fused.steps <= steps:
                fused.launch(self._u, self._v, k, *_for_fused(batch), batch.medium.rates)
                self._count_flows(batch, k, fused.steps, fused.trace)
                taken = fused.steps
            else:
                self._count_flows(batch, k, 1, self._v)
                sweep(grid, block, self._sweep_args(batch, k))
                taken = 1
            self._u, self._v = self._v, self._u
            k += taken
        self._wait_for_previous()

    def _fused_for(self, structure: Structure) -> FusedSteps | None:
        """The means to take several steps of such problems at once, if this sweep is to and they can be."""
        if self._to_fuse and structure not in self._fused:
            self._fused[structure] = self._make_fused(structure)
        return self._fused.get(structure)

    def _make_fused(self, structure: Structure) -> FusedSteps | None:
        shape, several = self.terms.shape, structure.pairs or structure.zones
        tiles = (temporal.ZONED_TILES if several else temporal.TILES)[structure.dtype]
        room = shared_memory()
        for tile in tiles:
            if temporal.fuses(structure, tile, shape, zones=True) and temporal.shared_bytes(tile, structure) <= room:
                classes = classes_of(structure, tile, shape, self._zones, int(self._zone_count)) if several else None
                if several and classes is None:
                    return None
                return FusedSteps(structure, tile, shape, traced=bool(self._open_faces.size), classes=classes)
        return None

    def _batch(self, dt: float, drive: Drive) -> Batch:
        """Send what the steps need, unless it is there already."""
        kind, send = self.dtype, self._uploads
        if dt != self._dt:
            self._dt = dt
            self._rates = (dt * self.terms.exchange).astype(kind).reshape(1, -1)
            weights = (dt * self.terms.self_exchange()).astype(kind).astype(np.float64) * self.terms.capacity
            self._weights = weights.reshape(1, -1)
        uniform = self._rates.reshape(3, -1)[:, 0]
        rates = send["rates"].send(self._rates, kind).row(0)
        return Batch(
            Structure.of(self.terms, drive, kind),
            send["a"].send(drive.wall_a, kind),
            send["b"].send(drive.wall_b, kind),
            send["weights"].send(self._weights, np.dtype(np.float64)).row(0),
            Medium(*uniform, rates, self._zones, self._zone_count),
            send["table"].send(NOTHING if drive.heat_table is None else drive.heat_table, kind),
            kind.type(dt),
            self._field_of(drive.heat_field),
            (dt * drive.heat_scale).astype(kind),
        )

    def _field_of(self, source: np.ndarray | None) -> Array:
        """A source by cell, flat, on the device; there already if it is the same object as last time."""
        if self._heat_source is not source or self._heat_field is None:
            self._heat_source = source
            self._heat_field = on_device((NOTHING if source is None else source).astype(self.dtype).reshape(-1))
        return self._heat_field

    def _tile(self, batch: Batch) -> Any:
        return self._given_tile or tile_for(self._movement, batch.structure, self.terms.shape, self._device_name)

    def _sweep(self, batch: Batch) -> Any:
        return kernel(self._movement.build, (batch.structure, self._tile(batch)), self._sweep_args(batch, 0))

    def _walls(self, batch: Batch, k: int) -> Walls:
        return Walls(batch.wall_a.row(k), batch.wall_b.row(k), self._offsets)

    def _sweep_args(self, batch: Batch, k: int) -> tuple[Any, ...]:
        """What the sweep is given in step k of a batch."""
        gain = batch.gains[min(k, len(batch.gains) - 1)]
        heat = Heat(batch.heat_table.row(k), batch.dt, batch.heat_field, gain)
        return self._u, self._v, self._shape, self._walls(batch, k), batch.medium, heat

    def _count_flows(self, batch: Batch, k: int, steps: int, trace: Array) -> None:
        """Enter what passes the walls in some steps of a batch, from step k on, into the ledger."""
        if not self._open_faces.size:
            return
        walls = (batch.wall_a.array, batch.wall_b.array, np.int32(batch.wall_a.rows), self._offsets)
        cells = (self._u, trace, self._places, np.int32(steps), np.int32(k), *self._shape, self._faces)
        args = (*cells, *walls, self._zones, self._zone_count, batch.weights, self._entered)
        flows = kernel(cuda_wall_flows.build, batch.structure, args)
        flows((cuda_wall_flows.BLOCKS, self._open_faces.size, 1), (cuda_wall_flows.THREADS, 1, 1), args)

    def _wait_for_previous(self) -> None:
        """Wait until the steps of the call before are done."""
        done = cuda.event()
        done.record()
        if self._done is not None:
            self._done.synchronize()
        self._done = done


def _for_fused(batch: Batch) -> tuple[Tables, Rates]:
    """What a fused sweep is given of a batch."""
    return tables_of(batch.wall_a, batch.wall_b, batch.heat_table), Rates(*batch.medium[:3], batch.dt)
