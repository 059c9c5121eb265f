"""Launches of `temporal` over one grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from heatsim_kernels.runtime.cuda.api import SIMULATED, cuda, shared_memory
from heatsim_kernels.runtime.cuda.arrays import Array, Table, empty, on_device
from heatsim_kernels.runtime.cuda.launch import Resources, kernel
from heatsim_kernels.stencil.cuda.cell_update import GridShape
from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration
from heatsim_kernels.stencil.rk_stages import RkStage
from heatsim_kernels.stencil.temporal import march
from heatsim_kernels.stencil.temporal.cell_classes import TemporalCellClasses, laid_out
from heatsim_kernels.stencil.temporal.field_planes import FieldPair
from heatsim_kernels.stencil.temporal.level import StageRates
from heatsim_kernels.stencil.temporal.march import StepRates, TemporalTables, TemporalVariant
from heatsim_kernels.stencil.temporal.plan import WALL_COSTS, WALL_COSTS_OF_KINDS, TemporalTile, plan, trace_size
from heatsim_kernels.stencil.terms import StencilCoefficients


class FusedSteps:
    """`steps` steps at once of problems of one structure on one grid; or bare stages, where the structure says so.

    trace: after a launch, the cells beside walls before each step: (steps, boundary cells), flat, the
    FACES one after another, each in C order of its two axes; those of periodic faces are not written. One element
    where `traced` is false.
    """

    def __init__(
        self,
        structure: StencilConfiguration,
        tile: TemporalTile,
        shape: tuple[int, int, int],
        *,
        traced: bool,
        kinds: TemporalCellClasses,
    ) -> None:
        self.steps = tile.steps
        self.trace = empty(trace_size(tile, shape) if traced else 1, structure.dtype)
        self._variant = TemporalVariant(structure, tile, shape[2] % tile.columns == 0, traced)
        of_walls = WALL_COSTS_OF_KINDS if structure.kinds else WALL_COSTS
        costs = of_walls[structure.dtype][traced + march.splits(self._variant)]
        pieces, firsts = plan(tile, shape, structure.periodic, _multiprocessors(), costs)
        self._grid = (len(firsts) - 1, 1, 1)
        self._shape = GridShape(*map(np.uint32, shape))
        self._plan = on_device(pieces), on_device(firsts)
        self._of_lanes = laid_out(kinds, tile, shape, pieces) if structure.kinds else kinds.of_cells
        self._kind_count = np.int32(kinds.count)
        self._compiled: Any = None
        self._shared = march.shared_bytes(self._variant)

    def __call__(
        self, u: FieldPair, v: FieldPair, k: int, tables: TemporalTables, rates: StageRates, of_kinds: Array
    ) -> None:
        """Put the last two of `steps` stages from those in `u` on into `v`; the rest as of `bound`."""
        args = self._args(u, v, k, tables, rates, of_kinds)
        self._kernel(args)(self._grid, self._variant.tile.block, args, self._shared)

    def bound(
        self, u: Array, v: Array, k: int, tables: TemporalTables, rates: StepRates, of_kinds: Array
    ) -> Callable[[], None]:
        """What writes to `v` what `u` is after `steps` steps, of which the first is step k of the tables. `of_kinds`:
        the rates a step of each kind, RATES apart."""
        args = self._args(u, v, k, tables, rates, of_kinds)
        launch: Callable[[], None] = self._kernel(args).bound(self._grid, self._variant.tile.block, args, self._shared)
        return launch

    def resources(self, u: Array, tables: TemporalTables, rates: StepRates, of_kinds: Array) -> Resources:
        """What the kernel takes of the GPU."""
        args = self._args(u, u, 0, tables, rates, of_kinds)
        found: Resources = self._kernel(args).resources(self._variant.tile.block, self._shared)
        return found

    def _args(
        self,
        u: Array | FieldPair,
        v: Array | FieldPair,
        k: int,
        tables: TemporalTables,
        rates: StepRates | StageRates,
        of_kinds: Array,
    ) -> tuple[Any, ...]:
        kinds = march.LaneCellClasses(self._of_lanes, of_kinds, self._kind_count)
        return u, v, self.trace, self._shape, *self._plan, np.int32(k), tables, rates, kinds

    def _kernel(self, args: tuple[Any, ...]) -> Any:
        """The kernel; looking it up takes longer than its launch."""
        if self._compiled is None:
            self._compiled = kernel(march.build, self._variant, args, march.bounds(self._variant.tile))
        return self._compiled


def fused_steps(
    structure: StencilConfiguration, terms: StencilCoefficients, *, traced: bool, kinds: TemporalCellClasses
) -> FusedSteps | None:
    """The means to take several steps of such problems at once, by the best tile that fits, if they can be taken."""
    room = shared_memory()
    for tile in march.tiles_for(structure) if terms.taps is None else ():
        needed = march.shared_bytes(TemporalVariant(structure, tile, True, traced))
        if march.fuses(structure, tile, terms.shape) and needed <= room:
            return FusedSteps(structure, tile, terms.shape, traced=traced, kinds=kinds)
    return None


def tables_of(wall_a: Table, wall_b: Table, heat: Table) -> TemporalTables:
    """The tables of a batch of steps as the kernel takes them; `wall_a` and `wall_b` have as many rows."""
    return TemporalTables(wall_a.array, wall_b.array, np.int32(wall_a.rows), heat.array, np.int32(heat.rows))


def with_stages(rates: StepRates, stages: Sequence[RkStage]) -> StageRates:
    """The rates for stages that are taken at once."""
    real = type(rates.dt)
    return StageRates(*rates, tuple(real(stage.nu) for stage in stages), tuple(real(stage.rate) for stage in stages))


def _multiprocessors() -> int:
    """Multiprocessors of the current GPU."""
    return 2 if SIMULATED else int(cuda.get_current_device().MULTIPROCESSOR_COUNT)
