"""CPU: explicit steps of heat conduction on a field in memory, by all cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, Protocol

import numpy as np

from heatsim_kernels.device.cpu.pointers import CACHE_LINE, padded
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.explicit.ambient_faces import ambient_face_pairs
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.cpu.boundary_faces import FLOWS, CpuBoundaryFaces
from heatsim_kernels.explicit.cpu.class_runs import find_class_runs, find_row_patterns
from heatsim_kernels.explicit.cpu.fused_pass import EULER, WINDOW_NUMBERS, Buffers, CpuSources, CpuStages, advance
from heatsim_kernels.explicit.cpu.held_heat import CpuHeldHeat
from heatsim_kernels.explicit.cpu.row_places import CpuGrid
from heatsim_kernels.explicit.cpu.rows import CpuExchange
from heatsim_kernels.explicit.cpu.tile_plan import (
    TilingShape,
    best_cut,
    scratch_rows,
    tallest_without_potentials,
    tiling,
)
from heatsim_kernels.explicit.cpu.trapezoidal_defect import defect
from heatsim_kernels.explicit.rk_stages import RkStage, StageFields, TrapezoidalDefect
from heatsim_kernels.explicit.slabs import Slab, SlabLinks
from heatsim_kernels.explicit.step_batches import split_steps
from heatsim_kernels.field.cpu.field import CpuField
from heatsim_kernels.field.window_source import WindowSource, heat_window, window_sources_of

STREAM_FROM = 12 * 2**20  # bytes of a field above which results bypass the cache
MOST_WINDOWS = 16  # of a step that a pass heats


Windows = Sequence[Sequence[WindowSource]]  # of each step; steps after the last have none


class PassPlan(NamedTuple):
    """How passes of `fused` steps go over the grid, elements of scratch of a thread, and the heat that entered in them,
    J, through the boundary faces and by the losses of each block and plane, and from ambients, by plane: see
    `fused_pass.advance`."""

    fused: int
    tiles: np.ndarray
    buffers: Buffers
    scratch: int
    flows: np.ndarray
    ambient_heat: np.ndarray

    def entered(self) -> np.ndarray:
        """(nz, m) heat that has entered each plane through each of FACES, from each ambient and by losses, J."""
        flows = self.flows.sum(axis=0)
        return np.concatenate((flows[:, :-1], self.ambient_heat, flows[:, -1:]), axis=1)

    def forget(self) -> None:
        """Begin to count anew."""
        self.flows[:], self.ambient_heat[:] = 0.0, 0.0


class PassKernel(Protocol):
    """What a pass does with the cells: how they are stored, and the compiled function that goes over them.

    potentials: whether heat flows down the slope of a potential of the stored values, which each level keeps.
    uniform: whether one exchange rate serves both faces of an axis, in all cells. paired: see `StencilCoefficients`.
    """

    potentials: bool
    uniform: bool
    paired: bool

    def make_field(self) -> CpuField:
        """Allocate the field."""

    def cut_tiles(self, tiles: np.ndarray, halo: int, threads: int, tallest: int) -> np.ndarray:
        """The tiles (m, 8) of a pass whose steps look at so many cells beyond a tile, as the kernel takes them.
        tallest: rows of a tile that keeps no potentials, at most."""

    def rates(self, dt: float) -> np.ndarray:
        """(n, 6) exchange of each cell class through each of FACES in a step of `dt` s, in the field's precision."""

    def __call__(self, dt: float, *args: Any) -> None:
        """Take steps of `dt` s; args: those of `fused_pass.advance`."""

    def defect(
        self, start: np.ndarray, one: np.ndarray, end: np.ndarray, after: np.ndarray, rate: float
    ) -> TrapezoidalDefect:
        """How far a step is from the trapezoidal rule, in temperature: see `trapezoidal_defect.defect`."""


class LinearPass:
    """Passes of a linear problem, which stores temperature offsets."""

    potentials = False

    def __init__(self, coefficients: StencilCoefficients, dtype: np.dtype) -> None:
        self._coefficients, self._dtype = coefficients, dtype
        self.uniform, self.paired = coefficients.uniform, coefficients.paired

    def make_field(self) -> CpuField:
        """Allocate the field."""
        return CpuField(self._coefficients, self._dtype)

    def cut_tiles(self, tiles: np.ndarray, halo: int, threads: int, tallest: int) -> np.ndarray:
        """The tiles as they are."""
        return tiles

    def rates(self, dt: float) -> np.ndarray:
        """The exchange in a step."""
        return (dt * self._coefficients.rates).astype(self._dtype)

    def __call__(self, dt: float, *args: Any) -> None:
        """Take steps."""
        advance(*args)

    def defect(
        self, start: np.ndarray, one: np.ndarray, end: np.ndarray, after: np.ndarray, rate: float
    ) -> TrapezoidalDefect:
        """How far a step is from the trapezoidal rule."""
        return defect(start, one, end, after, rate)


