"""The numbers of a problem as kernels take them: flat arrays of the field's precision, on the host."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.enthalpy.cell import NUMBERS, EnthalpyBoundary, EnthalpyMedium
from heatsim_kernels.enthalpy.coefficients import OWN, NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.enthalpy.surface_balance import kernel_terms

FACTOR_TOLERANCE = 1e-5  # see `cell.Walls`; Newton's last step squares it


class LookUpNumbers(NamedTuple):
    """How to look u up, in the field's precision: see `cell.EnthalpyMedium`, whose first fields these are."""

    scale: float
    shift: float
    t_scale: float
    t_shift: float
    last: float
    zero: float
    half: float
    one: float
    four: float


def look_up_numbers(terms: NonlinearCoefficients, dtype: np.dtype) -> LookUpNumbers:
    """The numbers of a look-up."""
    tables = terms.tables
    in_u = 1 / tables.width, 1 - tables.low / tables.width
    in_t = 1 / tables.step, 1 - tables.coldest / tables.step
    return LookUpNumbers(*map(dtype.type, (*in_u, *in_t, tables.segments - 1, 0, 0.5, 1, 4)))


def face_numbers(terms: NonlinearCoefficients, dt: float, dtype: np.dtype) -> np.ndarray:
    """(n, 6, NUMBERS): `cell.Medium.numbers` for steps of dt."""
    capacity = terms.capacity[:, None]
    numbers = np.zeros((*terms.rates.shape, NUMBERS))
    numbers[..., 0] = np.where(terms.links == OWN, dt * terms.rates, 0)
    for k, resistance in enumerate((terms.own, terms.contact, terms.other), 1):
        numbers[..., k] = resistance * capacity / dt
    numbers[..., 4] = terms.area * (terms.own + terms.other)
    numbers[..., 5] = terms.area * terms.own
    return numbers.astype(dtype)


def is_uniform(terms: NonlinearCoefficients) -> bool:
    """Whether one rate serves both faces of an axis, in all cells."""
    return terms.uniform and bool(np.all(terms.links[0, ::2] == terms.links[0, 1::2]))


def has_others(terms: NonlinearCoefficients) -> np.ndarray:
    """(n,) bool: the kinds that have another material beside them."""
    return np.asarray(np.any(terms.links > OWN, axis=1))


def wall_rows(drive: NonlinearForcing, dtype: np.dtype) -> np.ndarray:
    """(k, terms * wall_size) values of the walls, as kernels have them: see `surface_balance`."""
    values = kernel_terms(drive.walls)
    return values.reshape(len(values), -1).astype(dtype)


def wall_factors(terms: NonlinearCoefficients, dtype: np.dtype) -> tuple[int, np.ndarray, np.ndarray, float]:
    """Whether walls have factors, which, their lines, flat, and NEAR: the last numbers of `cell.Walls`."""
    if terms.factors is None:
        return 0, np.zeros(1, np.uint32), np.zeros(2, dtype), dtype.type(FACTOR_TOLERANCE)
    lines, of = terms.factors
    return (
        1,
        of.astype(np.uint32, copy=False),
        lines.astype(dtype, copy=False).reshape(-1),
        dtype.type(FACTOR_TOLERANCE),
    )


def heat_rows(terms: NonlinearCoefficients, drive: NonlinearForcing, dtype: np.dtype) -> np.ndarray:
    """(k, n) heating rates of the kinds, zeros where there are none."""
    table = np.zeros((1, terms.kind_count)) if drive.heat_table is None else drive.heat_table
    return np.asarray(table.astype(dtype))


def medium_of(terms: NonlinearCoefficients, dt: float, dtype: np.dtype) -> EnthalpyMedium:
    """The medium of a problem for steps of dt, as arrays."""
    tables = terms.tables.potentials, terms.tables.temperatures, terms.tables.resistivities
    potentials, temperatures, resistivities = (values.astype(dtype).reshape(-1) for values in tables)
    faces = terms.material.astype(np.uint32), terms.links.reshape(-1), face_numbers(terms, dt, dtype).reshape(-1)
    kinds = np.zeros(1, np.uint8) if terms.kinds is None else np.ascontiguousarray(terms.kinds).reshape(-1)
    flags = int(is_uniform(terms)), int(terms.kinds is not None)
    flat = potentials, temperatures, resistivities, terms.tables.segments
    return EnthalpyMedium(*look_up_numbers(terms, dtype), *flat, *faces, *flags, kinds)


def walls_of(terms: NonlinearCoefficients, values: np.ndarray, dtype: np.dtype) -> EnthalpyBoundary:
    """The walls of a problem; values: (k, terms * wall_size), see `wall_rows`."""
    closed, reference = np.array(terms.closed, np.uint8), dtype.type(terms.tables.reference)
    places = terms.wall_size, terms.wall_offsets, closed, int(terms.wall_per_cell)
    return EnthalpyBoundary(values.reshape(-1), 0, *places, reference, *wall_factors(terms, dtype))
