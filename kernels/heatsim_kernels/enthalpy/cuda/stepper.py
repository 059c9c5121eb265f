"""CUDA: explicit steps of temperature-dependent materials; how data move is a choice of kernel."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from heatsim_kernels.enthalpy.cell import (
    EnthalpyBoundary,
    EnthalpyBox,
    EnthalpyMedium,
    EnthalpySources,
    KnownBoundaryDifferences,
)
from heatsim_kernels.enthalpy.coefficients import NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.enthalpy.cuda import boundary_heat, cell, interface_cells
from heatsim_kernels.enthalpy.cuda.cell import EnthalpyConfiguration, EnthalpyShape
from heatsim_kernels.enthalpy.kernel_arguments import (
    face_numbers,
    heat_rows,
    is_uniform,
    look_up_numbers,
    wall_factors,
    wall_rows,
)
from heatsim_kernels.enthalpy.temperatures import EnthalpyTemperatures
from heatsim_kernels.field.cuda.field import CudaField
from heatsim_kernels.field.cuda.window_batches import WindowSourceBatches
from heatsim_kernels.runtime.cuda.api import cuda
from heatsim_kernels.runtime.cuda.arrays import Array, Table, Upload, empty, on_device
from heatsim_kernels.runtime.cuda.launch import Resources, kernel
from heatsim_kernels.stencil.heat_ledger import ledger_of
from heatsim_kernels.stencil.step_batches import split_steps
from heatsim_kernels.stencil.terms import FACES

NOTHING = np.zeros((1, 1))  # in place of a table that a problem has not


class EnthalpyCudaStepper:
    """An `ExplicitStepper` on the GPU whose field stores u, see `coefficients`.

    movement: the module `basic` or `register`.
    """

    fused_steps = 1

    def __init__(self, terms: NonlinearCoefficients, dtype: np.dtype, movement: ModuleType) -> None:
        self.terms, self.dtype, self._movement = terms, np.dtype(dtype), movement
        self.name = movement.__name__.rpartition(".")[2]
        several = terms.kinds is not None
        self._structure = EnthalpyConfiguration(
            self.dtype.name, is_uniform(terms), several, terms.shape[2] % 4 == 0, terms.periodic
        )
        self.field = CudaField(terms, self.dtype, temperatures=EnthalpyTemperatures(terms, self._fill_temperatures))
        nz, ny, nx = terms.shape
        self._shape = EnthalpyShape(np.uint32(nz), np.uint32(ny), np.uint32(nx))
        wrap_x, wrap_y, wrap_z = map(np.int64, terms.periodic)
        self._box = EnthalpyBox(np.int64(nz), np.int64(ny), np.int64(nx), wrap_x, wrap_y, wrap_z)
        tables = terms.tables.potentials, terms.tables.temperatures, terms.tables.resistivities
        potentials, temperatures, resistivities = (
            on_device(values.astype(self.dtype).reshape(-1)) for values in tables
        )
        self._tables = potentials, temperatures, resistivities
        self._faces = on_device(terms.material.astype(np.uint32)), on_device(terms.links.reshape(-1))
        joints = interface_cells.cells_of(terms) if movement.ONLY_SMOOTH else np.empty(0, np.uint32)
        self._joints = on_device(joints) if joints.size else None
        self._capacity = on_device(np.asarray(terms.capacity, np.float64))
        self._offsets = on_device(np.asarray(terms.wall_offsets, np.int64))
        self._closed = on_device(np.array(terms.closed, np.uint8))
        follow, factor, lines, near = wall_factors(terms, self.dtype)
        self._factors = np.int64(follow), on_device(factor), on_device(lines), near
        ledger = ledger_of(terms)
        self._book = tuple(map(on_device, ledger)) if ledger.cells.size else None
        differences = empty(max(1, int(ledger.starts[len(FACES)])), self.dtype)
        self._known_walls = KnownBoundaryDifferences(self._closed, on_device(ledger.starts), differences)
        self._entered = on_device(np.zeros((terms.ledger_size, boundary_heat.BLOCKS)))
        self._uploads = {name: Upload() for name in ("walls", "table")}
        self._sent: tuple[Any, Any, np.ndarray, np.ndarray] = (None, None, NOTHING, NOTHING)
        self._dt = np.nan
        self._medium: tuple[EnthalpyMedium, Array] | None = None  # and rates, for steps of `_dt`
        self._source: np.ndarray | None = None
        self._source_array: Array | None = None
        self._done: Any = None
        self._windows = WindowSourceBatches(terms.shape, self.dtype)

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered through each of FACES and from each ambient since the start, J."""
        return np.asarray(self._entered.host().sum(axis=1))

    def synchronize(self) -> None:
        """Wait until all steps taken so far are done."""
        cuda.synchronize()

    def resources(self, drive: NonlinearForcing) -> Resources:
        """What the kernel takes of the GPU."""
        args = self._step_args(*self._sources(1.0, drive)[1:], 1.0, 0)
        found: Resources = self._kernel(args).resources(self._movement.TILE.block)
        return found

    def advance(self, dt: float, steps: int, drive: NonlinearForcing) -> None:
        """Advance `steps` steps of `dt` seconds. Returns when the steps of the call before are done: the host is one
        batch ahead of the device, so neither waits for the other. No step makes the kernels ready that steps need."""
        sources = self._sources(dt, drive)
        if steps == 0:
            self._launches(*sources, dt, 0)
            self.field.was_finite()  # has a kernel, too
        for first, count, deposits in split_steps(drive.deposits, steps, one_by_one=self.field.tracked):
            for k in range(first, first + count):
                for launch in self._launches(*sources, dt, k):
                    launch()
                self.field.swap()
            if deposits:
                self._windows.add(self.field.now, first + count - 1, dt)
            self.field.sample(count * dt)
        done = cuda.event()
        done.record()
        if self._done is not None:
            self._done.synchronize()
        self._done = done

    def _fill_temperatures(self, state: Array, offsets: Array) -> None:
        """Compute temperature offsets, flat. They do not depend on the step that the medium is for."""
        medium = (self._medium or self._medium_for(1.0))[0]
        args, threads = (state, offsets, medium), cell.TEMPERATURE_THREADS
        kernel(cell.build_temperatures, None, args)((-(-state.shape[0] // threads), 1, 1), (threads, 1, 1), args)

    def _sources(self, dt: float, drive: NonlinearForcing) -> tuple[Table, Table, np.ndarray, NonlinearForcing]:
        """Send walls and sources, unless they are there already."""
        self._windows.send(drive.deposits)
        if self._sent[0] is not drive.walls or self._sent[1] is not drive.heat_table:
            rows = wall_rows(drive, self.dtype), heat_rows(self.terms, drive, self.dtype)
            self._sent = drive.walls, drive.heat_table, *rows
        walls = self._uploads["walls"].send(self._sent[2], self.dtype)
        table = self._uploads["table"].send(self._sent[3], self.dtype)
        if self._source is not drive.heat_field or self._source_array is None:
            self._source = drive.heat_field
            field = NOTHING if drive.heat_field is None else drive.heat_field
            self._source_array = on_device(field.astype(self.dtype).reshape(-1))
        gains = (dt * drive.heat_scale).astype(self.dtype)
        return walls, table, gains, drive

    def _launches(
        self, walls: Table, table: Table, gains: np.ndarray, drive: NonlinearForcing, dt: float, k: int
    ) -> list[Callable[[], None]]:
        """What takes step k of a batch: what passes the walls, the sweep, and the cells that it leaves out."""
        args = self._step_args(table, gains, drive, dt, k)
        launches = [self._kernel(args).bound(self._movement.grid(self.terms.shape), self._movement.TILE.block, args)]
        if self._book is not None:
            medium = self._medium_for(dt)[0]
            place = self._known_walls.differences, *self._book, self._capacity
            given = (self.field.now, *place, self._box, medium, self._walls(walls, k), self._entered)
            passing, grid = kernel(boundary_heat.build, None, given), (boundary_heat.BLOCKS, self.terms.ledger_size, 1)
            launches.insert(0, passing.bound(grid, (boundary_heat.THREADS, 1, 1), given))
        if self._joints is not None:
            u, v, shape, _, *others = args
            given = (u, v, self._joints, shape, *others)
            grid, block = interface_cells.grid(self._joints.shape[0]), (interface_cells.THREADS, 1, 1)
            variant = self._variant()
            beside = kernel(interface_cells.build, variant, given, interface_cells.bounds(variant))
            launches.append(beside.bound(grid, block, given))
        return launches

    def _kernel(self, args: tuple[Any, ...]) -> Any:
        """The movement's kernel."""
        variant = self._variant()
        return kernel(self._movement.build, variant, args, self._movement.bounds(variant))

    def _variant(self) -> EnthalpyConfiguration:
        """What the kernels of a step are compiled for."""
        return self._structure._replace(heat_field=self._source is not None)

    def _walls(self, walls: Table, k: int) -> EnthalpyBoundary:
        """The walls in step k of a batch."""
        terms, real = self.terms, self.dtype.type
        sizes = np.int64(terms.wall_size), self._offsets, self._closed, np.int64(terms.wall_per_cell)
        return EnthalpyBoundary(walls.row(k), np.int64(0), *sizes, real(terms.tables.reference), *self._factors)

    def _step_args(
        self, table: Table, gains: np.ndarray, drive: NonlinearForcing, dt: float, k: int
    ) -> tuple[Any, ...]:
        """What the sweep is given in step k of a batch."""
        medium, rates = self._medium_for(dt)
        by_kind = table.row(k), np.int64(0), self.dtype.type(dt)
        gain = gains[min(k, len(gains) - 1)]
        heat = EnthalpySources(*by_kind, np.int64(drive.heat_field is not None), self._source_array, gain)
        return self.field.now, self.field.next, self._shape, self._box, rates, medium, self._known_walls, heat

    def _medium_for(self, dt: float) -> tuple[EnthalpyMedium, Array]:
        if self._medium is None or dt != self._dt:
            numbers = face_numbers(self.terms, dt, self.dtype)
            rates = np.zeros((len(numbers), 8), self.dtype)
            rates[:, :6] = numbers[..., 0]
            flags = np.int64(self._structure.uniform), np.int64(self._structure.several)
            tables = *self._tables, np.int64(self.terms.tables.segments)
            look, faces = look_up_numbers(self.terms, self.dtype), (*self._faces, on_device(numbers.reshape(-1)))
            medium = EnthalpyMedium(*look, *tables, *faces, *flags, self.field.kinds)
            self._medium, self._dt = (medium, on_device(rates.reshape(-1))), dt
        return self._medium