def tiling_shape(
    cells: tuple[int, int, int], periodic: tuple[bool, bool, bool], dtype: np.dtype, potentials: bool
) -> TilingShape:
    """What the plan of passes depends on, for cells (nz, ny, nx) that are periodic along x, y and z."""
    return TilingShape(cells, periodic[::-1], CACHE_LINE // dtype.itemsize, potentials=potentials)


def most_fused(coefficients: StencilCoefficients, fused: int | None) -> int | None:
    """How many steps passes may take: one where the heat from ambients is entered; None leaves it open."""
    return fused if coefficients.ambient_faces is None else 1


def halo_of(
    coefficients: StencilCoefficients, dtype: np.dtype, potentials: bool = False, fused: int | None = None
) -> int:
    """Planes that a halo of a slab of a problem may use: as many as a pass takes steps or stages, at most."""
    shape = tiling_shape(coefficients.shape, coefficients.periodic, np.dtype(dtype), potentials)
    shapes = shape, shape._replace(fields=2)
    return max(best_cut(each, most_fused(coefficients, fused)).fused for each in shapes)


class CpuStepper:
    """A `StageStepper` on the CPU: see `stencil/__init__.py`.

    `fused` is the number of steps, or of stages that read two fields, that a pass over memory takes, at most; None
    chooses it for the problem, 1 is a single sweep a step. The field does not depend on it, the energy ledger in its
    last digits. `kernel` is what a pass does, by default that of a linear problem. `links` are those of the stepper of
    a slab to the others (see `slabs`): its field is that of the slab with its halos, its ledger that of the whole grid.
    """

    name = "cpu"

    def __init__(
        self,
        coefficients: StencilCoefficients,
        dtype: np.dtype,
        fused: int | None = None,
        kernel: PassKernel | None = None,
        links: SlabLinks | None = None,
    ) -> None:
        self.coefficients, self.dtype, self._links = coefficients, np.dtype(dtype), links
        self._slab = links.slab if links else Slab(coefficients.shape, 0, coefficients.shape[0], 0, 0)
        cells = int(np.prod(coefficients.shape))
        self._kernel = kernel or LinearPass(coefficients, self.dtype)
        self.field = self._kernel.make_field()
        self._runs = find_class_runs(coefficients)
        self._patterns = None if self._kernel.uniform else find_row_patterns(coefficients, self._runs)
        self._threads = threads_for(cells)
        self._grid = CpuGrid(*coefficients.shape, *coefficients.periodic)
        whole, wraps = self._slab.cells, coefficients.periodic[2] or self._slab.wraps
        shape = tiling_shape(whole, (*coefficients.periodic[:2], wraps), self.dtype, self._kernel.potentials)
        self._ambient_pairs = ambient_face_pairs(coefficients)
        self._boundary_offsets, self._closed = coefficients.boundary_offsets, np.array(coefficients.closed, np.uint8)
        self._of_step: tuple[float, CpuExchange, np.ndarray] | None = None  # dt, and what follows from it
        most = most_fused(coefficients, fused)
        self._plan = self._make_plan(shape, most)
        self._stage_plan = self._make_plan(shape._replace(fields=2), most)
        self._single_stage_plan = self._make_plan(shape, 1)
        needed = max(plan.scratch for plan in (self._plan, self._stage_plan, self._single_stage_plan))
        self._scratch = padded(self._threads * needed, dtype).reshape(self._threads, -1)
        self._spare: list[np.ndarray] = []  # more fields, for those who take stages
        self._entered_in_stages = np.zeros((coefficients.shape[0], FLOWS + coefficients.ambient_count))
        self._held = CpuHeldHeat.of(coefficients, self.field, self._plan.flows, self._plan.fused, links)

    @property
    def fused_steps(self) -> int:
        """Steps that a pass over memory takes, at most."""
        return self._plan.fused

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered through each of FACES, from each ambient and by losses, if there are any, since the
        start, J."""
        by_plane = self._plan.entered() + self._entered_in_stages
        return np.asarray(self._whole(by_plane).sum(axis=0)[: self.coefficients.ledger_size])

    def ledger_state(self) -> dict[str, np.ndarray]:
        """The sums of the ledger: see `ExplicitStepper`."""
        sums = {
            "flows": self._whole(self._plan.flows, axis=1),
            "ambient_heat": self._whole(self._plan.ambient_heat),
            "in_stages": self._whole(self._entered_in_stages),
        }
        held = {} if self._held is None else self._held.state()
        return {**sums, **held, "total": self.heat_entered()}

    def restore_ledger(self, saved: Mapping[str, np.ndarray]) -> None:
        """Count on: see `ExplicitStepper`."""
        plan, planes, nz = self._plan, self._slab.planes, self._slab.cells[0]
        plan.forget()
        kept, empty = (len(plan.flows), nz, FLOWS), np.zeros(0)
        if saved.get("flows", empty).shape == kept and saved.get("in_stages", empty).shape[:1] == (nz,):
            plan.flows[:], plan.ambient_heat[:] = saved["flows"][:, planes], saved["ambient_heat"][planes]
            self._entered_in_stages[:] = saved["in_stages"][planes]
        else:
            self._entered_in_stages[:] = 0.0
            self._entered_in_stages[planes == 0, : len(saved["total"])] = saved["total"]
        if self._held is not None:
            self._held.restore(saved)

    def advance(self, dt: float, steps: int, forcing: Forcing) -> None:
        """Advance `steps` steps of `dt` seconds. For none, one of 0 s is made and not taken: all is compiled then, and
        the threads have had the memory that they write."""
        field, most = self.field, None if self._held is None else self._held.most_steps
        if self._slab.halo:
            most = min(self._plan.fused, self._slab.halo)
        in_passes, between = self._shared_out(forcing.window_sources)
        for first, count, window_sources in split_steps(between, steps, field.tracked, most):
            seconds = dt if count else 0.0
            part = forcing.of_steps(first, count)
            if self._held is None:
                heated = in_passes[first : first + count]
                self._pass(field.now, field.next, max(1, count), self._plan, seconds, part, EULER, heated)
            else:
                self._lose(self._held, max(1, count), seconds, part)
            if -(-count // self._plan.fused) % 2:
                field.swap()
            self._heat_windows(field.now, window_sources, dt)
            self._fill_halos(field.now)
            field.sample(count * dt)

    def _shared_out(self, windows: Windows) -> tuple[Windows, Windows]:
        """The windows of steps that passes heat, so that they may fuse these steps, and those that are heated between
        passes. A pass looks at all windows of its step in each row, so they must be few."""
        if self._kernel.potentials or self._held is not None or self._links is not None:
            return (), windows
        few = [len(each) <= MOST_WINDOWS for each in windows]
        in_passes, between = (
            tuple(each if is_few == wanted else () for each, is_few in zip(windows, few, strict=True))
            for wanted in (True, False)
        )
        return in_passes, between

    def _lose(self, held: CpuHeldHeat, steps: int, dt: float, forcing: Forcing) -> None:
        """Take steps whose losses follow from the heat that the field holds."""
        flows, field, plan = held.flows_of(steps), self.field, self._plan
        in_passes = plan._replace(flows=flows.reshape(-1, *plan.flows.shape[1:]))
        step_by_step = EULER._replace(apart=plan.flows[..., 0].size)
        self._pass(field.now, field.next, steps, in_passes, dt, forcing, step_by_step)
        held.enter(dt, forcing, flows, plan.flows)

    def take_stages(self, dt: float, stages: Sequence[RkStage], first: int, forcing: Forcing) -> None:
        """Take stages of a step of `dt` seconds: see `StageStepper`."""
        if first == 0:
            self._begin_stages(stages, forcing)
        done, several = 0, self._several(stages)
        for count in self._counts(len(stages), several):
            plan = self._stage_plan if done < several else self._single_stage_plan
            self._take(dt, stages[done : done + count], forcing.of_steps(done, count), plan)
            done += count

    def defect(self, dt: float, rate: float, forcing: Forcing) -> TrapezoidalDefect:
        """How far the step taken is from the trapezoidal rule: see `StageStepper`."""
        fields, step = self._fields, [RkStage(1.0, 0.0, 0.0, rate, weight=0.0)]
        one, after = fields.one, fields.target
        if not fields.keeps_one:
            one = fields.free[-2]
            self._combine(fields.start, one, fields.start, one, dt, step, self._at_start, self._single_stage_plan)
        self._combine(fields.last, after, fields.before, after, dt, step, forcing, self._single_stage_plan)
        found = self._kernel.defect(fields.start, one, fields.last, after, rate)
        if self._links is None:
            return found
        largest, low, high = self._links.greatest(np.array([found.largest, -found.low, found.high])).tolist()
        return TrapezoidalDefect(largest, -low, high)

    def cells_at_end(self, indices: np.ndarray) -> np.ndarray:
        """Stored values of some cells after the stages taken: see `StageStepper`."""
        return np.asarray(self._fields.last[indices])

    def accept(self) -> None:
        """Make the last stage the field: see `StageStepper`."""
        self.field.now = self._fields.last
        self.field.changes += 1
        self.field.next, *self._spare = self._fields.others()
        for plan in (self._stage_plan, self._single_stage_plan):
            self._entered_in_stages += plan.entered()
            plan.forget()

    def _begin_stages(self, stages: Sequence[RkStage], forcing: Forcing) -> None:
        one_by_one = self._stage_plan.fused == 1 or len(stages) < 3 or any(forcing.window_sources)
        keeps_one = one_by_one or not all(stage.of_two for stage in stages[:-1])
        while len(self._spare) < (2 if keeps_one else 3):
            self._spare.append(padded(self.field.now.size, self.dtype))
        self._fields = StageFields(self.field.now, [self.field.next, *self._spare], keeps_one)
        self._at_start = forcing.of_steps(0, 1)
        self._stage_plan.forget()
        self._single_stage_plan.forget()

    def _several(self, stages: Sequence[RkStage]) -> int:
        """How many stages are taken several at once."""
        return 0 if self._fields.keeps_one else len(list(takewhile(lambda stage: stage.of_two, stages)))

    def _counts(self, stages: int, several: int) -> list[int]:
        """How many stages each pass takes."""
        passes = -(-several // min(self._stage_plan.fused, self._slab.halo or self._stage_plan.fused))
        counts = [several * (number + 1) // passes - several * number // passes for number in range(passes)]
        return counts + [1] * (stages - several)

    def _take(self, dt: float, stages: Sequence[RkStage], forcing: Forcing, plan: PassPlan) -> None:
        """Put the last of some stages into the target of the fields, and the one before it into another."""
        fields, last = self._fields, stages[-1]
        assert fields.keeps_one or last.gamma == 0.0, "Y_1 is not kept for stages that are taken several at once"
        second = fields.free[-2] if len(stages) > 1 else None
        self._combine(fields.last, fields.target, fields.before, second, dt, stages, forcing, plan)
        fields.taken(second)

    def _combine(
        self,
        u: np.ndarray,
        v: np.ndarray,
        before: np.ndarray,
        second: np.ndarray | None,
        dt: float,
        stages: Sequence[RkStage],
        forcing: Forcing,
        plan: PassPlan,
    ) -> None:
        """Pass from u and what came `before` it to v, one stage or several."""
        numbers = np.array([(*stage[:4], 0.0) for stage in stages], self.dtype).reshape(-1)
        shares = np.array([stage.weight for stage in stages])
        start, one, of_two = self._fields.start, self._fields.one, stages[-1].of_two
        # With one stage nothing is written to `second`: an array all the same, for which nothing more is compiled.
        second = v if second is None else second
        made_of = CpuStages(before, start, one, second, numbers, shares, len(stages), of_two, 0)
        self._pass(u, v, len(stages), plan, dt, forcing, made_of)
        self._heat_windows(
            v, window_sources_of(forcing.window_sources, 0), stages[-1].rate * float(self.dtype.type(dt))
        )
        self._fill_halos(v)
        if len(stages) > 1:
            self._fill_halos(second)

    def _fill_halos(self, u: np.ndarray) -> None:
        if self._links is not None:
            self._links.fill_halos(u)

    def _whole(self, by_plane: np.ndarray, axis: int = 0) -> np.ndarray:
        """Values by plane of the whole grid, from those of the planes kept."""
        if self._links is None:
            return by_plane
        own = by_plane[self._slab.own] if axis == 0 else by_plane[:, self._slab.own]
        return self._links.whole(own, axis)

    def _heat_windows(self, u: np.ndarray, window_sources: Sequence[WindowSource], gain: float) -> None:
        for each in window_sources:
            self.field.changes += 1
            heat_window(u.reshape(self.coefficients.shape), each.corner, each.rates, gain)

    def _pass(
        self,
        u: np.ndarray,
        v: np.ndarray,
        steps: int,
        plan: PassPlan,
        dt: float,
        forcing: Forcing,
        stages: CpuStages,
        windows: Windows = (),
    ) -> None:
        """Pass from u. windows: of each step, those that are heated in the pass."""
        if self._of_step is None or self._of_step[0] != dt:
            self._of_step = dt, *self._exchange(dt)
        _, medium, weights = self._of_step
        if stages.apart:
            medium = medium._replace(heat_of_losses=None)  # they follow from what else is entered
        with limited(self._threads):
            self._kernel(
                dt, u, v, steps, plan.fused, self._grid, plan.buffers, plan.tiles, self._scratch, medium,
                self._heat(dt, forcing, windows), self._boundary(weights, forcing), self._ambient_pairs, plan.flows,
                plan.ambient_heat, stages,
            )  # fmt: skip

    def _make_plan(self, shape: TilingShape, fused: int | None) -> PassPlan:
        cut = best_cut(shape, fused)
        if self._links is not None:  # caches may differ from machine to machine, and with them the cut
            cut = self._links.from_first(cut)
        tiles = tiling(shape, cut, self._threads, self._slab.end - self._slab.first)
        tiles[:, :2] += self._slab.below  # a tile computes what it needs of the halos by itself
        blocks, tallest = tiles[:, 6].max() + 1, tallest_without_potentials(shape, cut)
        tiles = self._kernel.cut_tiles(tiles, shape.halo(cut.fused), self._threads, tallest)
        pitch = cut.pitch * shape.per_line
        buffers = Buffers(pitch, shape.per_line, cut.rows, self.field.now.nbytes > STREAM_FROM)
        flows = np.zeros((blocks, self.coefficients.shape[0], FLOWS))
        ambient_heat = np.zeros((self.coefficients.shape[0], self.coefficients.ambient_count))
        return PassPlan(cut.fused, tiles, buffers, scratch_rows(shape, tiles, cut) * pitch, flows, ambient_heat)

    def _exchange(self, dt: float) -> tuple[CpuExchange, np.ndarray]:
        """The exchange in a step of `dt` seconds, and the heat that a kelvin moves through each face of each class."""
        rates = self._kernel.rates(dt)
        table = None if self._kernel.uniform else rates.reshape(-1)
        rx, ry, rz = rates[0, ::2]
        weights = (rates.T.astype(np.float64) * self.coefficients.capacity).reshape(-1)
        given, losses = self.coefficients, None
        if given.losses is not None:
            losses = (dt * given.losses).astype(self.dtype)
        heat = None if losses is None else losses.astype(np.float64) * given.capacity
        of_classes = table, self._kernel.paired, given.classes_to_look_up, *self._runs, given.class_count, losses, heat
        of_rows, columns = None, None
        if self._patterns is not None:
            of_rows, columns = self._patterns.of_rows, rates[self._patterns.classes].swapaxes(1, 2).reshape(-1)
        return CpuExchange(rx, ry, rz, *of_classes, of_rows, columns, given.shape[2]), weights

    def _heat(self, dt: float, forcing: Forcing, windows: Windows) -> CpuSources:
        dtype, table = self.dtype, None
        if forcing.heat_table is not None:
            table = np.ascontiguousarray(forcing.heat_table, dtype)
        elif forcing.heat_field is not None or self._kernel.potentials:
            # Zeros cost little beside what these kernels do besides, and spare compiling versions without a table.
            table = np.zeros((1, self.coefficients.class_count), dtype)
        field = None if forcing.heat_field is None else forcing.heat_field.astype(dtype, copy=False).reshape(-1)
        gain = (dt * forcing.heat_scale).astype(dtype)
        rows = 1 if table is None else len(table)
        return CpuSources(table, rows, dtype.type(dt), field, gain, len(gain), *_window_arrays(windows, dtype))

    def _boundary(self, weights: np.ndarray, forcing: Forcing) -> CpuBoundaryFaces:
        coefficients = self.coefficients
        a, b = (np.ascontiguousarray(values, self.dtype) for values in (forcing.boundary_a, forcing.boundary_b))
        rows, size = a.shape
        of_faces = coefficients.boundary_per_cell, self._boundary_offsets, self._closed, weights
        return CpuBoundaryFaces(a, b, rows, size, *of_faces, coefficients.class_count)


def _window_arrays(windows: Windows, dtype: np.dtype) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """How many steps have windows, and the arrays of `CpuSources` that say which."""
    if not any(windows):
        return 0, np.zeros(1, np.int64), np.zeros((0, WINDOW_NUMBERS), np.int64), np.zeros(0, dtype)
    starts = np.cumsum([0, *map(len, windows)])
    every = [each for step in windows for each in step]
    begins = np.cumsum([0, *(each.rates.size for each in every)]).tolist()
    numbers = [(*each.corner, *each.rates.shape, begin) for each, begin in zip(every, begins, strict=False)]
    return len(windows), starts, np.array(numbers), np.concatenate([each.rates.reshape(-1) for each in every])
