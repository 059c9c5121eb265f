"""What rounding may cost is bounded by the time after which heat has left."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.explicit.coefficients import StencilCoefficients
from helpers.in_memory import problem_of
from helpers.in_turn import in_turn
from helpers.scenario_texts import fixed
from integrator_cases import case

from heatsim.solve.integrators.rounding import exit_time

NEIGHBOURS = [(2, -1), (2, 1), (1, -1), (1, 1), (0, -1), (0, 1)]  # axis of (z, y, x) and side, of the six faces


def mean_exit_times(coefficients: StencilCoefficients, boundary_a: np.ndarray) -> np.ndarray:
    """w of L w = -1, of values a (6, n), cell by cell."""
    shape = coefficients.shape
    matrix = np.zeros((np.prod(shape), np.prod(shape)))
    for cell in np.ndindex(*shape):
        row = np.ravel_multi_index(cell, shape)
        of = coefficients.class_ids[cell]
        for face, (axis, side) in enumerate(NEIGHBOURS):
            beyond, rate = list(cell), coefficients.rates[of, face]
            beyond[axis] += side
            if 0 <= beyond[axis] < shape[axis]:
                matrix[row, row] -= rate
                matrix[row, np.ravel_multi_index(beyond, shape)] += rate
            else:
                matrix[row, row] += rate * boundary_a[face, of]
    return np.asarray(np.linalg.solve(matrix, -np.ones(len(matrix))).reshape(shape))


def random_classes(shape: tuple[int, int, int], ids: np.ndarray, conductances: np.ndarray) -> StencilCoefficients:
    """Cells whose material conducts as `conductances` says; each cell is a class of its own."""
    k = conductances[ids]
    rates = np.zeros((k.size, 6))
    for face, (axis, side) in enumerate(NEIGHBOURS):
        beside = np.roll(k, -side, axis)
        rates[:, face] = (2 * k * beside / (k + beside)).reshape(-1)
        edge = [slice(None)] * 3
        edge[axis] = 0 if side < 0 else -1
        rates.reshape(*shape, 6)[(*edge, face)] = k[tuple(edge)]
    capacity = np.random.default_rng(2).uniform(0.5, 2.0, k.size)
    return StencilCoefficients(
        shape, rates / capacity[:, None], capacity, np.arange(k.size, dtype=np.uint16).reshape(shape),
        closed=(True, True, True, False, False, True),
    )  # fmt: skip


def boundary_values(classes: int, **given: float) -> np.ndarray:
    faces = ("x_min", "x_max", "y_min", "y_max", "z_min", "z_max")
    return np.array([[given.get(face, 0.0)] * classes for face in faces])


@in_turn("seed", range(4))
def test_no_mean_exit_time_is_beyond_the_bound(seed: int) -> None:
    shape, generator = (5, 4, 3), np.random.default_rng(seed)
    ids = generator.integers(0, 3, shape)
    coefficients = random_classes(shape, ids, np.array([0.2, 1.0, 3.0]))
    for given in ({"z_min": -2.0}, {"z_min": -2.0, "y_max": -0.3}, {"y_max": -0.3}):
        a = boundary_values(60, **given)
        greatest = mean_exit_times(coefficients, a).max()
        assert greatest <= exit_time(coefficients, a.reshape(-1)) * (1 + 1e-12)


def test_the_bound_is_the_exit_time_of_layers_before_one_face() -> None:
    shape = (7, 2, 2)
    ids = np.broadcast_to(np.array([0, 0, 1, 2, 1, 0, 0])[:, None, None], shape)
    coefficients = random_classes(shape, ids, np.array([1.0, 0.1, 5.0]))
    even = StencilCoefficients(
        shape, coefficients.rates * coefficients.capacity[:, None], np.ones(28), coefficients.class_ids,
        closed=coefficients.closed,
    )  # fmt: skip
    a = boundary_values(28, z_min=-2.0)
    assert exit_time(even, a.reshape(-1)) == pytest.approx(mean_exit_times(even, a).max(), rel=1e-12)
    assert exit_time(even, boundary_values(28).reshape(-1)) == np.inf


def test_a_slab_forgets_after_the_square_of_its_width() -> None:
    problem = problem_of(case([1, 1, 64], 1.0, initial=20.0, boundary={"z_min": fixed(0.0)}))
    rate = problem.coefficients.rates[0, 4]
    found = exit_time(problem.coefficients, problem.boundary_values(np.zeros(1))[0][0])
    assert found == pytest.approx(64**2 / 2 / rate, rel=1e-12)
