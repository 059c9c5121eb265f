"""CPU sweep of materials that follow temperature: a field in memory, advanced by all cores."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from heatsim_kernels.enthalpy.cell import EnthalpyBoundary, EnthalpyBox, EnthalpyMedium, EnthalpySources
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
    face_numbers,
    has_others,
    heat_rows,
    is_uniform,
    look_up_numbers,
    wall_factors,
    wall_rows,
)
from heatsim_kernels.field.cpu.weighted_sum import weighted_sum
from heatsim_kernels.field.time_statistics import CpuTimeStatistics, StatisticsRequest
from heatsim_kernels.field.window_source import deposit
from heatsim_kernels.runtime.cpu.compilation import jit
from heatsim_kernels.runtime.cpu.pointers import CACHE_LINE, padded
from heatsim_kernels.runtime.cpu.threads import limited, threads_for
from heatsim_kernels.stencil.heat_ledger import ledger_of
from heatsim_kernels.stencil.step_batches import forcing_of_steps, split_steps

RING = 400 * 1024  # bytes of a thread's three planes of potentials, which are to stay in its L2 cache


class EnthalpyCpuStepper:
    """A field on the CPU: see `ExplicitStepper` in `stencil/__init__.py`. The field is u, see `terms`."""

    name = "cpu"
    device = "cpu"

    def __init__(self, terms: NonlinearCoefficients, dtype: np.dtype) -> None:
        self.terms, self.dtype = terms, np.dtype(dtype)
        cells = int(np.prod(terms.shape))
        self._u, self._v = padded(cells, dtype), padded(cells, dtype)
        self._threads = threads_for(cells)
        self._box = EnthalpyBox(*map(int, (*terms.shape, *terms.periodic)))
        per_line = CACHE_LINE // self.dtype.itemsize
        self._pitch = (-(-terms.shape[2] // per_line) + 1) * per_line
        self._tiles = tiles_of(terms.shape, self._threads, self._pitch * self.dtype.itemsize)
        height = int(np.max(self._tiles[:, 3] - self._tiles[:, 2]))
        self._scratch = padded(self._threads * 3 * (height + 2) * self._pitch, dtype).reshape(self._threads, -1)
        self._alone = interface_cells(terms)
        self._ledger = ledger_of(terms)
        self._entered = np.zeros((terms.ledger_size, LEDGER_BLOCKS))
        self._medium: tuple[float, EnthalpyMedium | None] = (np.nan, None)
        self._watch: CpuTimeStatistics | None = None

    def put(self, planes: Iterable[np.ndarray]) -> None:
        """Set the field from its planes (ny, nx), z upwards."""
        for target, plane in zip(self.field(), planes, strict=True):
            target[:] = plane

    def field(self) -> np.ndarray:
        """The field itself, (nz, ny, nx), to look at until the next `advance`."""
        return self._u.reshape(self.terms.shape)

    def capture(self) -> None:
        """None: a copy of the field would be on the host as well."""

    def plane(self, axis: int, index: int) -> np.ndarray:
        """A copy of one plane; axis 0, 1, 2 is z, y, x of the array."""
        return self.field().take(index, axis)

    def cells(self, indices: np.ndarray) -> np.ndarray:
        """The values of some cells, by flat index; any shape."""
        return self._u[indices]

    def stored(self) -> float:
        """Heat over that at the reference temperature, J, in float64."""
        return weighted_sum(self.field(), self.terms.capacity, self.terms.kinds)

    def is_finite(self) -> bool:
        """Whether every value is a finite number."""
        return bool(np.isfinite(weighted_sum(self.field(), np.ones(1), None)))

    def was_finite(self) -> bool:
        """`is_finite`: the host has nothing to wait for."""
        return self.is_finite()

    def heat_entered(self) -> np.ndarray:
        """Heat that has entered through each of FACES and from each ambient since the start, J."""
        return self._entered.sum(axis=1)

    def advance(self, dt: float, steps: int, drive: NonlinearForcing) -> None:
        """Advance `steps` steps of `dt` seconds."""
        for first, count, deposits in split_steps(drive.deposits, steps, one_by_one=self._watch is not None):
            self._advance(dt, count, forcing_of_steps(drive, first, count))
            for each in deposits:
                deposit(self.field(), each.corner, each.rates, dt)
            self.look(count * dt)

    def watch(self, wanted: StatisticsRequest) -> None:
        """Watch the temperature from now on: see `ExplicitStepper`."""
        self._watch = CpuTimeStatistics(self._temperatures(), wanted)

    def look(self, elapsed: float) -> None:
        """Take note of the temperature, if it is watched, `elapsed` s after the last look."""
        if self._watch is not None:
            self._watch.look(self._temperatures(), elapsed)

    def seen(self) -> dict[str, np.ndarray]:
        """What was seen of the temperature so far: see `CpuWatch.fields`."""
        return {} if self._watch is None else self._watch.fields()

    def _temperatures(self) -> np.ndarray:
        """The rise of temperature, (nz, ny, nx), where the next step goes."""
        with limited(self._threads):
            temperatures(self._u, self._v, self._medium[1] or self._medium_for(1.0), self._threads)
        return self._v.reshape(self.terms.shape)

    def _advance(self, dt: float, steps: int, drive: NonlinearForcing) -> None:
        """Take steps between which nothing is done to the field."""
        terms, kind = self.terms, self.dtype
        values = wall_rows(drive, kind)
        table = heat_rows(terms, drive, kind)
        field = (np.zeros(1) if drive.heat_field is None else drive.heat_field).astype(kind, copy=False).reshape(-1)
        gains = (dt * drive.heat_scale).astype(kind)
        heat = EnthalpySources(table.reshape(-1), 0, kind.type(dt), int(drive.heat_field is not None), field, gains[0])
        rows = ForcingRows(*values.shape, *table.shape, gains)
        book = (*self._ledger, terms.capacity, self._entered)
        with limited(self._threads):
            advance(
                self._u, self._v, steps, self._tiles, self._scratch, self._pitch, self._box, self._medium_for(dt),
                walls_of(terms, values, kind), heat, rows, self._alone, book,
            )  # fmt: skip
        if steps % 2:
            self._u, self._v = self._v, self._u

    def _medium_for(self, dt: float) -> EnthalpyMedium:
        if self._medium[0] != dt or self._medium[1] is None:
            self._medium = dt, medium_of(self.terms, dt, self.dtype)
        return self._medium[1]  # type: ignore[return-value]


def medium_of(terms: NonlinearCoefficients, dt: float, dtype: np.dtype) -> EnthalpyMedium:
    """The medium of a problem for steps of dt, as arrays."""
    tables = terms.tables.potentials, terms.tables.temperatures, terms.tables.resistivities
    flat = tuple(values.astype(dtype).reshape(-1) for values in tables)
    faces = terms.material.astype(np.uint32), terms.links.reshape(-1), face_numbers(terms, dt, dtype).reshape(-1)
    kinds = np.zeros(1, np.uint8) if terms.kinds is None else np.ascontiguousarray(terms.kinds).reshape(-1)
    flags = int(is_uniform(terms)), int(terms.kinds is not None)
    return EnthalpyMedium(*look_up_numbers(terms, dtype), *flat, terms.tables.segments, *faces, *flags, kinds)


def walls_of(terms: NonlinearCoefficients, values: np.ndarray, dtype: np.dtype) -> EnthalpyBoundary:
    """The walls of a problem; values: (k, 5 * wall_size), see `wall_rows`."""
    closed, reference = np.array(terms.closed, np.uint8), dtype.type(terms.tables.reference)
    places = terms.wall_size, terms.wall_offsets, closed, int(terms.wall_per_cell)
    return EnthalpyBoundary(values.reshape(-1), 0, *places, reference, *wall_factors(terms, dtype))


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


# CPU: the heat that enters cells through their surfaces, for those who look at a field: see `cell`.


wall_heat = functions.wall_heat


def entering(
    terms: NonlinearCoefficients, face: int, T: np.ndarray, kinds: np.ndarray, walls: np.ndarray
) -> np.ndarray:
    """(m,) W/m2 that enter the cells beside a face of the box, in the order of `boundary_cells`, at rises T (m,).

    kinds: (m,) of these cells; walls: (1, 5, wall_size), see `NonlinearForcing`.
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
