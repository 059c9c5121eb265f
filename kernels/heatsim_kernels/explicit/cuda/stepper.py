"""CUDA: explicit steps and stages on a field on the GPU; what a sweep does with a cell is a choice of `CudaPass`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from heatsim_kernels.device.cuda.api import cuda
from heatsim_kernels.device.cuda.arrays import Array, empty
from heatsim_kernels.device.cuda.launch import Launch, Resources, kernel
from heatsim_kernels.explicit.blocked.field_planes import FieldPair
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.cuda import trapezoidal_defect
from heatsim_kernels.explicit.cuda.ledger import HeatAccounts
from heatsim_kernels.explicit.rk_stages import RkStage, StageFields, TrapezoidalDefect
from heatsim_kernels.explicit.slabs import GpuSlabLinks
from heatsim_kernels.explicit.step_batches import split_steps
from heatsim_kernels.field.cuda.block_reduction import THREADS
from heatsim_kernels.field.cuda.cell_reads import gathered
from heatsim_kernels.field.cuda.field import CudaField
from heatsim_kernels.field.cuda.window_source import WindowSourceBatches


class StepLaunches(NamedTuple):
    """What takes steps: of a slab whose halos are filled meanwhile, first a launch for the planes that go to neighbours
    and one for the others."""

    edges: Launch | None
    inside: Launch | None
    rest: list[Launch]


Known = dict[tuple[int, int, int, bool], StepLaunches]


class StageOperands(NamedTuple):
    """The fields that a stage is made of: see `rk_stages`; `start` and `one` are any fields for a two-term stage."""

    last: Array
    before: Array
    start: Array
    one: Array


class CudaPass(Protocol):
    """How the field of a problem is stored, and the launches that advance it. A batch is what the steps of one call
    have in common, on the device, `sent.rows` of them before all are alike."""

    name: str
    field: CudaField

    @property
    def ledger(self) -> HeatAccounts:
        """The heat that has entered."""

    def batch(self, dt: float, forcing: Forcing) -> Any:
        """Send what steps of `dt` seconds need, unless it is there already."""

    def resources(self, batch: Any) -> Resources:
        """What the kernel takes of the GPU."""

    def most_steps(self, batch: Any) -> int:
        """The most steps of a batch that a sweep takes."""

    def begin_steps(self, batch: Any) -> None:
        """Before steps of a batch are launched: find what their heat needs of the field."""

    def launches(self, batch: Any, k: int, taken: int, u: Array, v: Array) -> list[Launch]:
        """What takes one or most steps of a batch from step k on, from u to v, with their heat."""

    def edges_first(self, batch: Any, k: int, taken: int, u: Array, v: Array) -> StepLaunches | None:
        """The same for the own planes of a slab, of which the halos of `v` are filled meanwhile; None where the sweep
        takes all planes at once."""

    def most_stages(self, batch: Any) -> int:
        """The most two-term stages of a batch that a sweep takes."""

    def take_stage(self, batch: Any, k: int, stage: RkStage, fields: StageOperands, v: Array, *, booked: bool) -> None:
        """Put stage k of a batch into v, with its heat if that is booked."""

    def take_stages(self, batch: Any, k: int, stages: Sequence[RkStage], u: FieldPair, v: FieldPair) -> None:
        """Take most two-term stages at once, from stage k of a batch on, with their heat."""

    def defect_kernel(self) -> tuple[Callable[..., Any], Any, tuple[Any, ...]]:
        """What builds the kernel of the trapezoidal defect, for what, and what that kernel is given last."""


class CudaStepper:
    """A `StageStepper` on the GPU: see `stencil/__init__.py`."""

    fused_steps = 1  # batches need not hold the steps of a pass: launches follow one another

    def __init__(
        self, coefficients: StencilCoefficients, dtype: np.dtype, sweep: CudaPass, links: GpuSlabLinks | None = None
    ) -> None:
        """links: of the stepper of a slab to the others (see `slabs`), as the sweep has them: its field is that of the
        slab with its halos, its ledger that of the whole grid."""
        self.coefficients, self.dtype, self._links = coefficients, np.dtype(dtype), links
        self.name, self.field, self._sweep = sweep.name, sweep.field, sweep
        self._done: Any = None
        self._spare: list[Array] = []  # more fields, for those who take stages
        self._defects: Array | None = None
        self._windows = WindowSourceBatches(coefficients.shape, self.dtype)

    def heat_entered(self) -> np.ndarray:
        """(6 + ambients,) heat that has entered through each of FACES and from each ambient since the start, J."""
        return self._sweep.ledger.entered()

    def ledger_state(self) -> dict[str, np.ndarray]:
        """The sums of the ledger: see `ExplicitStepper`."""
        return self._sweep.ledger.state()

    def restore_ledger(self, saved: Mapping[str, np.ndarray]) -> None:
        """Count on: see `ExplicitStepper`."""
        self._sweep.ledger.restore(saved)

    def synchronize(self) -> None:
        """Wait until all steps taken so far are done."""
        cuda.synchronize()

    def resources(self, forcing: Forcing) -> Resources:
        """What the kernel takes of the GPU, the fused one where steps are fused."""
        return self._sweep.resources(self._batch(1.0, forcing))

    def advance(self, dt: float, steps: int, forcing: Forcing) -> None:
        """Advance `steps` steps of `dt` seconds. Returns when the steps of the call before are done: the host is one
        batch ahead of the device, so neither waits for the other. No step makes all kernels ready that steps need."""
        batch, known = self._batch(dt, forcing), Known()
        if steps == 0:
            self._make_ready(batch)
        for first, count, window_sources in split_steps(forcing.window_sources, steps, one_by_one=self.field.tracked):
            if count:
                self._sweep.begin_steps(batch)
            self._take(batch, first, first + count, known, fill=not window_sources)
            if window_sources:
                self.field.changes += 1
                self._windows.add(self.field.now, first + count - 1, dt)
                self._fill_halos(self.field.now)
            self.field.sample(count * dt)
        self._wait_for_previous()

    def _take(self, batch: Any, k: int, end: int, known: Known, *, fill: bool) -> None:
        """Take steps k to end - 1 of a batch, of which some launches are `known`. fill: whether the halos are filled
        after the last one."""
        most, ahead = self._sweep.most_steps(batch), self._halo
        taken = most if k + most <= end else 1
        while k < end:
            k, ahead, now = k + taken, ahead - taken, taken  # ahead: planes of the halo that are as in the whole grid
            taken = most if k + most <= end else 1
            fills = self._links is not None and (ahead < taken if k < end else fill)
            ahead = self._halo if fills else ahead
            # Steps that are alike are launched alike, from one field to the other and back.
            alike = min(k - now, batch.sent.rows - 1), now, id(self.field.now), fills
            if alike not in known:
                known[alike] = self._launches(batch, k - now, now, fills=fills)
            self._launch(*known[alike], fills=fills)
            self.field.swap()

    def _launches(self, batch: Any, k: int, taken: int, *, fills: bool) -> StepLaunches:
        """What takes some steps; fills: whether the halos are filled with them."""
        step, found = (batch, k, taken, self.field.now, self.field.next), None
        if fills and self._links is not None and self._links.fills_beside:
            found = self._sweep.edges_first(*step)
        return found or StepLaunches(None, None, self._sweep.launches(*step))

    def _launch(self, edges: Launch | None, inside: Launch | None, rest: list[Launch], *, fills: bool) -> None:
        """Take steps, and fill the halos of what they make, if they are to be."""
        if self._links is not None and edges is not None and inside is not None:
            self._links.fill_halos_beside(self.field.next, edges, inside)
        for launch in rest:
            launch()
        if fills and edges is None:
            self._fill_halos(self.field.next)

    def take_stages(self, dt: float, stages: Sequence[RkStage], first: int, forcing: Forcing) -> None:
        """Take stages of a step of `dt` seconds: see `StageStepper`. Waits as `advance` does."""
        batch = self._batch(dt, forcing)
        if first == 0:
            self._begin_stages(batch, stages, forcing)
        alone = self._fields.keeps_one or any(forcing.window_sources)
        most, k = 1 if alone else self._sweep.most_stages(batch), 0
        while k < len(stages):
            taken = _stages_at_once(most, stages[k:])
            self._take_stages(batch, k, stages[k : k + taken])
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
            self._fill_halos(one)
        batch = self._batch(dt, forcing)
        self._stage(batch, 0, euler, FieldPair(fields.last, fields.before), fields.target)
        self._fill_halos(fields.target)
        build, variant, given = self._sweep.defect_kernel()
        own = fields.start, one, fields.last, fields.target, np.float64(-0.5 / rate)
        args = (*own, self._defects, *given)
        kernel(build, variant, args)((trapezoidal_defect.BLOCKS, 1, 1), (THREADS, 1, 1), args)
        found = self._defects.host().max(axis=1)
        most, low, high = (found if self._links is None else self._links.greatest(found)).tolist()
        return TrapezoidalDefect(most, -low, high)

    def cells_at_end(self, indices: Array) -> Array:
        """Stored values of some cells after the stages taken: see `StageStepper`."""
        return gathered(self._fields.last, indices)

    def accept(self) -> None:
        """Make the last stage the field: see `StageStepper`."""
        self.field.now = self._fields.last
        self.field.changes += 1
        self.field.next, *self._spare = self._fields.others()
        self._sweep.ledger.accept()

    def _begin_stages(self, batch: Any, stages: Sequence[RkStage], forcing: Forcing) -> None:
        """Begin a step from the field, whose first stages are these."""
        bare = (
            all(stage.of_two for stage in stages[:-1]) and stages[-1].gamma == 0.0 and not any(forcing.window_sources)
        )
        keeps_one = not bare or _stages_at_once(self._sweep.most_stages(batch), stages[:-1]) == 1
        while len(self._spare) < (2 if keeps_one else 3):
            self._spare.append(empty(self.field.now.shape, self.dtype))
        self._fields = StageFields(self.field.now, [self.field.next, *self._spare], keeps_one)
        self._at_start = forcing
        self._sweep.ledger.begin()

    def _take_stages(self, batch: Any, k: int, stages: Sequence[RkStage]) -> None:
        """Take one stage, or several at once, stage k of a batch and those that follow, with their heat."""
        fields, second = self._fields, None
        u, v = FieldPair(fields.last, fields.before), fields.target
        if len(stages) == 1:
            self._stage(batch, k, stages[0], u, v, booked=True)
        else:
            second = fields.free[-2]
            self._sweep.take_stages(batch, k, stages, u, FieldPair(v, second))
            self._fill_halos(second)
        self._fill_halos(v)
        fields.taken(second)

    def _stage(self, batch: Any, k: int, stage: RkStage, u: FieldPair, v: Array, *, booked: bool = False) -> None:
        """Put stage k of a batch into v, made of the last two, u, and of Y_0 and Y_1 if it wants them."""
        fields = self._fields
        assert fields.keeps_one or stage.gamma == 0.0
        others = (u.before, u.before) if stage.of_two else (fields.start, fields.one)
        self._sweep.take_stage(batch, k, stage, StageOperands(*u, *others), v, booked=booked)
        self._windows.add(v, k, stage.rate * float(batch.sent.dt))

    @property
    def _halo(self) -> int:
        """Planes of a halo, 0 where there is none."""
        return 0 if self._links is None else self._links.slab.halo

    def _fill_halos(self, u: Array) -> None:
        if self._links is not None:
            self._links.fill_halos(u)

    def _make_ready(self, batch: Any) -> None:
        self._sweep.begin_steps(batch)
        for taken in {1, self._sweep.most_steps(batch)}:
            self._sweep.launches(batch, 0, taken, self.field.now, self.field.next)
        self.field.was_finite()  # has a kernel, too
        self.synchronize()

    def _batch(self, dt: float, forcing: Forcing) -> Any:
        """Send what the steps need, unless it is there already."""
        self._windows.send(forcing.window_sources)
        return self._sweep.batch(dt, forcing)

    def _wait_for_previous(self) -> None:
        """Wait until the steps of the call before are done."""
        done = cuda.event()
        done.record()
        if self._done is not None:
            self._done.synchronize()
        self._done = done


def _stages_at_once(most: int, stages: Sequence[RkStage]) -> int:
    """How many of some stages, from the first on, are taken in a sweep that takes `most`, or one."""
    return most if len(stages) >= most and all(stage.of_two for stage in stages[:most]) else 1
