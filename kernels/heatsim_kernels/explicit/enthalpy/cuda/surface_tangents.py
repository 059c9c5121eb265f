"""CUDA: tangents to the flux of boundary faces, made where the field is; see `enthalpy.surface_tangents`.

The balances are in float64, by the operations of the CPU, so the tangents have its bits. Nothing crosses the bus but
what the surfaces are given, if that changes, and two numbers a comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda, inlined
from heatsim_kernels.device.cuda.arrays import Array, Table, empty, on_device
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.cuda.sent_forcing import BoundaryTables
from heatsim_kernels.explicit.enthalpy.cell import EnthalpyBoundary, EnthalpyMedium, build_tangent
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearForcing
from heatsim_kernels.explicit.enthalpy.cuda.cell import functions, item
from heatsim_kernels.explicit.enthalpy.kernel_arguments import boundary_rows, make_boundary, medium_of
from heatsim_kernels.explicit.enthalpy.surface_tangents import REAL, TERMS, TangentFaces, open_entries, share_of_largest
from heatsim_kernels.field.cuda.block_reduction import THREADS, block_most, greater

BLOCKS = 2 if SIMULATED else 264  # of a comparison
ALIVE = 4  # sets of tangents that are in use at a time, at most: of a step begun, its end, and those before

tangent, temperature, phi = build_tangent(inlined, functions, item), functions.temperature, functions.phi


class FacesOnDevice(NamedTuple):
    """The arrays of `TangentFaces`."""

    entries: Array
    classes: Array
    faces: Array
    positions: Array
    steepest: Array


class TangentTables(NamedTuple):
    """Tangents in the precision of the field, for kernels, and (rows, m) in float64, for comparisons."""

    tables: BoundaryTables
    slopes: Array
    heights: Array


class CudaSurfaceTangents:
    """`SurfaceTangents` on the GPU, for a field of `dtype`."""

    def __init__(self, faces: TangentFaces, dtype: np.dtype) -> None:
        self._faces, self._dtype, self._count = faces, np.dtype(dtype), faces.entries.size
        self._alone = self._count == open_entries(faces.coefficients).size
        own = faces.entries, faces.classes, faces.faces, faces.positions, faces.steepest
        self._arrays = FacesOnDevice(*map(on_device, own))
        self._cells = on_device(np.asarray(faces.cells, np.int64))
        medium = medium_of(faces.coefficients, 1.0, REAL)
        self._medium: EnthalpyMedium = _sent(medium._replace(class_ids=np.zeros(1, np.uint8)))
        self._given: np.ndarray | None = None
        self._boundary: EnthalpyBoundary | None = None
        self._made_at = empty(self._count, REAL)
        self._sets: list[TangentTables] = []
        self._bases: dict[str, tuple[np.ndarray, Array]] = {}
        self._partial: Array | None = None

    def applied(self, forcing: Forcing, cells: Callable[[Any], Any], boundary: np.ndarray) -> Forcing:
        """The forcing with tangents: see `SurfaceTangents`."""
        if not self._count:
            return forcing
        if self._given is not boundary or self._boundary is None:
            values = boundary_rows(NonlinearForcing(boundary), REAL)
            self._given, self._boundary = boundary, _sent(make_boundary(self._faces.coefficients, values, REAL))
        made = self._next_set(len(forcing.boundary_a))
        if not self._alone:
            self._copy_others(forcing, made.tables)
        args = (
            cells(self._cells), self._arrays, self._medium, self._boundary, self._made_at, made.tables.a.array,
            made.tables.b.array, made.slopes, made.heights, np.int64(made.tables.a.rows),
        )  # fmt: skip
        grid = -(-self._count // THREADS), 1, 1
        kernel(build_tangents, self._faces.stores_temperature, args)(grid, (THREADS, 1, 1), args)
        return replace(forcing, on_device=made.tables)

    def error(self, before: Forcing, row: int, now: Forcing) -> float:
        """How far tangents are off: see `SurfaceTangents`. Waits for the GPU."""
        if not self._count:
            return 0.0
        if self._partial is None:
            self._partial = empty((2, BLOCKS), REAL)
        old, new = (next(each for each in self._sets if each.tables is given.on_device) for given in (before, now))
        row = min(row, old.tables.a.rows - 1)
        lines = old.slopes.row(row), old.heights.row(row)
        args = (self._made_at, *lines, new.slopes.row(0), new.heights.row(0), self._partial)
        kernel(build_comparison, None, args)((BLOCKS, 1, 1), (THREADS, 1, 1), args)
        return share_of_largest(self._partial.host())

    def _next_set(self, rows: int) -> TangentTables:
        """Room for tangents of so many rows: that of the set made longest ago, if there are ALIVE."""
        size = self._faces.coefficients.boundary_size
        found = self._sets.pop(0) if len(self._sets) == ALIVE else None
        if found is None or found.slopes.shape[0] < rows:
            if found is not None:
                cuda.synchronize()  # launches may still read what is given up here
            a, b = (on_device(np.zeros((rows, size), self._dtype)) for _ in range(2))
            slopes, heights = (empty((rows, self._count), REAL) for _ in range(2))
            found = TangentTables(BoundaryTables(Table(a, rows), Table(b, rows)), slopes, heights)
        a, b = found.tables.a.array, found.tables.b.array
        self._sets.append(found._replace(tables=BoundaryTables(Table(a, rows), Table(b, rows))))
        return self._sets[-1]

    def _copy_others(self, forcing: Forcing, tables: BoundaryTables) -> None:
        """Copy the values of all faces, of which those that are tangents are written later."""
        for name, source, table in (("a", forcing.boundary_a, tables.a), ("b", forcing.boundary_b, tables.b)):
            if name not in self._bases or self._bases[name][0] is not source:
                self._bases[name] = source, on_device(source.astype(self._dtype))
            base = self._bases[name][1]
            args = base, table.array
            kernel(build_copy, None, args)((-(-base.shape[1] // THREADS), base.shape[0], 1), (THREADS, 1, 1), args)


def _sent(given: Any) -> Any:
    """A tuple of arrays and numbers with its arrays on the device, and its numbers of NumPy's types."""
    return type(given)(
        *(
            on_device(each) if isinstance(each, np.ndarray) else np.int64(each) if isinstance(each, int) else each
            for each in given
        )
    )


