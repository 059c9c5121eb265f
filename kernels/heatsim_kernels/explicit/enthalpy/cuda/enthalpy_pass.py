"""CUDA: launches that advance temperature-dependent materials; how data move is a choice of kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.device.cuda.arrays import Array, empty, on_device
from heatsim_kernels.device.cuda.launch import Launch, Resources, kernel
from heatsim_kernels.explicit.blocked.field_planes import FieldPair
from heatsim_kernels.explicit.coefficients import FACES, Forcing
from heatsim_kernels.explicit.cuda import trapezoidal_defect
from heatsim_kernels.explicit.cuda.ledger import HeatAccounts
from heatsim_kernels.explicit.cuda.sent_forcing import ForcingUploads, SentForcing
from heatsim_kernels.explicit.cuda.stepper import StageOperands
from heatsim_kernels.explicit.cuda_cell.cell_update import CudaSources, CudaStageSources
from heatsim_kernels.explicit.cuda_cell.plane_sums import PlaneSums
from heatsim_kernels.explicit.enthalpy.cell import EnthalpyBox, EnthalpyMedium, KnownBoundary
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
from heatsim_kernels.explicit.enthalpy.cuda import boundary_heat, interface_cells, temperatures
from heatsim_kernels.explicit.enthalpy.cuda.cell import EnthalpyConfiguration, EnthalpyShape
from heatsim_kernels.explicit.enthalpy.cuda.fused_steps import FusedEnthalpySteps
from heatsim_kernels.explicit.enthalpy.kernel_arguments import (
    face_numbers,
    is_paired,
    is_uniform,
    numbers_of,
    piece_numbers,
)
from heatsim_kernels.explicit.enthalpy.pieces import count_pieces
from heatsim_kernels.explicit.enthalpy.temperatures import EnthalpyTemperatures
from heatsim_kernels.explicit.heat_ledger import ledger_of
from heatsim_kernels.explicit.rk_stages import RkStage
from heatsim_kernels.explicit.slabs import SlabLinks
from heatsim_kernels.field.cuda.field import CudaField


class EnthalpyBatch(NamedTuple):
    """What the steps of one call have in common, on the device; dt: s; heated: whether sources by cell class are among
    them."""

    dt: float
    structure: EnthalpyConfiguration
    sent: SentForcing
    medium: EnthalpyMedium
    rates: Array
    heated: bool


class EnthalpyCudaPass:
    """A `CudaPass` of a temperature-dependent problem, whose field stores u, see `coefficients`.

    movement: the module `basic` or `register`, which takes single steps. fused: whether to take several steps at once,
    by `temporal`, where these can be fused; not in slabs, whose halos are for single steps. links: of a slab to others.
    """

    def __init__(
        self,
        coefficients: NonlinearCoefficients,
        dtype: np.dtype,
        movement: ModuleType,
        links: SlabLinks | None = None,
        fused: bool = False,
    ) -> None:
        self._coefficients, self._dtype, self._movement = coefficients, np.dtype(dtype), movement
        self.name = "temporal" if fused else movement.__name__.rpartition(".")[2]
        fours = coefficients.shape[2] % 4 == 0
        flags = is_uniform(coefficients), is_paired(coefficients), coefficients.several, fours
        self._structure = EnthalpyConfiguration(
            self._dtype.name, *flags, coefficients.periodic, pieces=count_pieces(coefficients.tables.potentials)
        )
        self.field = CudaField(
            coefficients,
            self._dtype,
            temperatures=EnthalpyTemperatures(coefficients, self._fill_temperatures),
            whole=links.slab.cells if links else None,
        )
        nz, ny, nx = coefficients.shape
        self._shape = EnthalpyShape(np.uint32(nz), np.uint32(ny), np.uint32(nx))
        self._box = EnthalpyBox(*map(np.int64, (nz, ny, nx, *coefficients.periodic)))
        pieces, places = piece_numbers(coefficients.tables, self._dtype)
        self._tables = *numbers_of(self._dtype), on_device(pieces), *map(np.int64, places)
        self._faces = on_device(coefficients.material.astype(np.uint32)), on_device(coefficients.links.reshape(-1))
        joints = interface_cells.cells_of(coefficients) if movement.ONLY_SMOOTH else np.empty(0, np.uint32)
        self._joints = on_device(joints) if joints.size else None
        ledger = ledger_of(coefficients)
        by_plane = PlaneSums.of(coefficients.shape, boundary_heat.END_BLOCKS, links)
        self.ledger = HeatAccounts(coefficients, by_plane)
        parts = boundary_heat.parts_of(ledger, coefficients.shape, by_plane)
        book = ledger.cells, ledger.faces, ledger.starts, parts
        self._book = tuple(map(on_device, book)) if ledger.cells.size else None
        self._book_grid = by_plane.columns, len(ledger.starts) - 1, 1
        self._fused = FusedEnthalpySteps(coefficients, self.field, self.ledger) if fused and links is None else None
        self._capacity = on_device(np.asarray(coefficients.capacity, np.float64))
        self._offsets = on_device(np.asarray(coefficients.boundary_offsets, np.int64))
        sides = empty(max(1, int(ledger.starts[len(FACES)])), self._dtype)
        closed = on_device(np.array(coefficients.closed, np.uint8))
        self._known_boundary = KnownBoundary(closed, on_device(ledger.starts), sides)
        self._forcing_uploads = ForcingUploads(self._dtype, np.zeros((1, coefficients.class_count)))
        self._dt = np.nan
        self._medium: tuple[EnthalpyMedium, Array] | None = None  # and rates, for steps of `_dt`

    def batch(self, dt: float, forcing: Forcing) -> EnthalpyBatch:
        """Send what the steps need, unless it is there already."""
        structure = self._structure._replace(heat_field=forcing.heat_field is not None)
        sent, heated = self._forcing_uploads.send(dt, forcing), forcing.heat_table is not None
        return EnthalpyBatch(dt, structure, sent, *self._medium_for(dt), heated)

    def resources(self, batch: EnthalpyBatch) -> Resources:
        """What the kernel takes of the GPU, the fused one where steps are fused."""
        if self._fused is not None and self.most_steps(batch) > 1:
            return self._fused.resources(batch)
        args = self._args(batch, self.field.now, self.field.next, batch.sent.sources(0))
        found: Resources = self._kernel(batch.structure, args).resources(self._movement.TILE.block)
        return found

    def most_steps(self, batch: EnthalpyBatch) -> int:
        """The most steps of a batch that a sweep takes."""
        return 1 if self._fused is None else self._fused.most_steps(batch)

    def begin_steps(self, batch: EnthalpyBatch) -> None:
        """Nothing: what a step enters does not depend on those before."""

    def launches(self, batch: EnthalpyBatch, k: int, taken: int, u: Array, v: Array) -> list[Launch]:
        """What takes one or most steps of a batch from step k on. For one: what passes the boundary faces, the sweep,
        and the cells that it leaves out."""
        if self._fused is not None and taken > 1:
            return self._fused.launches(batch, k, u, v)
        return self._launches(batch.structure, batch, k, u, v, batch.sent.sources(k), share=1.0)

    def edges_first(self, batch: EnthalpyBatch, k: int, taken: int, u: Array, v: Array) -> None:
        """A sweep takes all planes at once."""

    def most_stages(self, batch: EnthalpyBatch) -> int:
        """One."""
        return 1

    def take_stage(
        self, batch: EnthalpyBatch, k: int, stage: RkStage, fields: StageOperands, v: Array, *, booked: bool
    ) -> None:
        """Put stage k of a batch into v, with its heat if that is booked."""
        structure = batch.structure._replace(stage=stage.form)
        numbers = (self._dtype.type(value) for value in stage[:4])
        sources = CudaStageSources(*batch.sent.sources(k), fields.before, fields.start, fields.one, *numbers)
        share = stage.weight if booked else 0.0
        for launch in self._launches(structure, batch, k, fields.last, v, sources, share):
            launch()

    def take_stages(self, batch: EnthalpyBatch, k: int, stages: Sequence[RkStage], u: FieldPair, v: FieldPair) -> None:
        """Never asked: see `most_stages`."""
        raise NotImplementedError

    def defect_kernel(self) -> tuple[Callable[..., Any], Any, tuple[Any, ...]]:
        """What builds the kernel of the trapezoidal defect, for what, and what that kernel is given last."""
        if self._coefficients.tables.keeps_temperature:
            return trapezoidal_defect.build, None, ()
        return temperatures.build_defect, self._dtype.name, (self._medium_for(self._dt)[0],)

    def _fill_temperatures(self, state: Array, offsets: Array) -> None:
        """Compute temperature offsets, flat. They do not depend on the step that the medium is for."""
        medium = (self._medium or self._medium_for(1.0))[0]
        args, threads = (state, offsets, medium), temperatures.TEMPERATURE_THREADS
        grid = -(-state.shape[0] // threads), 1, 1
        kernel(temperatures.build_temperatures, None, args)(grid, (threads, 1, 1), args)

    def _launches(
        self,
        structure: EnthalpyConfiguration,
        batch: EnthalpyBatch,
        k: int,
        u: Array,
        v: Array,
        sources: CudaSources | CudaStageSources,
        share: float,
    ) -> list[Launch]:
        args = self._args(batch, u, v, sources)
        movement, shape = self._movement, self._coefficients.shape
        launches = [self._kernel(structure, args).bound(movement.grid(shape), movement.TILE.block, args)]
        if self._book is not None:
            own = (u, *self._book, self._capacity, self._box, batch.medium, self._known_boundary)
            values = batch.sent.boundary_a.row(k), batch.sent.boundary_b.row(k), self._offsets
            given = (*own, *values, np.float64(share), self.ledger.partial)
            passing = kernel(boundary_heat.build, None, given)
            launches.insert(0, passing.bound(self._book_grid, (boundary_heat.THREADS, 1, 1), given))
        if self._joints is not None:
            given = (u, v, self._joints, self._box, batch.medium, sources)
            grid, block = interface_cells.grid(self._joints.shape[0]), (interface_cells.THREADS, 1, 1)
            beside = kernel(interface_cells.build, structure, given, interface_cells.bounds(structure))
            launches.append(beside.bound(grid, block, given))
        return launches

    def _kernel(self, structure: EnthalpyConfiguration, args: tuple[Any, ...]) -> Any:
        """The movement's kernel."""
        return kernel(self._movement.build, structure, args, self._movement.bounds(structure))

    def _args(
        self, batch: EnthalpyBatch, u: Array, v: Array, sources: CudaSources | CudaStageSources
    ) -> tuple[Any, ...]:
        """What the sweep is given."""
        return u, v, self._shape, self._box, batch.rates, batch.medium, self._known_boundary, sources

    def _medium_for(self, dt: float) -> tuple[EnthalpyMedium, Array]:
        if self._medium is None or dt != self._dt:
            numbers = face_numbers(self._coefficients, dt, self._dtype)
            rates = np.zeros((len(numbers), 8), self._dtype)
            rates[:, :6] = numbers[..., 0]
            structure, faces = self._structure, (*self._faces, on_device(numbers.reshape(-1)))
            flags = map(np.int64, (structure.uniform, structure.paired, structure.several))
            given: tuple[Any, ...] = *self._tables, *faces, *flags, self.field.class_ids
            medium = EnthalpyMedium(*given)
            self._medium, self._dt = (medium, on_device(rates.reshape(-1))), dt
        return self._medium
