from __future__ import annotations

from dataclasses import replace

import numpy as np
import plain_reference
import pytest
from heatsim_kernels.stencil.terms import Forcing, StencilCoefficients
from heatsim_kernels.stencil.time_step_limit import stable_step
from helpers.kernel_cases import KINDS, random_case
from hypothesis import given, settings
from hypothesis import strategies as st


def step_matrix(terms: StencilCoefficients, dt: float, wall_a: np.ndarray) -> np.ndarray:
    """The matrix that a reference step multiplies the field by: what each unit field becomes, walls at zero."""
    drive = Forcing(wall_a[None], np.zeros((1, wall_a.size)))
    cells = int(np.prod(terms.shape))
    units = np.eye(cells).reshape(cells, *terms.shape)
    return np.array([plain_reference.explicit_step(unit, terms, dt, drive)[0].ravel() for unit in units]).T


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
    case = random_case(shape, KINDS[name], periodic=periodic, per_cell=per_cell, seed=seed)
    wall_a = case.drive.wall_a[0]
    assert stable_step(case.terms, wall_a) == pytest.approx(plain_reference.stable_step(case.terms, wall_a), rel=1e-13)


@pytest.mark.parametrize("name", ["uniform", "materials"])
@pytest.mark.parametrize("periodic", [(False, False, False), (True, False, True)])
@pytest.mark.parametrize("per_cell", [False, True])
def test_no_weight_is_negative_at_the_stable_step_and_one_is_beyond(
    name: str, periodic: tuple[bool, bool, bool], per_cell: bool
) -> None:
    for seed in range(5):
        case = random_case((3, 4, 5), KINDS[name], periodic=periodic, per_cell=per_cell, seed=seed)
        wall_a = case.drive.wall_a[0]
        limit = stable_step(case.terms, wall_a)
        assert step_matrix(case.terms, limit, wall_a).min() >= -1e-14
        assert step_matrix(case.terms, 1.2 * limit, wall_a).min() < -0.1


def test_the_wall_decides_where_it_conducts_best() -> None:
    """A cell between two fixed walls loses heat at 2 + 2 times the exchange rate of the inside."""
    terms = StencilCoefficients((1, 1, 1), np.array([[2.0, 2.0, 3.0, 3.0, 5.0, 5.0]]), np.ones(1))
    wall_a = np.array([-2.0, -2.0, 0.0, 0.0, 0.0, 0.0])
    assert stable_step(terms, wall_a) == pytest.approx(1 / 8)
    assert stable_step(terms, wall_a[[2, 3, 0, 1, 4, 5]]) == pytest.approx(1 / 12)
    assert stable_step(terms, wall_a[[2, 3, 4, 5, 0, 1]]) == pytest.approx(1 / 20)


def test_where_no_heat_moves_any_step_is_stable() -> None:
    terms = StencilCoefficients((1, 1, 1), np.ones((1, 6)), np.ones(1))
    assert stable_step(terms, np.ones(6)) == float("inf")
    still = replace(terms, shape=(3, 4, 5), rates=np.zeros((1, 6)))
    assert stable_step(still, np.ones(6)) == float("inf")
