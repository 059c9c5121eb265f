"""CPU: explicit steps of temperature-dependent materials, by all cores; and the heat that enters at surfaces."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import prange

from heatsim_kernels.device.cpu.compilation import called, inlined, jit, parallel_jit
from heatsim_kernels.device.cpu.pointers import CACHE_LINE, load, pointer, shifted
from heatsim_kernels.device.cpu.threads import limited, threads_for
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.cpu.fused_pass import Buffers
from heatsim_kernels.explicit.cpu.row_places import CpuGrid
from heatsim_kernels.explicit.cpu.rows import class_of
from heatsim_kernels.explicit.cpu.stepper import CpuStepper
from heatsim_kernels.explicit.cpu.trapezoidal_defect import (
    BLOCKS,
    LANES,
    begin_comparison,
    build_comparison,
    compare,
    defect,
    end_comparison,
)
from heatsim_kernels.explicit.enthalpy import cell
from heatsim_kernels.explicit.enthalpy.cell import EnthalpyBoundary, EnthalpyMedium
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.explicit.enthalpy.cpu.fused_pass import advance, pointed
from heatsim_kernels.explicit.enthalpy.cpu.interface_rows import find_interface_rows
from heatsim_kernels.explicit.enthalpy.cpu.material_rows import find_material_runs, functions, look_up
from heatsim_kernels.explicit.enthalpy.cpu.straight_tiles import KIND, cut_tiles, find_bent_rows
from heatsim_kernels.explicit.enthalpy.kernel_arguments import (
    boundary_rows,
    face_numbers,
    is_paired,
    is_uniform,
    make_boundary,
    medium_of,
)
from heatsim_kernels.explicit.enthalpy.pieces import PIECE_NUMBERS
from heatsim_kernels.explicit.enthalpy.temperatures import EnthalpyTemperatures
from heatsim_kernels.explicit.rk_stages import TrapezoidalDefect
from heatsim_kernels.explicit.slabs import SlabLinks
from heatsim_kernels.field.cpu.field import CpuField


class EnthalpyPass:
    """Passes of a temperature-dependent problem, which stores u (see `coefficients`)."""

    potentials = True

    def __init__(self, coefficients: NonlinearCoefficients, dtype: np.dtype) -> None:
        self._coefficients, self._dtype = coefficients, dtype
        self.uniform, self.paired = is_uniform(coefficients), is_paired(coefficients)
        self._materials, self._interface = find_material_runs(coefficients), find_interface_rows(coefficients)
        self._bent_rows = find_bent_rows(coefficients)
        self._medium: EnthalpyMedium | None = None
        self._dt = np.nan  # for which the medium is

    def make_field(self) -> CpuField:
        """Allocate the field."""
        return enthalpy_field(self._coefficients, self._dtype, self._dtype)

    def cut_tiles(self, tiles: np.ndarray, halo: int, threads: int, tallest: int) -> np.ndarray:
        """The tiles, with those apart in which nothing depends on temperature."""
        if self._bent_rows is None:
            return tiles
        return cut_tiles(tiles, self._bent_rows, self._coefficients.periodic, halo, threads, tallest)

    def rates(self, dt: float) -> np.ndarray:
        """The exchange in a step with cells of the own material."""
        return np.ascontiguousarray(face_numbers(self._coefficients, dt, self._dtype)[..., 0])

    def __call__(
        self, dt: float, u: np.ndarray, v: np.ndarray, steps: int, fused: int, grid: CpuGrid, buffers: Buffers,
        tiles: np.ndarray, *args: Any,
    ) -> None:  # fmt: skip
        """Take steps."""
        kinds, rows = tiles if tiles.shape[1] > KIND else None, (self._materials, self._interface)
        own = self._medium_for(dt), self._coefficients.capacity, *rows, kinds
        advance(u, v, steps, fused, grid, buffers, tiles, *args, *own)

    def defect(
        self, start: np.ndarray, one: np.ndarray, end: np.ndarray, after: np.ndarray, rate: float
    ) -> TrapezoidalDefect:
        """How far a step is from the trapezoidal rule: the temperature that it takes a cell away from it. A cell that
        melts at one temperature is as warm as it should be, however much heat it has."""
        if self._coefficients.tables.keeps_temperature:
            return defect(start, one, end, after, rate)
        blocks = np.empty((min(BLOCKS, start.size), 3))
        with limited(threads_for(start.size)):
            _largest_defect(start, one, end, after, -0.5 / rate, self._medium_for(self._dt), blocks)
        return TrapezoidalDefect(float(blocks[:, 0].max()), float(blocks[:, 1].min()), float(blocks[:, 2].max()))

    def _medium_for(self, dt: float) -> EnthalpyMedium:
        if self._medium is None or dt != self._dt:
            self._medium, self._dt = medium_of(self._coefficients, dt, self._dtype), dt
        return self._medium


def make_stepper(
    coefficients: NonlinearCoefficients, dtype: np.dtype, fused: int | None = None, links: SlabLinks | None = None
) -> CpuStepper:
    """A `StageStepper` of a temperature-dependent problem, or of a slab of it."""
    return CpuStepper(coefficients, dtype, fused, EnthalpyPass(coefficients, np.dtype(dtype)), links)


def enthalpy_field(coefficients: NonlinearCoefficients, dtype: np.dtype, stored_dtype: np.dtype) -> CpuField:
    """A field on the CPU that stores u in `stored_dtype` and hands out temperature offsets in `dtype`."""
    threads = threads_for(int(np.prod(coefficients.shape)))
    medium = cache(
        lambda: medium_of(coefficients, 1.0, stored_dtype)
    )  # look-ups do not depend on the step that it is for

    def fill(state: np.ndarray, offsets: np.ndarray) -> None:
        with limited(threads):
            temperatures(state, offsets, medium(), threads)

    return CpuField(coefficients, dtype, stored_dtype, EnthalpyTemperatures(coefficients, fill))


# The heat that enters cells through their surfaces, for derived fields: see `cell`.

surface_heat = functions.surface_heat


def entering(
    coefficients: NonlinearCoefficients, face: int, T: np.ndarray, class_ids: np.ndarray, boundary: np.ndarray
) -> np.ndarray:
    """(m,) W/m2 that enter the cells beside a face of the box, in the order of `boundary_cells`, at rises T (m,).

    class_ids: (m,) of these cells; boundary: (1, terms, boundary_size), see `NonlinearForcing`.
    """
    real, entered = np.dtype(np.float64), np.zeros(len(T))
    values = make_boundary(coefficients, boundary_rows(NonlinearForcing(boundary), real), real)
    _entering(face, T.astype(real), class_ids.astype(np.int64), medium_of(coefficients, 1.0, real), values, entered)
    return entered


@jit
def _entering(face, T, class_ids, medium, boundary, entered):
    m, w = pointed(medium), boundary_from(boundary, 0)
    for i in range(T.size):
        entered[i] = surface_heat(T[i], np.int64(m.material[class_ids[i]]), class_ids[i], face, i, m, w)[0]


@inlined
def boundary_from(w, start):
    """The boundary with pointers in place of arrays, from a row of values on."""
    values, offsets, closed = pointer(w.values), pointer(w.offsets), pointer(w.closed)
    places = values, start, w.size, offsets, closed, w.per_cell
    return EnthalpyBoundary(
        *places, w.reference, w.follow, pointer(w.factor), pointer(w.factors), w.factor_pieces, w.near
    )


temperature = functions.temperature
of_row = cell.build(inlined, called, read=load)  # tables are read as what no store writes


@parallel_jit
def temperatures(u, out, medium, parts):
    """Put the temperature offset of each cell into `out`, flat as u."""
    for index in prange(parts):
        part, m = np.int64(index), pointed(medium)  # prange counts in unsigned numbers
        first, end = part * u.size // parts, (part + 1) * u.size // parts
        if m.several == 0:
            first = _temperatures_of_one(pointer(u), pointer(out), first, end, u.itemsize, m)
        for i in range(first, end):
            cell_class = np.int64(medium.class_ids[i]) if medium.several != 0 else np.int64(0)
            out[i] = temperature(u[i], np.int64(medium.material[cell_class]), m)


@inlined
def _temperatures_of_one(u, out, first, end, itemsize, medium):
    """Look up the cells from `first` on, all of one material, in whole cache lines; returns the first one left."""
    lines, count = (end - first) * itemsize // CACHE_LINE, medium.temperature_pieces
    at = medium.temperatures_at + np.int64(medium.material[0]) * (PIECE_NUMBERS * count)
    look_up(shifted(out, first), shifted(u, first), lines, shifted(medium.pieces, at), count)
    return first + lines * (CACHE_LINE // itemsize)


@inlined
def _compare_cell(i, lane, found, start, one, end, after, stored, factor, m, classes):
    material = np.int64(load(m.material, class_of(classes, i)))
    y, z = np.float64(load(start, i)), np.float64(load(end, i))
    change = (np.float64(load(one, i)) - y) + (np.float64(load(after, i)) - z)
    T = np.float64(of_row.temperature(load(end, i), material, m))
    by_rule = np.float64(of_row.temperature(stored.dtype.type(z - fma(factor, change, z - y)), material, m))
    compare(found, lane, abs(T - by_rule), T)


_compare_cells = build_comparison(_compare_cell)


@parallel_jit
def _largest_defect(start, one, end, after, factor, medium, blocks):
    """blocks (m, 3): largest defect, least and greatest `end`, in temperature, in the m-th part of the cells."""
    count = blocks.shape[0]
    for block in prange(count):
        m, found = pointed(medium), np.empty(3 * LANES)
        begin_comparison(found)
        first, behind = np.int64(block * start.size // count), np.int64((block + 1) * start.size // count)
        given = pointer(start), pointer(one), pointer(end), pointer(after), end, factor, m
        if m.several != 0:
            _compare_cells(first, behind, pointer(found), (*given, m.class_ids))
        else:
            _compare_cells(first, behind, pointer(found), (*given, None))
        end_comparison(found, blocks, block)
