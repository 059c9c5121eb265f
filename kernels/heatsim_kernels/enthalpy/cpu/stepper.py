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
    functions,
    pointed,
    temperatures,
    walls_from,
)
from heatsim_kernels.enthalpy.kernel_arguments import (
    has_others,
    heat_rows,
    medium_of,
    wall_rows,
    walls_of,
)
from heatsim_kernels.enthalpy.temperatures import EnthalpyTemperatures
from heatsim_kernels.field.cpu.field import CpuField
from heatsim_kernels.field.window_source import deposit
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

    def __init__(self, terms: NonlinearCoefficients, dtype: np.dtype) -> None:
        self.terms, self.dtype = terms, np.dtype(dtype)
        cells = int(np.prod(terms.shape))
        self.field = enthalpy_field(terms, self.dtype, self.dtype)
        self._threads = threads_for(cells)
        self._box = EnthalpyBox(*map(int, (*terms.shape, *terms.periodic)))
        per_line = CACHE_LINE // self.dtype.itemsize
        self._pitch = (-(-terms.shape[2] // per_line) + 1) * per_line
        self._tiles = tiles_of(terms.shape, self._threads, self._pitch * self.dtype.itemsize)
        height = int(np.max(self._tiles[:, 3] - self._tiles[:, 2]))
        needed = (3 * (height + 2) + 1) * self._pitch
        self._scratch = padded(self._threads * needed, dtype).reshape(self._threads, -1)
        self._scratch[:, -self._pitch :] = 0.0
        self._alone = interface_cells(terms)
        self._ledger = ledger_of(terms)
        self._differences = np.zeros((2, max(1, int(self._ledger.starts[6]))), self.dtype)
        self._entered = np.zeros((terms.ledger_size, LEDGER_BLOCKS))
        self._medium: EnthalpyMedium | None = None
        self._dt = np.nan  # for which the medium is

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered through each of FACES and from each ambient since the start, J."""
        return np.asarray(self._entered.sum(axis=1))

    def advance(self, dt: float, steps: int, drive: NonlinearForcing) -> None:
        """Advance `steps` steps of `dt` seconds."""
        field = self.field
        for first, count, deposits in split_steps(drive.deposits, steps, one_by_one=field.tracked):
            self._advance(dt, count, drive.of_steps(first, count))
            for each in deposits:
                deposit(field.state(), each.corner, each.rates, dt)
            field.sample(count * dt)

    def _advance(self, dt: float, steps: int, drive: NonlinearForcing) -> None:
        """Take steps between which nothing is done to the field."""
        terms, kind, field = self.terms, self.dtype, self.field
        values = wall_rows(drive, kind)
        table = heat_rows(terms, drive, kind)
        source = (np.zeros(1) if drive.heat_field is None else drive.heat_field).astype(kind, copy=False).reshape(-1)
        gains = (dt * drive.heat_scale).astype(kind)
        heat = EnthalpySources(table.reshape(-1), 0, kind.type(dt), int(drive.heat_field is not None), source, gains[0])
        rows = ForcingRows(len(values), values.shape[1], len(table), table.shape[1], gains)
        book = (*self._ledger, terms.capacity, self._entered)
        with limited(self._threads):
            advance(
                field.now, field.next, steps, self._tiles, self._scratch, self._pitch, self._box, self._medium_for(dt),
                walls_of(terms, values, kind), heat, rows, self._alone, book,
                self._differences,
            )  # fmt: skip
        if steps % 2:
            field.swap()

    def _medium_for(self, dt: float) -> EnthalpyMedium:
        if self._medium is None or dt != self._dt:
            self._medium, self._dt = medium_of(self.terms, dt, self.dtype), dt
        return self._medium


def enthalpy_field(terms: NonlinearCoefficients, dtype: np.dtype, stored_dtype: np.dtype) -> CpuField:
    """A field on the CPU that stores u in `stored_dtype` and hands out temperature offsets in `dtype`."""
    threads = threads_for(int(np.prod(terms.shape)))
    medium = cache(lambda: medium_of(terms, 1.0, stored_dtype))  # look-ups do not depend on the step that it is for

    def fill(state: np.ndarray, offsets: np.ndarray) -> None:
        with limited(threads):
            temperatures(state, offsets, medium(), threads)

    return CpuField(terms, dtype, stored_dtype, EnthalpyTemperatures(terms, fill))


def tiles_of(shape: tuple[int, int, int], threads: int, row_bytes: int) -> np.ndarray:
    """(count, 4) planes z0..z1 and rows y0..y1 of tiles whose potentials fit into a cache, some for each thread."""
    nz, ny, _ = shape
    height = max(4, RING // (3 * row_bytes) - 2)
    slabs = min(threads, max(1, nz // 8))
    bands = min(ny, max(-(-ny // height), threads if slabs < threads else 1))
    y, z = (np.arange(count + 1) * n // count for n, count in ((ny, bands), (nz, slabs)))
    return np.array([(z[j], z[j + 1], y[i], y[i + 1]) for j, i in product(range(slabs), range(bands))], np.int64)


def interface_cells(terms: NonlinearCoefficients) -> InterfaceCells:
    """The cells that lie beside another material, row by row."""
    nothing = InterfaceCells(np.zeros(1, np.int32), np.zeros(2, np.int64), 0)
    if terms.kinds is None:
        return nothing
    jumps = has_others(terms)
    if not jumps.any():
        return nothing
    starts, found = [np.zeros(1, np.int64)], []
    for plane in terms.kinds:
        chosen = jumps[plane]
        found.append(np.nonzero(chosen)[1].astype(np.int32))
        starts.append(starts[-1][-1] + np.cumsum(chosen.sum(axis=1)))
    return InterfaceCells(np.concatenate(found), np.concatenate(starts), len(starts))


# The heat that enters cells through their surfaces, for derived fields: see `cell`.

wall_heat = functions.wall_heat


def entering(
    terms: NonlinearCoefficients, face: int, T: np.ndarray, kinds: np.ndarray, walls: np.ndarray
) -> np.ndarray:
    """(m,) W/m2 that enter the cells beside a face of the box, in the order of `boundary_cells`, at rises T (m,).

    kinds: (m,) of these cells; walls: (1, terms, wall_size), see `NonlinearForcing`.
    """
    real, entered = np.dtype(np.float64), np.zeros(len(T))
    values = walls_of(terms, wall_rows(NonlinearForcing(walls), real), real)
    _entering(face, T.astype(real), kinds.astype(np.int64), medium_of(terms, 1.0, real), values, entered)
    return entered


@jit
def _entering(face, T, kinds, medium, walls, entered):
    m, w = pointed(medium), walls_from(walls, 0)
    for i in range(T.size):
        row = np.int64(m.material[kinds[i]]) * m.segments
        entered[i] = wall_heat(T[i], row, kinds[i], face, i, m, w)[0]
