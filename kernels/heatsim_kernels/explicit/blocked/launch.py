"""Host side of `temporal`: launches of the kernel over one grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, shared_memory
from heatsim_kernels.device.cuda.arrays import Array, Table, empty, on_device
from heatsim_kernels.device.cuda.launch import Launch, Resources, kernel
from heatsim_kernels.explicit.blocked import march
from heatsim_kernels.explicit.blocked.cell_classes import (
    TemporalCellClasses,
    classes_of_turns,
    lay_out_classes,
)
from heatsim_kernels.explicit.blocked.field_planes import FieldPair
from heatsim_kernels.explicit.blocked.level import StageRates
from heatsim_kernels.explicit.blocked.losses import lost_bytes
from heatsim_kernels.explicit.blocked.march import StepRates, TemporalTables, TemporalVariant
from heatsim_kernels.explicit.blocked.plan import TemporalTile, corners, plan, trace_size
from heatsim_kernels.explicit.blocked.turn_kinds import classify_turns, moving_turns
from heatsim_kernels.explicit.coefficients import StencilCoefficients
from heatsim_kernels.explicit.cuda_cell.cell_update import GridShape
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration
from heatsim_kernels.explicit.rk_stages import RkStage

Spans = tuple[tuple[int, int], ...]  # of planes, first <= z < end


class Shares(NamedTuple):
    """What the blocks of a launch march through: see `plan.plan`."""

    blocks: int
    pieces: Array
    firsts: Array


class FusedSteps:
    """`steps` steps at once, for problems of one configuration on one grid; or two-term stages, if that says so.

    trace: after a launch, the boundary trace: the cells beside the faces before each step, (steps, boundary cells)
    flat, the FACES one after another, each in C order of its two axes. Periodic faces are not written. It has one
    element where `traced` is false. heat_accounts: see `LaneCellClasses`.
    """

    def __init__(
        self,
        configuration: StencilConfiguration,
        tile: TemporalTile,
        shape: tuple[int, int, int],
        *,
        traced: bool,
        cell_classes: TemporalCellClasses,
        heat_accounts: Array,
        pieces: Array | None = None,
    ) -> None:
        self._heat_accounts = heat_accounts
        self._pieces = empty(1, configuration.dtype) if pieces is None else pieces
        self.steps = tile.steps
        self.trace = empty(trace_size(tile, shape) if traced else 1, configuration.dtype)
        self._variant = TemporalVariant(configuration, tile, shape[2] % tile.columns == 0, traced)
        self._costs = march.turn_costs(self._variant)
        self._moving: tuple[float, ...] = ()
        self._shape, self._cells = GridShape(*map(np.uint32, shape)), shape
        self._dealt: dict[Spans, Shares] = {}
        self._everywhere: Spans = ((0, shape[0]),)
        self._lane_classes, self._kinds_of_turns = cell_classes.of_cells, empty(1, np.int32)
        if cell_classes.of_planes is not None:
            of_turns = classes_of_turns(cell_classes.of_planes, tile.steps, configuration.periodic[2])
            self._lane_classes = on_device(of_turns)
        elif configuration.class_dtype:
            columns = corners(tile, shape, configuration.periodic)
            self._lane_classes = lay_out_classes(cell_classes, tile, shape, columns)
            rates, wraps = on_device(np.ascontiguousarray(cell_classes.rates).ravel()), configuration.periodic[2]
            self._kinds_of_turns = classify_turns(self._lane_classes, rates, tile, shape[0], wraps)
            if self._costs.moving > 0.0:
                moving = moving_turns(self._kinds_of_turns, shape[0], tile.bands)
                self._moving = tuple(moving.mean(axis=1).tolist())
        self._class_count = np.int32(len(cell_classes.rates))
        self._compiled: Any = None
        self._shared = march.shared_bytes(self._variant)

    def __call__(
        self, u: FieldPair, v: FieldPair, k: int, tables: TemporalTables, rates: StageRates, rates_of_classes: Array
    ) -> None:
        """Take `steps` stages from those in `u` on and put the last two into `v`; other arguments as for `bound`."""
        shares = self._shares(self._everywhere)
        args = self._args(u, v, k, tables, rates, rates_of_classes, shares)
        self._kernel(args)((shares.blocks, 1, 1), self._variant.tile.block, args, self._shared)

    def bound(
        self,
        u: Array,
        v: Array,
        k: int,
        tables: TemporalTables,
        rates: StepRates,
        rates_of_classes: Array,
        spans: Spans | None = None,
    ) -> Launch:
        """A launch that writes to `v` what `u` is after `steps` steps, the first of which is step k of the tables, in
        some spans of planes, by default all. rates_of_classes: the rates a step of each cell class, RATES apart."""
        shares = self._shares(spans or self._everywhere)
        args = self._args(u, v, k, tables, rates, rates_of_classes, shares)
        grid, block = (shares.blocks, 1, 1), self._variant.tile.block
        launch: Launch = self._kernel(args).bound(grid, block, args, self._shared)
        return launch

    def resources(self, u: Array, tables: TemporalTables, rates: StepRates, rates_of_classes: Array) -> Resources:
        """Registers and memory that the kernel takes."""
        args = self._args(u, u, 0, tables, rates, rates_of_classes, self._shares(self._everywhere))
        found: Resources = self._kernel(args).resources(self._variant.tile.block, self._shared)
        return found

    def _args(
        self,
        u: Array | FieldPair,
        v: Array | FieldPair,
        k: int,
        tables: TemporalTables,
        rates: StepRates | StageRates,
        rates_of_classes: Array,
        shares: Shares,
    ) -> tuple[Any, ...]:
        cell_classes = march.LaneCellClasses(
            self._lane_classes,
            self._kinds_of_turns,
            rates_of_classes,
            self._class_count,
            self._heat_accounts,
            self._pieces,
        )
        return u, v, self.trace, self._shape, *shares[1:], np.int32(k), tables, rates, cell_classes

    def _plan(self, spans: Spans) -> tuple[np.ndarray, np.ndarray]:
        variant = self._variant
        rest = _multiprocessors(), self._costs, spans, self._moving
        return plan(variant.tile, self._cells, variant.configuration.periodic, *rest)

    def _shares(self, spans: Spans) -> Shares:
        if spans not in self._dealt:
            pieces, firsts = self._plan(spans)
            self._dealt[spans] = Shares(len(firsts) - 1, on_device(pieces), on_device(firsts))
        return self._dealt[spans]

    def _kernel(self, args: tuple[Any, ...]) -> Any:
        """The kernel, kept here: looking it up takes longer than its launch."""
        if self._compiled is None:
            self._compiled = kernel(march.build, self._variant, args, march.bounds(self._variant.tile))
        return self._compiled


def fused_steps(
    configuration: StencilConfiguration,
    coefficients: StencilCoefficients,
    *,
    traced: bool,
    cell_classes: TemporalCellClasses,
    heat_accounts: Array,
    pieces: Array | None = None,
) -> FusedSteps | None:
    """The means to take several steps at once, with the best tile that fits; None where they cannot be fused."""
    traced = traced or configuration.boundary_per_cell  # whose look-up takes the corner of the tile, kept for a trace
    room, looking_up = shared_memory(), configuration._replace(room_for_classes=0)
    ways = [(tile, way) for tile in march.tiles_for(configuration) for way in (configuration, looking_up)]
    for tile, way in ways if coefficients.ambient_faces is None else ():
        needed = march.shared_bytes(TemporalVariant(way, tile, True, traced)) + lost_bytes(way, tile)
        if march.fuses(way, tile, coefficients.shape) and needed <= room:
            return FusedSteps(
                way,
                tile,
                coefficients.shape,
                traced=traced,
                cell_classes=cell_classes,
                heat_accounts=heat_accounts,
                pieces=pieces,
            )
    return None


def tables_of(boundary_a: Table, boundary_b: Table, heat: Table) -> TemporalTables:
    """The tables of a batch of steps as the kernel takes them; `boundary_a` and `boundary_b` have equally many rows."""
    return TemporalTables(
        boundary_a.array, boundary_b.array, np.int32(boundary_a.rows), heat.array, np.int32(heat.rows)
    )


def with_stages(rates: StepRates, stages: Sequence[RkStage]) -> StageRates:
    """The rates for stages that are taken at once."""
    real = type(rates.dt)
    return StageRates(*rates, tuple(real(stage.nu) for stage in stages), tuple(real(stage.rate) for stage in stages))


def _multiprocessors() -> int:
    """Multiprocessors of the current GPU."""
    return 2 if SIMULATED else int(cuda.get_current_device().MULTIPROCESSOR_COUNT)
