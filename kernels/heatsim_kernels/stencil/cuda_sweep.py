"""A field on a CUDA device and the means to advance it; the movement of data is a choice of kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..cuda_api import cuda, device_name, shared_memory
from ..cuda_launch import Resources, kernel
from ..cuda_memory import Array, Table, Upload, empty, on_device
from ..cuda_watch import CudaWatch
from ..watch import Wanted
from . import cuda_defect, temporal
from .cuda_block_sum import THREADS
from .cuda_cell import RATES, Heat, Medium, Shape, StagedHeat, Walls
from .cuda_field import DeviceField
from .cuda_ledger import Entering, Ledger
from .cuda_windows import Windows
from .pieces import pieces
from .stages import Defect, Stage, StageFields
from .structure import Structure
from .temporal import Rates, Tables
from .temporal_kinds import Kinds
from .temporal_launch import FusedSteps, tables_of
from .terms import Drive, Terms
from .tuning import tile_for

Launch = Callable[[], None]
NOTHING = np.zeros((1, 1))  # in place of a table that a problem has not


class Batch(NamedTuple):
    """What the steps of one `advance` have in common, on the device. The first four fields are those of `Entering`."""

    structure: Structure
    wall_a: Table
    wall_b: Table
    weights: Array
    medium: Medium
    heat_table: Table
    dt: np.floating
    heat_field: Array
    gains: np.ndarray

    @property
    def rows(self) -> int:
        """Steps after which all are alike."""
        return max(self.wall_a.rows, self.wall_b.rows, self.heat_table.rows, len(self.gains))


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
        self._kinds = on_device(np.zeros(1, np.uint8) if terms.kinds is None else terms.kinds.reshape(-1))
        several = terms.kinds is not None
        self._field = DeviceField(terms.shape, self.dtype, terms.capacity, self._kinds if several else None)
        self._shape, self._offsets = Shape(*(np.uint32(n) for n in terms.shape)), on_device(terms.wall_offsets)
        self._ledger = Ledger(terms, self._kinds)
        self._uploads = {name: Upload() for name in ("a", "b", "table", "rates", "weights")}
        self._device_name = device_name()
        self._dt = np.nan
        self._heat_source: np.ndarray | None = None
        self._heat_field: Array | None = None
        self._done: Any = None
        self._spare: list[Array] | None = None  # two more fields, for those who take stages
        self._defects: Array | None = None
        self._sweeps: dict[Structure, tuple[Any, ...]] = {}  # kernels of single steps and stages, with grids and blocks
        self._windows = Windows(terms.shape, self.dtype)
        self._looks: CudaWatch | None = None

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        self._field.put(planes)

    def field(self) -> np.ndarray:
        """A host copy of the field, (nz, ny, nx)."""
        return self._field.host()

    def capture(self) -> Callable[[], np.ndarray] | None:
        """A function that gives the field of now, (nz, ny, nx), later and from any thread; None if memory is short."""
        return self._field.capture()

    def plane(self, axis: int, index: int) -> np.ndarray:
        """A host copy of one plane; axis 0, 1, 2 is z, y, x of the array."""
        return self._field.plane(axis, index)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""
        return self._field.cells(indices)

    def stored(self) -> float:
        """Sum of capacity times field over all cells, J."""
        return self._field.stored()

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""
        return self._field.is_finite()

    def was_finite(self) -> bool:
        """Whether every value was finite at the last call; True at the first. Waits for nothing."""
        return self._field.was_finite()

    def heat_entered(self) -> np.ndarray:
        """(6 + ambients,) heat that has entered through each of FACES and from each ambient since the start, J."""
        return self._ledger.entered()

    def synchronize(self) -> None:
        """Wait until all steps taken so far are done."""
        cuda.synchronize()

    def resources(self, drive: Drive) -> Resources:
        """What the kernel takes of the GPU, the fused one where steps are fused."""
        batch = self._batch(1.0, drive)
        fused = self._fused_for(batch.structure)
        if fused is not None:
            return fused.resources(self._field.now, *_for_fused(batch), batch.medium.rates)
        sweep, _, block = self._sweep(batch, self._sweep_args(batch, 0))
        return sweep.resources(block)

    def advance(self, dt: float, steps: int, drive: Drive) -> None:
        """Advance `steps` steps of `dt` seconds. Returns when the steps of the call before are done: the host is one
        batch ahead of the device, so neither waits for the other. No step makes all kernels ready that steps need."""
        batch = self._batch(dt, drive)
        known: dict[tuple[int, int, int], list[Launch]] = {}
        if steps == 0:
            self._make_ready(batch)
        for first, count, deposits in pieces(drive.deposits, steps, one_by_one=self._looks is not None):
            self._take(batch, first, first + count, known)
            if deposits:
                self._windows.add(self._field.now, first + count - 1, dt)
            self.look(count * dt)
        self._wait_for_previous()

    def watch(self, wanted: Wanted) -> None:
        """Watch the field from now on: see `Sweep`."""
        self._looks = CudaWatch(self._field.now, self.terms.shape, wanted)

    def look(self, elapsed: float) -> None:
        """Take note of the field, if it is watched, `elapsed` s after the last look. Returns at once."""
        if self._looks is not None:
            self._looks.look(self._field.now, elapsed)

    def seen(self) -> dict[str, np.ndarray]:
        """What was seen of the field so far: see `CudaWatch.fields`."""
        return {} if self._looks is None else self._looks.fields()

    def _take(self, batch: Batch, k: int, end: int, known: dict[tuple[int, int, int], list[Launch]]) -> None:
        """Take steps k to end - 1 of a batch, of which some launches are `known`."""
        most = self._most(batch)
        while k < end:
            taken = most if k + most <= end else 1
            # Steps that are alike are launched alike, from one field to the other and back.
            alike = min(k, batch.rows - 1), taken, id(self._field.now)
            if alike not in known:
                known[alike] = self._launches(batch, k, taken)
            for launch in known[alike]:
                launch()
            self._field.swap()
            k += taken

    def take_stages(self, dt: float, stages: Sequence[Stage], first: int, drive: Drive) -> None:
        """Take stages of a step of `dt` seconds: see `Sweep`. Waits as `advance` does."""
        if first == 0:
            if self._spare is None:
                self._spare = [empty(self._field.now.shape, self.dtype) for _ in range(2)]
            self._fields = StageFields(self._field.now, [self._field.next, *self._spare])
            self._ledger.begin()
        batch = self._batch(dt, drive)
        for k, stage in enumerate(stages):
            self._stage(batch, k, stage)
            for launch in self._ledger.launches(
                Entering(*batch[:4]), self._fields.last, k, 1, self._field.now, stage.weight
            ):
                launch()
            self._fields.taken()
        self._wait_for_previous()

    def defect(self, dt: float, rate: float, drive: Drive) -> Defect:
        """How far the step taken is from the trapezoidal rule: see `Sweep`."""
        if self._defects is None:
            self._defects = empty((3, cuda_defect.BLOCKS), np.float64)
        fields = self._fields
        self._stage(self._batch(dt, drive), 0, Stage(1.0, 0.0, 0.0, rate, weight=0.0))
        args = (fields.start, fields.one, fields.last, fields.target, np.float64(-0.5 / rate), self._defects)
        kernel(cuda_defect.build, None, args)((cuda_defect.BLOCKS, 1, 1), (THREADS, 1, 1), args)
        most, low, high = self._defects.host().max(axis=1).tolist()
        return Defect(most, -low, high)

    def accept(self) -> None:
        """Make the last stage the field: see `Sweep`."""
        self._field.now = self._fields.last
        self._field.next, *self._spare = self._fields.others()
        self._ledger.accept()

    def _stage(self, batch: Batch, k: int, stage: Stage) -> None:
        """Put stage k of a batch into the target of the fields."""
        fields, batch = self._fields, batch._replace(structure=batch.structure._replace(stage=stage.form))
        others = (fields.before, fields.before) if stage.of_two else (fields.start, fields.one)
        numbers = (self.dtype.type(value) for value in stage[:4])
        heat = StagedHeat(*self._heat(batch, k), fields.before, *others, *numbers)
        args = fields.last, fields.target, self._shape, self._walls(batch, k), batch.medium, heat
        sweep, grid, block = self._sweep(batch, args)
        sweep(grid, block, args)
        self._windows.add(fields.target, k, stage.rate * float(batch.dt))

    def _make_ready(self, batch: Batch) -> None:
        for taken in {1, self._most(batch)}:
            self._launches(batch, 0, taken)

    def _most(self, batch: Batch) -> int:
        """The most steps of a batch that a sweep can take."""
        fused = self._fused_for(batch.structure)
        return 1 if fused is None else fused.steps

    def _launches(self, batch: Batch, k: int, taken: int) -> list[Launch]:
        """What takes one or most steps of a batch from step k on, with their heat."""
        u, v = self._field.now, self._field.next
        fused = self._fused_for(batch.structure) if taken > 1 else None
        if fused is None:
            args, trace = self._sweep_args(batch, k), v
            single, grid, block = self._sweep(batch, args)
            launch = single.bound(grid, block, args)
        else:
            launch, trace = fused.bound(u, v, k, *_for_fused(batch), batch.medium.rates), fused.trace
        return [launch, *self._ledger.launches(Entering(*batch[:4]), u, k, taken, trace)]

    def _fused_for(self, structure: Structure) -> FusedSteps | None:
        """The means to take several steps of such problems at once, if this sweep is to and they can be."""
        if self._to_fuse and structure not in self._fused:
            self._fused[structure] = self._make_fused(structure)
        return self._fused.get(structure)

    def _make_fused(self, structure: Structure) -> FusedSteps | None:
        terms = self.terms
        room = shared_memory()
        for tile in temporal.tiles_for(structure):
            fits = temporal.fuses(structure, tile, terms.shape) and temporal.shared_bytes(tile, structure) <= room
            if fits and terms.taps is None:
                kinds = Kinds(self._kinds, terms.kind_count)
                return FusedSteps(structure, tile, terms.shape, traced=self._ledger.open_faces > 0, kinds=kinds)
        return None

    def _batch(self, dt: float, drive: Drive) -> Batch:
        """Send what the steps need, unless it is there already."""
        kind, send = self.dtype, self._uploads
        self._windows.send(drive.deposits)
        if dt != self._dt:
            self._dt = dt
            rates = (dt * self.terms.rates).astype(kind)
            self._rates = np.pad(rates, ((0, 0), (0, RATES - rates.shape[1]))).reshape(1, -1)
            self._weights = (rates.T.astype(np.float64) * self.terms.capacity).reshape(1, -1)
        rates_of_kinds = send["rates"].send(self._rates, kind).row(0)
        return Batch(
            Structure.of(self.terms, drive, kind),
            send["a"].send(drive.wall_a, kind),
            send["b"].send(drive.wall_b, kind),
            send["weights"].send(self._weights, np.dtype(np.float64)).row(0),
            Medium(*self._rates[0, 0:6:2], rates_of_kinds, self._kinds),
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

    def _sweep(self, batch: Batch, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """A kernel, its grid and its block; found once: which tile is best stands in a file."""
        structure = batch.structure
        if structure not in self._sweeps:
            shape = self.terms.shape
            tile = self._given_tile or tile_for(self._movement, structure, shape, self._device_name)
            sweep = kernel(self._movement.build, (structure, tile), args)
            self._sweeps[structure] = sweep, self._movement.grid(shape, tile, self.dtype.name), tile.block
        return self._sweeps[structure]

    def _walls(self, batch: Batch, k: int) -> Walls:
        return Walls(batch.wall_a.row(k), batch.wall_b.row(k), self._offsets)

    def _heat(self, batch: Batch, k: int) -> Heat:
        gain = batch.gains[min(k, len(batch.gains) - 1)]
        return Heat(batch.heat_table.row(k), batch.dt, batch.heat_field, gain)

    def _sweep_args(self, batch: Batch, k: int) -> tuple[Any, ...]:
        """What the sweep is given in step k of a batch."""
        return self._field.now, self._field.next, self._shape, self._walls(batch, k), batch.medium, self._heat(batch, k)

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