def build_copy(variant):
    """Build the kernel (source, target): copies rows into a table that may have more of them."""

    def copy(source, target):
        i, row = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x, int64(cuda.blockIdx.y)
        if i < source.shape[1]:
            target[row, i] = source[row, i]

    return copy


def build_tangents(stores_temperature: bool):
    """Build the kernel (states, faces, medium, boundary, made_at, a, b, slopes, heights, rows): see `_set_tangents`
    of the CPU; faces: `FacesOnDevice`; a and b in the precision of the field, slopes and heights (rows, m)."""

    def tangents(states, faces, medium, boundary, made_at, a, b, slopes, heights, rows):
        i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        if i < states.size:
            cell_class, face, position = item(faces.classes, i), item(faces.faces, i), item(faces.positions, i)
            material, entry = int64(item(medium.material, cell_class)), item(faces.entries, i)
            state = float64(states[i])
            T, potential = state, state
            if not stores_temperature:
                T, potential = temperature(state, material, medium), phi(state, material, medium)
            made_at[i] = potential
            for row in range(rows):
                surface = EnthalpyBoundary(
                    boundary.values,
                    int64(row) * int64(TERMS) * boundary.size,
                    boundary.size,
                    boundary.offsets,
                    boundary.closed,
                    boundary.per_cell,
                    boundary.reference,
                    boundary.follow,
                    boundary.factor,
                    boundary.factors,
                    boundary.factor_pieces,
                    boundary.near,
                )
                slope, height = tangent(
                    T, potential, material, cell_class, face, position, item(faces.steepest, i), medium, surface
                )
                a[row, entry], b[row, entry] = slope, height
                slopes[row, i], heights[row, i] = slope, height

    return tangents


def build_comparison(variant):
    """Build the kernel (potentials, slopes, heights, new_slopes, new_heights, partial): see `_compare_tangents` of the
    CPU."""

    def comparison(potentials, slopes, heights, new_slopes, new_heights, partial):
        i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        difference, largest = float64(0.0), float64(0.0)
        while i < potentials.size:
            found = fma(new_slopes[i], potentials[i], new_heights[i])
            difference = greater(abs(fma(slopes[i], potentials[i], heights[i]) - found), difference)
            largest = greater(abs(found), largest)
            i += int64(BLOCKS) * THREADS
        difference, largest = block_most(difference), block_most(largest)
        if cuda.threadIdx.x == 0:
            partial[0, cuda.blockIdx.x] = difference
            partial[1, cuda.blockIdx.x] = largest

    return comparison
