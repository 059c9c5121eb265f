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
    boundary_factors,
    boundary_rows,
    face_numbers,
    heat_rows,
    is_uniform,
    look_up_numbers,
)
from heatsim_kernels.enthalpy.temperatures import EnthalpyTemperatures
from heatsim_kernels.field.cuda.field import CudaField
from heatsim_kernels.field.cuda.window_batches import WindowSourceBatches
from heatsim_kernels.runtime.cuda.api import cuda
from heatsim_kernels.runtime.cuda.arrays import Array, Table, Upload, empty, on_device
from heatsim_kernels.runtime.cuda.launch import Resources, kernel
from heatsim_kernels.stencil.coefficients import FACES
from heatsim_kernels.stencil.heat_ledger import ledger_of
from heatsim_kernels.stencil.step_batches import split_steps

NOTHING = np.zeros((1, 1))  # in place of a table that a problem has not


class EnthalpyCudaStepper:
    """An `ExplicitStepper` on the GPU whose field stores u, see `coefficients`.

    movement: the module `basic` or `register`.
    """

    fused_steps = 1

    def __init__(self, coefficients: NonlinearCoefficients, dtype: np.dtype, movement: ModuleType) -> None:
        self.coefficients, self.dtype, self._movement = coefficients, np.dtype(dtype), movement
        self.name = movement.__name__.rpartition(".")[2]
        several = coefficients.class_ids is not None
        self._structure = EnthalpyConfiguration(
            self.dtype.name, is_uniform(coefficients), several, coefficients.shape[2] % 4 == 0, coefficients.periodic
        )
        self.field = CudaField(
            coefficients, self.dtype, temperatures=EnthalpyTemperatures(coefficients, self._fill_temperatures)
        )
        nz, ny, nx = coefficients.shape
        self._shape = EnthalpyShape(np.uint32(nz), np.uint32(ny), np.uint32(nx))
        wrap_x, wrap_y, wrap_z = map(np.int64, coefficients.periodic)
        self._box = EnthalpyBox(np.int64(nz), np.int64(ny), np.int64(nx), wrap_x, wrap_y, wrap_z)
        tables = coefficients.tables.potentials, coefficients.tables.temperatures, coefficients.tables.resistivities
        potentials, temperatures, resistivities = (
            on_device(values.astype(self.dtype).reshape(-1)) for values in tables
        )
        self._tables = potentials, temperatures, resistivities
        self._faces = on_device(coefficients.material.astype(np.uint32)), on_device(coefficients.links.reshape(-1))
        joints = interface_cells.cells_of(coefficients) if movement.ONLY_SMOOTH else np.empty(0, np.uint32)
        self._joints = on_device(joints) if joints.size else None
        self._capacity = on_device(np.asarray(coefficients.capacity, np.float64))
        self._offsets = on_device(np.asarray(coefficients.boundary_offsets, np.int64))
        self._closed = on_device(np.array(coefficients.closed, np.uint8))
        follow, factor, lines, near = boundary_factors(coefficients, self.dtype)
        self._factors = np.int64(follow), on_device(factor), on_device(lines), near
        ledger = ledger_of(coefficients)
        self._book = tuple(map(on_device, ledger)) if ledger.cells.size else None
        differences = empty(max(1, int(ledger.starts[len(FACES)])), self.dtype)
        self._known_boundary = KnownBoundaryDifferences(self._closed, on_device(ledger.starts), differences)
        self._entered = on_device(np.zeros((coefficients.ledger_size, boundary_heat.BLOCKS)))
        self._uploads = {name: Upload() for name in ("boundary", "table")}
        self._sent: tuple[Any, Any, np.ndarray, np.ndarray] = (None, None, NOTHING, NOTHING)
        self._dt = np.nan
        self._medium: tuple[EnthalpyMedium, Array] | None = None  # and rates, for steps of `_dt`
        self._source: np.ndarray | None = None
        self._source_array: Array | None = None
        self._done: Any = None
        self._windows = WindowSourceBatches(coefficients.shape, self.dtype)

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered through each of FACES and from each ambient since the start, J."""
        return np.asarray(self._entered.host().sum(axis=1))

    def synchronize(self) -> None:
        """Wait until all steps taken so far are done."""
        cuda.synchronize()

    def resources(self, forcing: NonlinearForcing) -> Resources:
        """What the kernel takes of the GPU."""
        args = self._step_args(*self._sources(1.0, forcing)[1:], 1.0, 0)
        found: Resources = self._kernel(args).resources(self._movement.TILE.block)
        return found

    def advance(self, dt: float, steps: int, forcing: NonlinearForcing) -> None:
        """Advance `steps` steps of `dt` seconds. Returns when the steps of the call before are done: the host is one
        batch ahead of the device, so neither waits for the other. No step makes the kernels ready that steps need."""
        sources = self._sources(dt, forcing)
        if steps == 0:
            self._launches(*sources, dt, 0)
            self.field.was_finite()  # has a kernel, too
        for first, count, window_sources in split_steps(forcing.window_sources, steps, one_by_one=self.field.tracked):
            for k in range(first, first + count):
                for launch in self._launches(*sources, dt, k):
                    launch()
                self.field.swap()
            if window_sources:
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

    def _sources(self, dt: float, forcing: NonlinearForcing) -> tuple[Table, Table, np.ndarray, NonlinearForcing]:
        """Send boundary faces and sources, unless they are there already."""
        self._windows.send(forcing.window_sources)
        if self._sent[0] is not forcing.boundary or self._sent[1] is not forcing.heat_table:
            rows = boundary_rows(forcing, self.dtype), heat_rows(self.coefficients, forcing, self.dtype)
            self._sent = forcing.boundary, forcing.heat_table, *rows
        boundary = self._uploads["boundary"].send(self._sent[2], self.dtype)
        table = self._uploads["table"].send(self._sent[3], self.dtype)
        if self._source is not forcing.heat_field or self._source_array is None:
            self._source = forcing.heat_field
            field = NOTHING if forcing.heat_field is None else forcing.heat_field
            self._source_array = on_device(field.astype(self.dtype).reshape(-1))
        gains = (dt * forcing.heat_scale).astype(self.dtype)
        return boundary, table, gains, forcing

    def _launches(
        self, boundary: Table, table: Table, gains: np.ndarray, forcing: NonlinearForcing, dt: float, k: int
    ) -> list[Callable[[], None]]:
        """What takes step k of a batch: what passes the boundary faces, the sweep, and the cells that it leaves out."""
        args = self._step_args(table, gains, forcing, dt, k)
        launches = [
            self._kernel(args).bound(self._movement.grid(self.coefficients.shape), self._movement.TILE.block, args)
        ]
        if self._book is not None:
            medium = self._medium_for(dt)[0]
            place = self._known_boundary.differences, *self._book, self._capacity
            given = (self.field.now, *place, self._box, medium, self._boundary(boundary, k), self._entered)
            passing, grid = (
                kernel(boundary_heat.build, None, given),
                (boundary_heat.BLOCKS, self.coefficients.ledger_size, 1),
            )
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

    def _boundary(self, boundary: Table, k: int) -> EnthalpyBoundary:
        """The boundary faces in step k of a batch."""
        coefficients, real = self.coefficients, self.dtype.type
        sizes = (
            np.int64(coefficients.boundary_size),
            self._offsets,
            self._closed,
            np.int64(coefficients.boundary_per_cell),
        )
        return EnthalpyBoundary(
            boundary.row(k), np.int64(0), *sizes, real(coefficients.tables.reference), *self._factors
        )

    def _step_args(
        self, table: Table, gains: np.ndarray, forcing: NonlinearForcing, dt: float, k: int
    ) -> tuple[Any, ...]:
        """What the sweep is given in step k of a batch."""
        medium, rates = self._medium_for(dt)
        by_class = table.row(k), np.int64(0), self.dtype.type(dt)
        gain = gains[min(k, len(gains) - 1)]
        heat = EnthalpySources(*by_class, np.int64(forcing.heat_field is not None), self._source_array, gain)
        return self.field.now, self.field.next, self._shape, self._box, rates, medium, self._known_boundary, heat

    def _medium_for(self, dt: float) -> tuple[EnthalpyMedium, Array]:
        if self._medium is None or dt != self._dt:
            numbers = face_numbers(self.coefficients, dt, self.dtype)
            rates = np.zeros((len(numbers), 8), self.dtype)
            rates[:, :6] = numbers[..., 0]
            flags = np.int64(self._structure.uniform), np.int64(self._structure.several)
            tables = *self._tables, np.int64(self.coefficients.tables.segments)
            look, faces = look_up_numbers(self.coefficients, self.dtype), (*self._faces, on_device(numbers.reshape(-1)))
            medium = EnthalpyMedium(*look, *tables, *faces, *flags, self.field.class_ids)
            self._medium, self._dt = (medium, on_device(rates.reshape(-1))), dt
        return self._medium
