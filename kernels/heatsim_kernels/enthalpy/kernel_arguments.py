"""The numbers of a problem as kernels take them: flat arrays of the field's precision, on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from heatsim_kernels.enthalpy.cell import NUMBERS, EnthalpyBoundary, EnthalpyMedium
from heatsim_kernels.enthalpy.coefficients import OWN, NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.enthalpy.lookup_tables import EnthalpyTables
from heatsim_kernels.enthalpy.pieces import PIECE_NUMBERS, PIECES
from heatsim_kernels.enthalpy.surface_balance import kernel_terms
from heatsim_kernels.stencil.coefficients import Forcing

FACTOR_TOLERANCE = 1e-5  # see `cell.Boundary faces`; Newton's last step squares it


def look_up_numbers(coefficients: NonlinearCoefficients, dtype: np.dtype) -> tuple[Any, ...]:
    """How to look u up, in the field's precision: the fields of `cell.EnthalpyMedium` from `scale` to `four`."""
    tables = coefficients.tables
    in_u = 1 / tables.width, 1 - tables.low / tables.width
    in_t = 1 / tables.step, 1 - tables.coldest / tables.step
    return tuple(map(dtype.type, (*in_u, *in_t, tables.segments - 1, 0, 0.5, 1, 4)))


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
        coefficients.class_ids is None
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


def boundary_factors(coefficients: NonlinearCoefficients, dtype: np.dtype) -> tuple[int, np.ndarray, np.ndarray, float]:
    """Whether boundary faces have factors, which, their lines, flat, and NEAR: the last numbers of
    `EnthalpyBoundary`."""
    if coefficients.factors is None:
        return 0, np.zeros(1, np.uint32), np.zeros(2, dtype), dtype.type(FACTOR_TOLERANCE)
    lines, of = coefficients.factors
    return (
        1,
        of.astype(np.uint32, copy=False),
        lines.astype(dtype, copy=False).reshape(-1),
        dtype.type(FACTOR_TOLERANCE),
    )


def heat_rows(coefficients: NonlinearCoefficients, forcing: Forcing, dtype: np.dtype) -> np.ndarray:
    """(k, n) heating rates of the cell classes, zeros where there are none."""
    table = np.zeros((1, coefficients.class_count)) if forcing.heat_table is None else forcing.heat_table
    return np.asarray(table.astype(dtype))


def piece_numbers(tables: EnthalpyTables, dtype: np.dtype) -> tuple[np.ndarray, int, int]:
    """The pieces of all materials, flat, of the potentials and then of the conductivities; whether there are the first;
    and where the others start, or -1."""
    potentials, conductivities = tables.pieces, tables.conductivity_pieces
    flat = np.zeros((2, len(tables.conductivity), PIECE_NUMBERS, PIECES), dtype)
    for part, given in zip(flat, (potentials, conductivities), strict=True):
        if given is not None:
            part[:] = given
    return flat.reshape(-1), int(potentials is not None), -1 if conductivities is None else flat[0].size


def medium_of(coefficients: NonlinearCoefficients, dt: float, dtype: np.dtype) -> EnthalpyMedium:
    """The medium of a problem for steps of dt, as arrays."""
    tables = coefficients.tables.potentials, coefficients.tables.temperatures, coefficients.tables.resistivities
    potentials, temperatures, resistivities = (values.astype(dtype).reshape(-1) for values in tables)
    faces = (
        coefficients.material.astype(np.uint32),
        coefficients.links.reshape(-1),
        face_numbers(coefficients, dt, dtype).reshape(-1),
    )
    class_ids = (
        np.zeros(1, np.uint8)
        if coefficients.class_ids is None
        else np.ascontiguousarray(coefficients.class_ids).reshape(-1)
    )
    several = coefficients.class_ids is not None
    flags = int(is_uniform(coefficients)), int(is_paired(coefficients)), int(several)
    pieces = piece_numbers(coefficients.tables, dtype)
    flat = potentials, temperatures, resistivities, coefficients.tables.segments, *pieces
    numbers = (*look_up_numbers(coefficients, dtype), *flat, *faces, *flags, class_ids)
    return EnthalpyMedium(*numbers)


def make_boundary(coefficients: NonlinearCoefficients, values: np.ndarray, dtype: np.dtype) -> EnthalpyBoundary:
    """The boundary faces of a problem; values: (k, terms * boundary_size), see `boundary_rows`."""
    closed, reference = np.array(coefficients.closed, np.uint8), dtype.type(coefficients.tables.reference)
    places = coefficients.boundary_size, coefficients.boundary_offsets, closed, int(coefficients.boundary_per_cell)
    return EnthalpyBoundary(values.reshape(-1), 0, *places, reference, *boundary_factors(coefficients, dtype))
