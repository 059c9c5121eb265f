"""CPU: explicit steps of temperature-dependent materials, by all cores; and the heat that enters at surfaces."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from heatsim_kernels.enthalpy.cell import EnthalpyBox, EnthalpyMedium, EnthalpySources
from heatsim_kernels.enthalpy.coefficients import NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.enthalpy.cpu.step_kernel import (
    LEDGER_BLOCKS,
    ForcingRows,
    InterfaceCells,
    advance,
    boundary_from,
    functions,
    pointed,
    temperatures,
)
from heatsim_kernels.enthalpy.kernel_arguments import (
    boundary_rows,
    has_others,
    heat_rows,
    make_boundary,
    medium_of,
)
from heatsim_kernels.enthalpy.temperatures import EnthalpyTemperatures
from heatsim_kernels.field.cpu.field import CpuField
from heatsim_kernels.field.window_source import heat_window
from heatsim_kernels.runtime.cpu.compilation import jit
from heatsim_kernels.runtime.cpu.pointers import CACHE_LINE, padded
from heatsim_kernels.runtime.cpu.threads import limited, threads_for
from heatsim_kernels.stencil.heat_ledger import ledger_of
from heatsim_kernels.stencil.step_batches import split_steps

RING = 400 * 1024  # bytes of a thread's three planes of potentials, which are to stay in its L2 cache


class EnthalpyCpuStepper:
    """An `ExplicitStepper` on the CPU whose field stores u, see `coefficients`."""

    name = "cpu"
    fused_steps = 1

    def __init__(self, coefficients: NonlinearCoefficients, dtype: np.dtype) -> None:
        self.coefficients, self.dtype = coefficients, np.dtype(dtype)
        cells = int(np.prod(coefficients.shape))
        self.field = enthalpy_field(coefficients, self.dtype, self.dtype)
        self._threads = threads_for(cells)
        self._box = EnthalpyBox(*map(int, (*coefficients.shape, *coefficients.periodic)))
        per_line = CACHE_LINE // self.dtype.itemsize
        self._pitch = (-(-coefficients.shape[2] // per_line) + 1) * per_line
        self._tiles = tiles_of(coefficients.shape, self._threads, self._pitch * self.dtype.itemsize)
        height = int(np.max(self._tiles[:, 3] - self._tiles[:, 2]))
        needed = (3 * (height + 2) + 1) * self._pitch
        self._scratch = padded(self._threads * needed, dtype).reshape(self._threads, -1)
        self._scratch[:, -self._pitch :] = 0.0
        self._alone = interface_cells(coefficients)
        self._ledger = ledger_of(coefficients)
        self._differences = np.zeros((2, max(1, int(self._ledger.starts[6]))), self.dtype)
        self._entered = np.zeros((coefficients.ledger_size, LEDGER_BLOCKS))
        self._medium: EnthalpyMedium | None = None
        self._dt = np.nan  # for which the medium is

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered through each of FACES and from each ambient since the start, J."""
        return np.asarray(self._entered.sum(axis=1))

    def advance(self, dt: float, steps: int, forcing: NonlinearForcing) -> None:
        """Advance `steps` steps of `dt` seconds."""
        field = self.field
        for first, count, window_sources in split_steps(forcing.window_sources, steps, one_by_one=field.tracked):
            self._advance(dt, count, forcing.of_steps(first, count))
            for each in window_sources:
                heat_window(field.state(), each.corner, each.rates, dt)
            field.sample(count * dt)

    def _advance(self, dt: float, steps: int, forcing: NonlinearForcing) -> None:
        """Take steps between which nothing is done to the field."""
        coefficients, dtype, field = self.coefficients, self.dtype, self.field
        values = boundary_rows(forcing, dtype)
        table = heat_rows(coefficients, forcing, dtype)
        source = (
            (np.zeros(1) if forcing.heat_field is None else forcing.heat_field).astype(dtype, copy=False).reshape(-1)
        )
        gains = (dt * forcing.heat_scale).astype(dtype)
        heat = EnthalpySources(
            table.reshape(-1), 0, dtype.type(dt), int(forcing.heat_field is not None), source, gains[0]
        )
        rows = ForcingRows(len(values), values.shape[1], len(table), table.shape[1], gains)
        book = (*self._ledger, coefficients.capacity, self._entered)
        with limited(self._threads):
            advance(
                field.now, field.next, steps, self._tiles, self._scratch, self._pitch, self._box, self._medium_for(dt),
                make_boundary(coefficients, values, dtype), heat, rows, self._alone, book,
                self._differences,
            )  # fmt: skip
        if steps % 2:
            field.swap()

    def _medium_for(self, dt: float) -> EnthalpyMedium:
        if self._medium is None or dt != self._dt:
            self._medium, self._dt = medium_of(self.coefficients, dt, self.dtype), dt
        return self._medium


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


def tiles_of(shape: tuple[int, int, int], threads: int, row_bytes: int) -> np.ndarray:
    """(count, 4) planes z0..z1 and rows y0..y1 of tiles whose potentials fit into a cache, some for each thread."""
    nz, ny, _ = shape
    height = max(4, RING // (3 * row_bytes) - 2)
    slabs = min(threads, max(1, nz // 8))
    bands = min(ny, max(-(-ny // height), threads if slabs < threads else 1))
    y, z = (np.arange(count + 1) * n // count for n, count in ((ny, bands), (nz, slabs)))
    return np.array([(z[j], z[j + 1], y[i], y[i + 1]) for j, i in product(range(slabs), range(bands))], np.int64)


def interface_cells(coefficients: NonlinearCoefficients) -> InterfaceCells:
    """The cells that lie beside another material, row by row."""
    nothing = InterfaceCells(np.zeros(1, np.int32), np.zeros(2, np.int64), 0)
    if coefficients.class_ids is None:
        return nothing
    jumps = has_others(coefficients)
    if not jumps.any():
        return nothing
    starts, found = [np.zeros(1, np.int64)], []
    for plane in coefficients.class_ids:
        chosen = jumps[plane]
        found.append(np.nonzero(chosen)[1].astype(np.int32))
        starts.append(starts[-1][-1] + np.cumsum(chosen.sum(axis=1)))
    return InterfaceCells(np.concatenate(found), np.concatenate(starts), len(starts))


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
        row = np.int64(m.material[class_ids[i]]) * m.segments
        entered[i] = surface_heat(T[i], row, class_ids[i], face, i, m, w)[0]
