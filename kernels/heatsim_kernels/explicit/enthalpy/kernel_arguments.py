"""The numbers of a problem as kernels take them: flat arrays of the field's precision, on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.explicit.enthalpy.cell import NUMBERS, EnthalpyBoundary, EnthalpyMedium
from heatsim_kernels.explicit.enthalpy.coefficients import OWN, NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.explicit.enthalpy.lookup_tables import EnthalpyTables
from heatsim_kernels.explicit.enthalpy.surface_balance import kernel_terms

FACTOR_TOLERANCE = 1e-5  # see `cell.Boundary faces`; Newton's last step squares it


def numbers_of(dtype: np.dtype) -> tuple[Any, ...]:
    """The fields of `cell.EnthalpyMedium` from `zero` to `four`."""
    return tuple(map(dtype.type, (0, 0.5, 1, 4)))


# s: for a step of none, which is made to compile, and not taken. What enters the ledger in it is lost in rounding.
NO_TIME = 1e-25


def face_numbers(coefficients: NonlinearCoefficients, dt: float, dtype: np.dtype) -> np.ndarray:
    """(n, 6, NUMBERS): `cell.Medium.numbers` for steps of dt."""
    capacity, seconds = coefficients.capacity[:, None], dt or NO_TIME
    numbers = np.zeros((*coefficients.rates.shape, NUMBERS))
    numbers[..., 0] = np.where(coefficients.links == OWN, dt * coefficients.rates, 0)
    for k, resistance in enumerate((coefficients.own, coefficients.contact, coefficients.other), 1):
        numbers[..., k] = resistance * capacity / seconds
    numbers[..., 4] = coefficients.area * (coefficients.own + coefficients.other)
    numbers[..., 5] = coefficients.area * coefficients.own
    return numbers.astype(dtype)


def is_uniform(coefficients: NonlinearCoefficients) -> bool:
    """Whether one rate serves both faces of an axis, in all cells."""
    return (
        not coefficients.several
        and coefficients.uniform
        and bool(np.all(coefficients.links[0, ::2] == coefficients.links[0, 1::2]))
    )


def is_paired(coefficients: NonlinearCoefficients) -> bool:
    """Whether in each class one rate serves both faces in x, and one both in y, as where materials lie in layers along
    z; not in a uniform problem."""
    rates = np.where(coefficients.links == OWN, coefficients.rates, 0)
    return not is_uniform(coefficients) and np.array_equal(rates[:, 0:4:2], rates[:, 1:4:2])


def has_others(coefficients: NonlinearCoefficients) -> np.ndarray:
    """(n,) bool: the classes that have another material beside them."""
    return np.asarray(np.any(coefficients.links > OWN, axis=1))


def boundary_rows(forcing: NonlinearForcing, dtype: np.dtype) -> np.ndarray:
    """(k, terms * boundary_size) values of the boundary faces, as kernels have them: see `surface_balance`."""
    values = kernel_terms(forcing.boundary)
    return values.reshape(len(values), -1).astype(dtype)


def boundary_factors(
    coefficients: NonlinearCoefficients, dtype: np.dtype
) -> tuple[int, np.ndarray, np.ndarray, int, float]:
    """Whether boundary faces have factors, which, their pieces, flat, how many a row has, and NEAR: the last numbers of
    `EnthalpyBoundary`."""
    if coefficients.factors is None:
        return 0, np.zeros(1, np.uint32), np.zeros(2, dtype), 0, dtype.type(FACTOR_TOLERANCE)
    pieces, of = coefficients.factors
    flat = pieces.astype(dtype, copy=False).reshape(-1)
    return 1, of.astype(np.uint32, copy=False), flat, pieces.shape[2], dtype.type(FACTOR_TOLERANCE)


def heat_rows(coefficients: NonlinearCoefficients, forcing: Forcing, dtype: np.dtype) -> np.ndarray:
    """(k, n) heating rates of the cell classes, zeros where there are none."""
    table = np.zeros((1, coefficients.class_count)) if forcing.heat_table is None else forcing.heat_table
    return np.asarray(table.astype(dtype))


def piece_numbers(tables: EnthalpyTables, dtype: np.dtype) -> tuple[np.ndarray, tuple[int, ...]]:
    """The pieces of all materials, flat, and where they are: the fields of `cell.EnthalpyMedium` from
    `potential_pieces` to `integral_pieces`."""
    of = tables.potentials, tables.temperatures, tables.conductivities, tables.integrals
    starts = np.cumsum([0, *(table.size for table in of)]).tolist()
    places = [number for start, table in zip(starts, of, strict=False) for number in (start, table.shape[2])]
    return np.concatenate([table.astype(dtype).reshape(-1) for table in of]), tuple(places[1:])


def medium_of(coefficients: NonlinearCoefficients, dt: float, dtype: np.dtype) -> EnthalpyMedium:
    """The medium of a problem for steps of dt, as arrays."""
    faces = (
        coefficients.material.astype(np.uint32),
        coefficients.links.reshape(-1),
        face_numbers(coefficients, dt, dtype).reshape(-1),
    )
    several = coefficients.several
    class_ids = coefficients.class_ids.reshape(-1) if several else np.zeros(1, np.uint8)
    flags = int(is_uniform(coefficients)), int(is_paired(coefficients)), int(several)
    pieces, places = piece_numbers(coefficients.tables, dtype)
    numbers = (*numbers_of(dtype), pieces, *places, *faces, *flags, class_ids)
    return EnthalpyMedium(*numbers)


def make_boundary(coefficients: NonlinearCoefficients, values: np.ndarray, dtype: np.dtype) -> EnthalpyBoundary:
    """The boundary faces of a problem; values: (k, terms * boundary_size), see `boundary_rows`."""
    closed, reference = np.array(coefficients.closed, np.uint8), dtype.type(coefficients.tables.reference)
    places = coefficients.boundary_size, coefficients.boundary_offsets, closed, int(coefficients.boundary_per_cell)
    follow, factor, factors, pieces, near = boundary_factors(coefficients, dtype)
    return EnthalpyBoundary(values.reshape(-1), 0, *places, reference, follow, factor, factors, pieces, near)
