"""CUDA: what launches of a linear problem are given, and which kernels take its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.device.cuda.api import device_name
from heatsim_kernels.device.cuda.arrays import Array, Upload, on_device
from heatsim_kernels.device.cuda.launch import Launch, Resources, kernel
from heatsim_kernels.device.thread_blocks import ThreadBlock
from heatsim_kernels.explicit.blocked import losses
from heatsim_kernels.explicit.blocked.cell_classes import TemporalCellClasses
from heatsim_kernels.explicit.blocked.field_planes import FieldPair
from heatsim_kernels.explicit.blocked.launch import FusedSteps, fused_steps, tables_of, with_stages
from heatsim_kernels.explicit.blocked.march import StepRates, TemporalTables
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.cuda import trapezoidal_defect
from heatsim_kernels.explicit.cuda.ledger import CudaLedger, LedgerInputs
from heatsim_kernels.explicit.cuda.sent_forcing import ForcingUploads, SentForcing
from heatsim_kernels.explicit.cuda.stepper import StageOperands, StepLaunches
from heatsim_kernels.explicit.cuda.tile_tuning import choose_tile
from heatsim_kernels.explicit.cuda_cell.cell_update import (
    LOSS,
    CudaBoundaryFaces,
    CudaExchange,
    CudaStageSources,
    GridShape,
    rates_of_classes,
)
from heatsim_kernels.explicit.cuda_cell.configuration import StencilConfiguration
from heatsim_kernels.explicit.heat_ledger import LossesOfOneClass
from heatsim_kernels.explicit.rk_stages import RkStage
from heatsim_kernels.explicit.slabs import SlabLinks, edges_and_inside
from heatsim_kernels.field.cuda.field import CudaField

NO_HEAT = np.zeros((1, 1))  # in place of a table of sources that a problem has not, and a kernel does not read


class LinearBatch(NamedTuple):
    """What the steps of one call have in common, on the device."""

    structure: StencilConfiguration
    sent: SentForcing
    weights: Array
    exchange: CudaExchange
    share: float
    released: np.ndarray

    def ledger_inputs(self, *, stages: bool = False) -> LedgerInputs:
        """What the ledger is told of these steps, or stages. In stages the losses are summed over the cells."""
        structure = self.structure._replace(losses=self.structure.losses and not stages)
        faces = self.sent.boundary_a, self.sent.boundary_b
        return LedgerInputs(structure, *faces, self.weights, self.share, self.released)


class LinearCudaPass:
    """A `CudaPass` of a linear problem.

    movement: a module such as `basic`, which takes single steps; `tile` one of its TILES (default: see `tuning`).
    fused: whether to take several steps at once, by `temporal`, where these can be fused. links: of a slab to others.
    """

    def __init__(
        self,
        coefficients: StencilCoefficients,
        dtype: np.dtype,
        movement: ModuleType,
        tile: ThreadBlock | None = None,
        *,
        fused: bool = False,
        links: SlabLinks | None = None,
    ) -> None:
        self._coefficients, self._dtype = coefficients, np.dtype(dtype)
        self.name = "temporal" if fused else movement.__name__.rpartition(".")[2]
        self._movement, self._given_tile, self._to_fuse, self._links = movement, tile, fused, links
        self.field = CudaField(coefficients, self._dtype, whole=links.slab.cells if links else None)
        nz, ny, nx = map(np.uint32, coefficients.shape)
        self._shape, self._offsets = GridShape(nz, ny, nx), on_device(coefficients.boundary_offsets)
        self.ledger = CudaLedger(coefficients, self.field, links)
        self._losses = LossesOfOneClass.of(coefficients, self._dtype, links)
        self._forcing_uploads = ForcingUploads(self._dtype, NO_HEAT)
        self._uploads = {name: Upload() for name in ("rates", "weights")}
        self._dt = np.nan
        self._fused: dict[StencilConfiguration, FusedSteps | None] = {}
        self._device_name = device_name()
        # Kernels of single steps and stages, with grids and blocks.
        self._kernels: dict[StencilConfiguration, tuple[Any, ...]] = {}

    def batch(self, dt: float, forcing: Forcing) -> LinearBatch:
        """Send what the steps need, unless it is there already."""
        if dt != self._dt:
            self._dt = dt
            rates = rates_of_classes(self._coefficients, dt, self._dtype)
            self._rates = rates.reshape(1, -1)
            weights = rates[:, : LOSS + 1].T.astype(np.float64) * self._coefficients.capacity
            self._weights = weights.reshape(1, -1)
        rx, ry, rz = self._rates[0, 0:6:2]
        of_classes = self._uploads["rates"].send(self._rates, self._dtype).row(0)
        share, released = 0.0, np.zeros(1)
        if self._losses is not None:
            share, released = self._losses.share(dt), self._losses.released(dt, forcing)
        return LinearBatch(
            StencilConfiguration.of(self._coefficients, forcing, self._dtype),
            self._forcing_uploads.send(dt, forcing),
            self._uploads["weights"].send(self._weights, np.dtype(np.float64)).row(0),
            CudaExchange(rx, ry, rz, of_classes, self.field.class_ids),
            share,
            released,
        )

    def begin_steps(self, batch: LinearBatch) -> None:
        """Before steps of a batch: see `CudaPass`."""
        self.ledger.begin_steps(batch.ledger_inputs())

    def resources(self, batch: LinearBatch) -> Resources:
        """What the kernel takes of the GPU, the fused one where steps are fused."""
        fused = self._fused_for(batch.structure)
        if fused is not None:
            return fused.resources(self.field.now, *_for_fused(batch), batch.exchange.rates)
        sweep, _, block = self._kernel(batch.structure, self._args(batch, 0, self.field.now, self.field.next))
        found: Resources = sweep.resources(block)
        return found

    def most_steps(self, batch: LinearBatch) -> int:
        """The most steps of a batch that a sweep can take."""
        fused = self._fused_for(batch.structure)
        return 1 if fused is None else fused.steps

    def launches(self, batch: LinearBatch, k: int, taken: int, u: Array, v: Array) -> list[Launch]:
        """What takes one or most steps of a batch from step k on, with their heat."""
        fused = self._fused_for(batch.structure) if taken > 1 else None
        if fused is None:
            args, trace = self._args(batch, k, u, v), v
            single, grid, block = self._kernel(batch.structure, args)
            launch = single.bound(grid, block, args)
        else:
            launch, trace = fused.bound(u, v, k, *_for_fused(batch), batch.exchange.rates), fused.trace
        return [launch, *self.ledger.launches(batch.ledger_inputs(), u, k, (1.0,) * taken, trace)]

    def edges_first(self, batch: LinearBatch, k: int, taken: int, u: Array, v: Array) -> StepLaunches | None:
        """The same with the edges of a slab apart, where steps are fused: see `CudaPass`."""
        fused = self._fused_for(batch.structure) if taken > 1 else None
        spans = None if self._links is None else edges_and_inside(self._links.slab)
        if fused is None or spans is None:
            return None
        edges, inside = (fused.bound(u, v, k, *_for_fused(batch), batch.exchange.rates, each) for each in spans)
        heat = self.ledger.launches(batch.ledger_inputs(), u, k, (1.0,) * taken, fused.trace)
        return StepLaunches(edges, inside, heat)

    def most_stages(self, batch: LinearBatch) -> int:
        """The most two-term stages that a sweep can take."""
        fused = self._fused_for(batch.structure._replace(stage="two"))
        return 1 if fused is None else fused.steps

    def take_stage(
        self, batch: LinearBatch, k: int, stage: RkStage, fields: StageOperands, v: Array, *, booked: bool
    ) -> None:
        """Put stage k of a batch into v, with its heat if that is booked."""
        structure = batch.structure._replace(stage=stage.form)
        numbers = (self._dtype.type(value) for value in stage[:4])
        heat = CudaStageSources(*batch.sent.sources(k), fields.before, fields.start, fields.one, *numbers)
        args = (fields.last, v, self._shape, self._boundary(batch, k), batch.exchange, heat)
        sweep, grid, block = self._kernel(structure, args)
        sweep(grid, block, args)
        if booked:
            self._book(batch, k, [stage], fields.last, v)

    def take_stages(self, batch: LinearBatch, k: int, stages: Sequence[RkStage], u: FieldPair, v: FieldPair) -> None:
        """Take most two-term stages at once, from stage k of a batch on, with their heat."""
        fused = self._fused_for(batch.structure._replace(stage="two"))
        assert fused is not None
        tables, rates = _for_fused(batch)
        fused(u, v, k, tables, with_stages(rates, stages), batch.exchange.rates)
        self._book(batch, k, stages, u.last, fused.trace)

    def defect_kernel(self) -> tuple[Callable[..., Any], Any, tuple[Any, ...]]:
        """What builds the kernel of the trapezoidal defect, for what, and what that kernel is given last."""
        return trapezoidal_defect.build, None, ()

    def _book(self, batch: LinearBatch, k: int, stages: Sequence[RkStage], u: Array, trace: Array) -> None:
        shares = [stage.weight for stage in stages]
        for launch in self.ledger.launches(batch.ledger_inputs(stages=True), u, k, shares, trace):
            launch()

    def _fused_for(self, structure: StencilConfiguration) -> FusedSteps | None:
        """The means to take several steps of such problems at once, if this sweep is to and they can be."""
        if self._to_fuse and structure not in self._fused:
            of_planes = self._coefficients.classes_of_planes
            cell_classes = TemporalCellClasses(self.field.class_ids, self._coefficients.rates, of_planes)
            even = structure.uniform or structure.paired
            configuration = structure.with_room_for(self._coefficients.class_count)._replace(
                uneven=self._coefficients.uneven, layered=of_planes is not None and even
            )
            found = fused_steps(
                configuration,
                self._coefficients,
                traced=self.ledger.open_faces > 0,
                cell_classes=cell_classes,
                heat_accounts=self.ledger.lost,
            )
            self._fused[structure] = found if self._serves_slabs(found, configuration) else None
        return self._fused.get(structure)

    def _serves_slabs(self, found: FusedSteps | None, configuration: StencilConfiguration) -> bool:
        """Whether all slabs can take so many steps at once, or there are none. Sums over cells have to be by plane."""
        if self._links is None:
            return True
        here = found is not None and found.steps <= self._links.slab.halo and not losses.sums(configuration)
        return bool(self._links.greatest(np.array([0.0 if here else 1.0]))[0] == 0.0)

    def _kernel(self, structure: StencilConfiguration, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """A kernel, its grid and its block; found once: which tile is best stands in a file."""
        if structure not in self._kernels:
            shape = self._coefficients.shape
            tile = self._given_tile or choose_tile(self._movement, structure, shape, self._device_name)
            sweep = kernel(self._movement.build, (structure, tile), args)
            self._kernels[structure] = sweep, self._movement.grid(shape, tile, self._dtype.name), tile.block
        return self._kernels[structure]

    def _boundary(self, batch: LinearBatch, k: int) -> CudaBoundaryFaces:
        return CudaBoundaryFaces(batch.sent.boundary_a.row(k), batch.sent.boundary_b.row(k), self._offsets)

    def _args(self, batch: LinearBatch, k: int, u: Array, v: Array) -> tuple[Any, ...]:
        """What the sweep is given in step k of a batch."""
        return u, v, self._shape, self._boundary(batch, k), batch.exchange, batch.sent.sources(k)


def _for_fused(batch: LinearBatch) -> tuple[TemporalTables, StepRates]:
    """What a fused sweep is given of a batch."""
    tables = tables_of(batch.sent.boundary_a, batch.sent.boundary_b, batch.sent.heat_table)
    return tables, StepRates(*batch.exchange[:3], batch.sent.dt)
