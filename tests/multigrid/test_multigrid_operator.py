"""The solver's operator is the one that the explicit sweeps apply."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.multigrid.operator import heat_input, operator_of
from heatsim_kernels.stencil import SWEEPS
from heatsim_kernels.stencil.terms import Drive, Terms
from multigrid_cases import applied, matrix, noise, random_operator

STEP = 0.05  # s


def random_terms(
    shape: tuple[int, int, int], zones: int, periodic: tuple[bool, bool, bool], per_cell: bool, seed: int
) -> tuple[Terms, Drive]:
    rng = np.random.default_rng(seed)
    capacity = rng.uniform(1, 2, zones)
    conductance = rng.uniform(0.1, 1, (3, zones, zones))
    pairs = (conductance + conductance.transpose(0, 2, 1)) / 2 / capacity[:, None]
    ids = rng.integers(0, zones, shape).astype(np.uint8) if zones > 1 else None
    closed = tuple(bool(wraps) for wraps in np.repeat(periodic, 2))
    terms = Terms(shape, pairs if zones > 1 else pairs[:, 0, 0], capacity, ids, periodic, closed, per_cell)
    wall_a, wall_b = rng.uniform(-2, 0, (1, terms.wall_size)), rng.uniform(-1, 1, (1, terms.wall_size))
    heat = rng.uniform(-1, 1, (1, zones)), rng.uniform(-1, 1, shape)
    return terms, Drive(wall_a, wall_b, *heat, rng.uniform(1, 2, 1))


@pytest.mark.parametrize(
    ("shape", "zones", "periodic", "per_cell"),
    [
        ((5, 6, 7), 1, (False, False, False), False),
        ((5, 6, 7), 3, (False, True, False), True),
        ((4, 3, 2), 4, (True, True, True), False),
        ((1, 5, 9), 2, (True, False, False), False),
        ((1, 1, 8), 3, (False, False, False), True),
        ((6, 2, 1), 2, (False, True, True), True),
    ],
)
def test_an_explicit_step_is_the_operator_and_the_heat_input(
    shape: tuple[int, int, int], zones: int, periodic: tuple[bool, bool, bool], per_cell: bool
) -> None:
    single = tuple(wraps and n > 1 for wraps, n in zip(periodic, shape[::-1], strict=True))
    terms, drive = random_terms(shape, zones, (single[0], single[1], single[2]), per_cell, seed=sum(shape))
    T = noise(shape)
    sweep = SWEEPS["cpu"](terms, np.dtype(np.float64))
    sweep.put(T)
    sweep.advance(STEP, 1, drive)
    operator = operator_of(terms, drive.wall_a[0], np.dtype(np.float64))
    capacity = terms.capacity[0 if terms.zones is None else terms.zones]
    new = T + STEP * (heat_input(terms, drive) - applied(operator, T)) / capacity
    np.testing.assert_allclose(new, sweep.field(), rtol=0, atol=1e-14)


def test_a_time_step_adds_the_heat_capacity_over_it() -> None:
    terms, drive = random_terms((3, 4, 5), 3, (False, False, True), False, seed=1)
    at_rest, moving = (operator_of(terms, drive.wall_a[0], np.dtype(np.float64), dt) for dt in (np.inf, 0.1))
    np.testing.assert_allclose(moving.s - at_rest.s, terms.capacity[terms.zones] / 0.1, rtol=1e-14)


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
