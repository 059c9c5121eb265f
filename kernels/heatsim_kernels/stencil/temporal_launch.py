"""Launches of `temporal` over one grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from heatsim_kernels.cuda_api import SIMULATED, cuda, shared_memory
from heatsim_kernels.cuda_launch import Resources, kernel
from heatsim_kernels.cuda_memory import Array, Table, empty, on_device
from heatsim_kernels.stencil import temporal
from heatsim_kernels.stencil.cuda_cell import Shape
from heatsim_kernels.stencil.stages import Stage
from heatsim_kernels.stencil.structure import Structure
from heatsim_kernels.stencil.temporal import Rates, Tables, Variant
from heatsim_kernels.stencil.temporal_fields import Pair
from heatsim_kernels.stencil.temporal_kinds import Kinds, laid_out
from heatsim_kernels.stencil.temporal_plan import WALL_COSTS, WALL_COSTS_OF_KINDS, Tile, plan, trace_size
from heatsim_kernels.stencil.temporal_scheme import StageRates
from heatsim_kernels.stencil.terms import Terms


class FusedSteps:
    """`steps` steps at once of problems of one structure on one grid; or bare stages, where the structure says so.

    trace: after a launch, the cells beside walls before each step: (steps, boundary cells), flat, the
    FACES one after another, each in C order of its two axes; those of periodic faces are not written. One element
    where `traced` is false.
    """

    def __init__(
        self, structure: Structure, tile: Tile, shape: tuple[int, int, int], *, traced: bool, kinds: Kinds
    ) -> None:
        self.steps = tile.steps
        self.trace = empty(trace_size(tile, shape) if traced else 1, structure.dtype)
        self._variant = Variant(structure, tile, shape[2] % tile.columns == 0, traced)
        of_walls = WALL_COSTS_OF_KINDS if structure.kinds else WALL_COSTS
        costs = of_walls[structure.dtype][traced + temporal.splits(self._variant)]
        pieces, firsts = plan(tile, shape, structure.periodic, _multiprocessors(), costs)
        self._grid = (len(firsts) - 1, 1, 1)
        self._shape = Shape(*map(np.uint32, shape))
        self._plan = on_device(pieces), on_device(firsts)
        self._of_lanes = laid_out(kinds, tile, shape, pieces) if structure.kinds else kinds.of_cells
        self._kind_count = np.int32(kinds.count)
        self._compiled: Any = None
        self._shared = temporal.shared_bytes(self._variant)

    def __call__(self, u: Pair, v: Pair, k: int, tables: Tables, rates: StageRates, of_kinds: Array) -> None:
        """Put the last two of `steps` stages from those in `u` on into `v`; the rest as of `bound`."""
        args = self._args(u, v, k, tables, rates, of_kinds)
        self._kernel(args)(self._grid, self._variant.tile.block, args, self._shared)

    def bound(self, u: Array, v: Array, k: int, tables: Tables, rates: Rates, of_kinds: Array) -> Callable[[], None]:
        """What writes to `v` what `u` is after `steps` steps, of which the first is step k of the tables. `of_kinds`:
        the rates a step of each kind, RATES apart."""
        args = self._args(u, v, k, tables, rates, of_kinds)
        launch: Callable[[], None] = self._kernel(args).bound(self._grid, self._variant.tile.block, args, self._shared)
        return launch

    def resources(self, u: Array, tables: Tables, rates: Rates, of_kinds: Array) -> Resources:
        """What the kernel takes of the GPU."""
        args = self._args(u, u, 0, tables, rates, of_kinds)
        found: Resources = self._kernel(args).resources(self._variant.tile.block, self._shared)
        return found

    def _args(
        self, u: Array | Pair, v: Array | Pair, k: int, tables: Tables, rates: Rates | StageRates, of_kinds: Array
    ) -> tuple[Any, ...]:
        kinds = temporal.LaneKinds(self._of_lanes, of_kinds, self._kind_count)
        return u, v, self.trace, self._shape, *self._plan, np.int32(k), tables, rates, kinds

    def _kernel(self, args: tuple[Any, ...]) -> Any:
        """The kernel; looking it up takes longer than its launch."""
        if self._compiled is None:
            self._compiled = kernel(temporal.build, self._variant, args, temporal.bounds(self._variant.tile))
        return self._compiled


def fused_steps(structure: Structure, terms: Terms, *, traced: bool, kinds: Kinds) -> FusedSteps | None:
    """The means to take several steps of such problems at once, by the best tile that fits, if they can be taken."""
    room = shared_memory()
    for tile in temporal.tiles_for(structure) if terms.taps is None else ():
        needed = temporal.shared_bytes(Variant(structure, tile, True, traced))
        if temporal.fuses(structure, tile, terms.shape) and needed <= room:
            return FusedSteps(structure, tile, terms.shape, traced=traced, kinds=kinds)
    return None


def tables_of(wall_a: Table, wall_b: Table, heat: Table) -> Tables:
    """The tables of a batch of steps as the kernel takes them; `wall_a` and `wall_b` have as many rows."""
    return Tables(wall_a.array, wall_b.array, np.int32(wall_a.rows), heat.array, np.int32(heat.rows))


def with_stages(rates: Rates, stages: Sequence[Stage]) -> StageRates:
    """The rates for stages that are taken at once."""
    real = type(rates.dt)
    return StageRates(*rates, tuple(real(stage.nu) for stage in stages), tuple(real(stage.rate) for stage in stages))


def _multiprocessors() -> int:
    """Multiprocessors of the current GPU."""
    return 2 if SIMULATED else int(cuda.get_current_device().MULTIPROCESSOR_COUNT)
