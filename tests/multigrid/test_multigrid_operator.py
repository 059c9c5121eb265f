"""The solver's operator is the one that the explicit sweeps apply."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.explicit import STEPPERS
from heatsim_kernels.explicit.ambient_faces import ambient_face_pairs
from heatsim_kernels.explicit.coefficients import StencilCoefficients
from heatsim_kernels.solver.assembly import heat_input, operator_of
from helpers.in_turn import in_turn
from multigrid_cases import applied, matrix, noise, random_operator, random_terms

STEP = 0.05  # s


def from_ambients(coefficients: StencilCoefficients, T: np.ndarray) -> np.ndarray:
    """Heat that each cell gets from the held cells beside it were it at zero itself, W."""
    power = np.zeros(T.size)
    pairs = ambient_face_pairs(coefficients)
    np.add.at(power, pairs.cells, coefficients.conductances().ravel()[pairs.entries] * T.ravel()[pairs.beyond])
    return power.reshape(T.shape)


@in_turn(
    ("shape", "zones", "prescribed", "periodic", "per_cell"),
    [
        ((5, 6, 7), 1, 0, (False, False, False), False),
        ((5, 6, 7), 3, 0, (False, True, False), True),
        ((4, 3, 2), 4, 1, (True, True, True), False),
        ((1, 5, 9), 2, 1, (True, False, False), False),
        ((1, 1, 8), 3, 1, (False, False, False), True),
        ((6, 2, 1), 2, 0, (False, True, False), True),
        ((5, 6, 7), 4, 2, (False, False, False), False),
    ],
)
def test_an_explicit_step_is_the_operator_and_the_heat_input(
    shape: tuple[int, int, int], zones: int, prescribed: int, periodic: tuple[bool, bool, bool], per_cell: bool
) -> None:
    coefficients, forcing = random_terms(shape, zones, prescribed, periodic, per_cell)
    T = noise(shape)
    sweep = STEPPERS["cpu"](coefficients, np.dtype(np.float64))
    sweep.field.put(T)
    sweep.advance(STEP, 1, forcing)
    operator = operator_of(coefficients, forcing.boundary_a[0], np.dtype(np.float64))
    capacity = coefficients.spread_over_cells(coefficients.capacity)
    flow = heat_input(coefficients, forcing) + from_ambients(coefficients, T) - applied(operator, T)
    new = np.where(capacity > 0, T + STEP * flow / np.where(capacity > 0, capacity, 1), T)
    np.testing.assert_allclose(new, sweep.field.host(), rtol=0, atol=1e-14)


def test_a_cell_that_is_held_is_alone_in_its_row() -> None:
    coefficients, forcing = random_terms((4, 5, 6), 3, 1, (True, False, False), False)
    prescribed = np.broadcast_to(
        coefficients.spread_over_cells(coefficients.capacity == 0), coefficients.shape
    ).reshape(-1)
    dense = matrix(operator_of(coefficients, forcing.boundary_a[0], np.dtype(np.float64), 0.1)).toarray()
    assert 0 < prescribed.sum() < prescribed.size
    assert not dense[np.ix_(prescribed, ~prescribed)].any()
    assert not dense[np.ix_(~prescribed, prescribed)].any()
    assert np.array_equal(dense[np.ix_(prescribed, prescribed)] != 0, np.eye(prescribed.sum(), dtype=bool))


def test_a_time_step_adds_the_heat_capacity_over_it() -> None:
    coefficients, forcing = random_terms((3, 4, 5), 3, 0, (False, False, True), False)
    at_rest, moving = (
        operator_of(coefficients, forcing.boundary_a[0], np.dtype(np.float64), dt) for dt in (np.inf, 0.1)
    )
    np.testing.assert_allclose(
        moving.s - at_rest.s, coefficients.spread_over_cells(coefficients.capacity) / 0.1, rtol=1e-14
    )


@pytest.mark.parametrize("periodic", [(False, False, False), (True, True, True)])
def test_the_operator_is_symmetric_and_positive(periodic: tuple[bool, bool, bool]) -> None:
    operator = random_operator((3, 4, 5), periodic)
    units = np.eye(operator.s.size).reshape(-1, *operator.shape)
    dense = np.array([applied(operator, unit).reshape(-1) for unit in units])
    np.testing.assert_allclose(dense, matrix(operator).toarray(), atol=1e-15)
    np.testing.assert_allclose(dense, dense.T, atol=1e-15)
    assert np.linalg.eigvalsh(dense).min() > 0


def test_a_constant_field_loses_heat_only_to_the_outside() -> None:
    operator = random_operator((4, 5, 6))
    assert np.array_equal(applied(operator, np.full(operator.shape, 3.0)), 3.0 * operator.s)
