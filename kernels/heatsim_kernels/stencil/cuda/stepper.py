"""CUDA: explicit steps of heat conduction on a field on the GPU; how data move is a choice of kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.field.cuda.block_reduction import THREADS
from heatsim_kernels.field.cuda.cell_reads import read_cells
from heatsim_kernels.field.cuda.field import CudaField
from heatsim_kernels.field.cuda.window_batches import WindowSourceBatches
from heatsim_kernels.runtime.cuda.api import cuda, device_name
from heatsim_kernels.runtime.cuda.arrays import Array, Table, Upload, empty, on_device
from heatsim_kernels.runtime.cuda.launch import Resources, kernel
from heatsim_kernels.stencil.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.stencil.cuda import trapezoidal_defect
from heatsim_kernels.stencil.cuda.cell_update import (
    RATES,
    CudaBoundaryFaces,
    CudaExchange,
    CudaSources,
    CudaStageSources,
    GridShape,
)
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.cuda.ledger import CudaLedger, LedgerInputs
from heatsim_kernels.stencil.cuda.tile_tuning import choose_tile
from heatsim_kernels.stencil.rk_stages import RkStage, StageFields, TrapezoidalDefect
from heatsim_kernels.stencil.step_batches import split_steps
from heatsim_kernels.stencil.temporal.cell_classes import TemporalCellClasses
from heatsim_kernels.stencil.temporal.field_planes import FieldPair
from heatsim_kernels.stencil.temporal.launch import FusedSteps, fused_steps, tables_of, with_stages
from heatsim_kernels.stencil.temporal.march import StepRates, TemporalTables

Launch = Callable[[], None]
NOTHING = np.zeros((1, 1))  # in place of a table that a problem has not


class StepArguments(NamedTuple):
    """What the steps of one call have in common, on the device. The first four fields are those of `LedgerInputs`."""

    structure: StencilConfiguration
    boundary_a: Table
    boundary_b: Table
    weights: Array
    medium: CudaExchange
    heat_table: Table
    dt: np.floating[Any]  # in the precision of the field
    heat_field: Array
    gains: np.ndarray

    @property
    def rows(self) -> int:
        """Steps after which all are alike."""
        return max(self.boundary_a.rows, self.boundary_b.rows, self.heat_table.rows, len(self.gains))

    def heat(self, k: int) -> CudaSources:
        """The sources of step k."""
        gain = self.gains[min(k, len(self.gains) - 1)]
        return CudaSources(self.heat_table.row(k), self.dt, self.heat_field, gain)


class StepArgumentCache:
    """Batches of one problem, one after another; `class_ids`: of the cells, on the device.

    The caller must have waited for the launches before last when it asks for the next, as for an `Upload`.
    """

    def __init__(self, coefficients: StencilCoefficients, dtype: np.dtype, class_ids: Array) -> None:
        self._coefficients, self._dtype, self._class_ids = coefficients, dtype, class_ids
        self._uploads = {name: Upload() for name in ("a", "b", "table", "rates", "weights")}
        self._dt = np.nan
        self._heat_source: np.ndarray | None = None
        self._heat_field: Array | None = None

    def of(self, dt: float, forcing: Forcing) -> StepArguments:
        """The batch of steps of `dt` seconds."""
        dtype, send = self._dtype, self._uploads
        if dt != self._dt:
            self._dt = dt
            rates = (dt * self._coefficients.rates).astype(dtype)
            self._rates = np.pad(rates, ((0, 0), (0, RATES - rates.shape[1]))).reshape(1, -1)
            self._weights = (rates.T.astype(np.float64) * self._coefficients.capacity).reshape(1, -1)
        rx, ry, rz = self._rates[0, 0:6:2]
        rates_of_classes = send["rates"].send(self._rates, dtype).row(0)
        return StepArguments(
            StencilConfiguration.of(self._coefficients, forcing, dtype),
            send["a"].send(forcing.boundary_a, dtype),
            send["b"].send(forcing.boundary_b, dtype),
            send["weights"].send(self._weights, np.dtype(np.float64)).row(0),
            CudaExchange(rx, ry, rz, rates_of_classes, self._class_ids),
            send["table"].send(NOTHING if forcing.heat_table is None else forcing.heat_table, dtype),
            dtype.type(dt),
            self._field_of(forcing.heat_field),
            (dt * forcing.heat_scale).astype(dtype),
        )

    def _field_of(self, source: np.ndarray | None) -> Array:
        """A source by cell, flat, on the device; there already if it is the same object as last time."""
        if self._heat_source is not source or self._heat_field is None:
            self._heat_source = source
            self._heat_field = on_device((NOTHING if source is None else source).astype(self._dtype).reshape(-1))
        return self._heat_field


class CudaStepper:
    """A `StageStepper` on the GPU: see `stencil/__init__.py`.

    movement: a module such as `basic`, which takes single steps; `tile` one of its TILES (default: see `tuning`).
    fused: whether to take several steps at once, by `temporal`, where these can be fused.
    """

    fused_steps = 1  # batches need not hold the steps of a pass: launches follow one another

    def __init__(
        self,
        coefficients: StencilCoefficients,
        dtype: np.dtype,
        movement: ModuleType,
        tile: Any = None,
        fused: bool = False,
    ) -> None:
        self.coefficients, self.dtype = coefficients, np.dtype(dtype)
        self.name = "temporal" if fused else movement.__name__.rpartition(".")[2]
        self._movement, self._given_tile, self._to_fuse = movement, tile, fused
        self._fused: dict[StencilConfiguration, FusedSteps | None] = {}
        self.field = CudaField(coefficients, self.dtype)
        nz, ny, nx = map(np.uint32, coefficients.shape)
        self._shape, self._offsets = GridShape(nz, ny, nx), on_device(coefficients.boundary_offsets)
        self._ledger = CudaLedger(coefficients, self.field.class_ids)
        self._batches = StepArgumentCache(coefficients, self.dtype, self.field.class_ids)
        self._device_name = device_name()
        self._done: Any = None
        self._spare: list[Array] = []  # more fields, for those who take stages
        self._defects: Array | None = None
        self._sweeps: dict[
            StencilConfiguration, tuple[Any, ...]
        ] = {}  # kernels of single steps and stages, with grids and blocks
        self._windows = WindowSourceBatches(coefficients.shape, self.dtype)

    def heat_entered(self) -> np.ndarray:
        """(6 + ambients,) heat that has entered through each of FACES and from each ambient since the start, J."""
        return self._ledger.entered()

    def synchronize(self) -> None:
        """Wait until all steps taken so far are done."""
        cuda.synchronize()

    def resources(self, forcing: Forcing) -> Resources:
        """What the kernel takes of the GPU, the fused one where steps are fused."""
        batch = self._batch(1.0, forcing)
        fused = self._fused_for(batch.structure)
        if fused is not None:
            return fused.resources(self.field.now, *_for_fused(batch), batch.medium.rates)
        sweep, _, block = self._sweep(batch, self._sweep_args(batch, 0))
        found: Resources = sweep.resources(block)
        return found

    def advance(self, dt: float, steps: int, forcing: Forcing) -> None:
        """Advance `steps` steps of `dt` seconds. Returns when the steps of the call before are done: the host is one
        batch ahead of the device, so neither waits for the other. No step makes all kernels ready that steps need."""
        batch = self._batch(dt, forcing)
        known: dict[tuple[int, int, int], list[Launch]] = {}
        if steps == 0:
            self._make_ready(batch)
        for first, count, window_sources in split_steps(forcing.window_sources, steps, one_by_one=self.field.tracked):
            self._take(batch, first, first + count, known)
            if window_sources:
                self._windows.add(self.field.now, first + count - 1, dt)
            self.field.sample(count * dt)
        self._wait_for_previous()

    def _take(self, batch: StepArguments, k: int, end: int, known: dict[tuple[int, int, int], list[Launch]]) -> None:
        """Take steps k to end - 1 of a batch, of which some launches are `known`."""
        most = self._most(batch)
        while k < end:
            taken = most if k + most <= end else 1
            # Steps that are alike are launched alike, from one field to the other and back.
            alike = min(k, batch.rows - 1), taken, id(self.field.now)
            if alike not in known:
                known[alike] = self._launches(batch, k, taken)
            for launch in known[alike]:
                launch()
            self.field.swap()
            k += taken

    def take_stages(self, dt: float, stages: Sequence[RkStage], first: int, forcing: Forcing) -> None:
        """Take stages of a step of `dt` seconds: see `StageStepper`. Waits as `advance` does."""
        batch = self._batch(dt, forcing)
        if first == 0:
            self._begin_stages(batch, stages, forcing)
        fused, k = None if self._fields.keeps_one or any(forcing.window_sources) else self._fused_stages(batch), 0
        while k < len(stages):
            taken = _stages_at_once(fused, stages[k:])
            self._take_stages(batch, k, stages[k : k + taken], fused if taken > 1 else None)
            k += taken
        self._wait_for_previous()

    def defect(self, dt: float, rate: float, forcing: Forcing) -> TrapezoidalDefect:
        """How far the step taken is from the trapezoidal rule: see `StageStepper`."""
        if self._defects is None:
            self._defects = empty((3, trapezoidal_defect.BLOCKS), np.float64)
        fields, euler = self._fields, RkStage(1.0, 0.0, 0.0, rate, weight=0.0)
        one = fields.one
        if not fields.keeps_one:
            if self._at_start is not forcing:
                self.synchronize()  # two batches are sent at once
            one = fields.free[-2]
            self._stage(self._batch(dt, self._at_start), 0, euler, FieldPair(fields.start, fields.start), one)
        self._stage(self._batch(dt, forcing), 0, euler, FieldPair(fields.last, fields.before), fields.target)
        args = (fields.start, one, fields.last, fields.target, np.float64(-0.5 / rate), self._defects)
        kernel(trapezoidal_defect.build, None, args)((trapezoidal_defect.BLOCKS, 1, 1), (THREADS, 1, 1), args)
        most, low, high = self._defects.host().max(axis=1).tolist()
        return TrapezoidalDefect(most, -low, high)

    def cells_at_end(self, indices: np.ndarray) -> np.ndarray:
        """Values of some cells after the stages taken: see `StageStepper`."""
        return read_cells(self._fields.last, indices, self.dtype)

    def accept(self) -> None:
        """Make the last stage the field: see `StageStepper`."""
        self.field.now = self._fields.last
        self.field.next, *self._spare = self._fields.others()
        self._ledger.accept()

    def _begin_stages(self, batch: StepArguments, stages: Sequence[RkStage], forcing: Forcing) -> None:
        """Begin a step from the field, whose first stages are these."""
        bare = (
            all(stage.of_two for stage in stages[:-1]) and stages[-1].gamma == 0.0 and not any(forcing.window_sources)
        )
        keeps_one = not bare or _stages_at_once(self._fused_stages(batch), stages[:-1]) == 1
        while len(self._spare) < (2 if keeps_one else 3):
            self._spare.append(empty(self.field.now.shape, self.dtype))
        self._fields = StageFields(self.field.now, [self.field.next, *self._spare], keeps_one)
        self._at_start = forcing
        self._ledger.begin()

    def _fused_stages(self, batch: StepArguments) -> FusedSteps | None:
        """The means to take several bare stages at once, if this sweep is to and they can be."""
        return self._fused_for(batch.structure._replace(stage="two"))

    def _take_stages(self, batch: StepArguments, k: int, stages: Sequence[RkStage], fused: FusedSteps | None) -> None:
        """Take one stage, or several at once by `fused`, stage k of a batch and those that follow, with their heat."""
        fields = self._fields
        u, v, second = FieldPair(fields.last, fields.before), fields.target, None
        if fused is None:
            trace = v
            self._stage(batch, k, stages[0], u, v)
        else:
            second, trace = fields.free[-2], fused.trace
            tables, rates = _for_fused(batch)
            fused(u, FieldPair(v, second), k, tables, with_stages(rates, stages), batch.medium.rates)
        shares = [stage.weight for stage in stages]
        for launch in self._ledger.launches(LedgerInputs(*batch[:4]), u.last, k, shares, trace):
            launch()
        fields.taken(second)

    def _stage(self, batch: StepArguments, k: int, stage: RkStage, u: FieldPair, v: Array) -> None:
        """Put stage k of a batch into v, made of the last two, u, and of Y_0 and Y_1 if it wants them."""
        fields, batch = self._fields, batch._replace(structure=batch.structure._replace(stage=stage.form))
        assert fields.keeps_one or stage.gamma == 0.0
        others = (u.before, u.before) if stage.of_two else (fields.start, fields.one)
        numbers = (self.dtype.type(value) for value in stage[:4])
        heat = CudaStageSources(*batch.heat(k), u.before, *others, *numbers)
        args = u.last, v, self._shape, self._boundary(batch, k), batch.medium, heat
        sweep, grid, block = self._sweep(batch, args)
        sweep(grid, block, args)
        self._windows.add(v, k, stage.rate * float(batch.dt))

    def _make_ready(self, batch: StepArguments) -> None:
        for taken in {1, self._most(batch)}:
            self._launches(batch, 0, taken)
        self.field.was_finite()  # has a kernel, too
        self.synchronize()

    def _most(self, batch: StepArguments) -> int:
        """The most steps of a batch that a sweep can take."""
        fused = self._fused_for(batch.structure)
        return 1 if fused is None else fused.steps

    def _launches(self, batch: StepArguments, k: int, taken: int) -> list[Launch]:
        """What takes one or most steps of a batch from step k on, with their heat."""
        u, v = self.field.now, self.field.next
        fused = self._fused_for(batch.structure) if taken > 1 else None
        if fused is None:
            args, trace = self._sweep_args(batch, k), v
            single, grid, block = self._sweep(batch, args)
            launch = single.bound(grid, block, args)
        else:
            launch, trace = fused.bound(u, v, k, *_for_fused(batch), batch.medium.rates), fused.trace
        return [launch, *self._ledger.launches(LedgerInputs(*batch[:4]), u, k, (1.0,) * taken, trace)]

    def _fused_for(self, structure: StencilConfiguration) -> FusedSteps | None:
        """The means to take several steps of such problems at once, if this sweep is to and they can be."""
        if self._to_fuse and structure not in self._fused:
            class_ids, traced = (
                TemporalCellClasses(self.field.class_ids, self.coefficients.class_count),
                self._ledger.open_faces > 0,
            )
            self._fused[structure] = fused_steps(structure, self.coefficients, traced=traced, cell_classes=class_ids)
        return self._fused.get(structure)

    def _batch(self, dt: float, forcing: Forcing) -> StepArguments:
        """Send what the steps need, unless it is there already."""
        self._windows.send(forcing.window_sources)
        return self._batches.of(dt, forcing)

    def _sweep(self, batch: StepArguments, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """A kernel, its grid and its block; found once: which tile is best stands in a file."""
        structure = batch.structure
        if structure not in self._sweeps:
            shape = self.coefficients.shape
            tile = self._given_tile or choose_tile(self._movement, structure, shape, self._device_name)
            sweep = kernel(self._movement.build, (structure, tile), args)
            self._sweeps[structure] = sweep, self._movement.grid(shape, tile, self.dtype.name), tile.block
        return self._sweeps[structure]

    def _boundary(self, batch: StepArguments, k: int) -> CudaBoundaryFaces:
        return CudaBoundaryFaces(batch.boundary_a.row(k), batch.boundary_b.row(k), self._offsets)

    def _sweep_args(self, batch: StepArguments, k: int) -> tuple[Any, ...]:
        """What the sweep is given in step k of a batch."""
        return self.field.now, self.field.next, self._shape, self._boundary(batch, k), batch.medium, batch.heat(k)

    def _wait_for_previous(self) -> None:
        """Wait until the steps of the call before are done."""
        done = cuda.event()
        done.record()
        if self._done is not None:
            self._done.synchronize()
        self._done = done


def _stages_at_once(fused: FusedSteps | None, stages: Sequence[RkStage]) -> int:
    """How many of some stages, from the first on, are taken in a sweep."""
    if fused is None or len(stages) < fused.steps or not all(stage.of_two for stage in stages[: fused.steps]):
        return 1
    return fused.steps


def _for_fused(batch: StepArguments) -> tuple[TemporalTables, StepRates]:
    """What a fused sweep is given of a batch."""
    return tables_of(batch.boundary_a, batch.boundary_b, batch.heat_table), StepRates(*batch.medium[:3], batch.dt)
