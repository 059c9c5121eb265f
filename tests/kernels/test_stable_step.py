from __future__ import annotations

from dataclasses import replace

import numpy as np
import plain_reference
import pytest
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.time_step_limit import stable_step
from helpers.in_turn import in_turn
from helpers.kernel_cases import FEATURES, random_case
from hypothesis import given, settings
from hypothesis import strategies as st


def step_matrix(coefficients: StencilCoefficients, dt: float, boundary_a: np.ndarray) -> np.ndarray:
    """The matrix that a reference step multiplies the field by: what each unit field becomes, boundary faces at
    zero."""
    forcing = Forcing(boundary_a[None], np.zeros((1, boundary_a.size)))
    cells = int(np.prod(coefficients.shape))
    units = np.eye(cells).reshape(cells, *coefficients.shape)
    return np.array([plain_reference.explicit_step(unit, coefficients, dt, forcing)[0].ravel() for unit in units]).T


@settings(max_examples=60)
@given(
    shape=st.tuples(st.integers(1, 6), st.integers(1, 7), st.integers(1, 9)),
    name=st.sampled_from(["uniform", "materials", "a rate a face", "ambients"]),
    periodic=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    per_cell=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_the_stable_step_is_the_least_capacity_over_conductance(
    shape: tuple[int, int, int], name: str, periodic: tuple[bool, bool, bool], per_cell: bool, seed: int
) -> None:
    case = random_case(shape, FEATURES[name], periodic=periodic, per_cell=per_cell, seed=seed)
    boundary_a = case.forcing.boundary_a[0]
    assert stable_step(case.coefficients, boundary_a) == pytest.approx(
        plain_reference.stable_step(case.coefficients, boundary_a), rel=1e-13
    )


@in_turn("name", ["uniform", "materials"])
@in_turn("periodic", [(False, False, False), (True, False, True)])
@in_turn("per_cell", [False, True])
def test_no_weight_is_negative_at_the_stable_step_and_one_is_beyond(
    name: str, periodic: tuple[bool, bool, bool], per_cell: bool
) -> None:
    for seed in range(5):
        case = random_case((3, 4, 5), FEATURES[name], periodic=periodic, per_cell=per_cell, seed=seed)
        boundary_a = case.forcing.boundary_a[0]
        limit = stable_step(case.coefficients, boundary_a)
        assert step_matrix(case.coefficients, limit, boundary_a).min() >= -1e-14
        assert step_matrix(case.coefficients, 1.2 * limit, boundary_a).min() < -0.1


def test_the_wall_decides_where_it_conducts_best() -> None:
    """A cell between two fixed boundary faces loses heat at 2 + 2 times the exchange rate of the inside."""
    coefficients = StencilCoefficients((1, 1, 1), np.array([[2.0, 2.0, 3.0, 3.0, 5.0, 5.0]]), np.ones(1))
    boundary_a = np.array([-2.0, -2.0, 0.0, 0.0, 0.0, 0.0])
    assert stable_step(coefficients, boundary_a) == pytest.approx(1 / 8)
    assert stable_step(coefficients, boundary_a[[2, 3, 0, 1, 4, 5]]) == pytest.approx(1 / 12)
    assert stable_step(coefficients, boundary_a[[2, 3, 4, 5, 0, 1]]) == pytest.approx(1 / 20)


def test_where_no_heat_moves_any_step_is_stable() -> None:
    coefficients = StencilCoefficients((1, 1, 1), np.ones((1, 6)), np.ones(1))
    assert stable_step(coefficients, np.ones(6)) == float("inf")
    still = replace(coefficients, shape=(3, 4, 5), rates=np.zeros((1, 6)))
    assert stable_step(still, np.ones(6)) == float("inf")
