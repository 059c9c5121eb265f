"""Solutions against a direct solver, exact profiles, and what the solver says of them."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse.linalg as direct
from heatsim_kernels.explicit.coefficients import Forcing
from heatsim_kernels.solver.assembly import heat_input, operator_of
from heatsim_kernels.solver.operator import Operator
from heatsim_kernels.solver.solver import Solver
from helpers.in_turn import in_turn
from helpers.scenario_texts import Face, box, case, convection, fixed, material
from multigrid_cases import FIXED, INSULATED, NO_PERIOD, matrix, noise, random_operator, steady, terms_of

from heatsim.problem import build_problem
from heatsim.scenario import loads


def blocks(shape: tuple[int, int, int], contrast: float, seed: int = 3) -> np.ndarray:
    """Blocks of 3 cells of either of two materials."""
    coarse = np.random.default_rng(seed).integers(0, 2, [-(-n // 3) for n in shape])
    nz, ny, nx = shape
    fine = coarse.repeat(3, 0).repeat(3, 1).repeat(3, 2)[:nz, :ny, :nx]
    return np.where(fine, 1.0, 1.0 / contrast)


@in_turn(
    ("shape", "periodic"),
    [
        ((1, 1, 1), NO_PERIOD),
        ((1, 1, 2), NO_PERIOD),
        ((1, 1, 1300), NO_PERIOD),
        ((997, 1, 1), NO_PERIOD),
        ((1, 640, 1), (False, True, False)),
        ((1, 37, 61), NO_PERIOD),
        ((53, 1, 30), (True, False, True)),
        ((2, 3, 401), NO_PERIOD),
        ((13, 17, 11), NO_PERIOD),
        ((16, 12, 9), (True, True, True)),
        ((15, 2, 14), (True, True, False)),
    ],
)
@in_turn("contrast", [1.0, 1e4])
def test_agrees_with_a_direct_solver(
    shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], contrast: float
) -> None:
    closed = tuple(wraps and n > 1 for wraps, n in zip(periodic, shape[::-1], strict=True))
    step = 30.0 if all(wraps or n == 1 for wraps, n in zip(closed, shape[::-1], strict=True)) else np.inf
    boundary = (FIXED, -0.3, FIXED, INSULATED, -1e-3, FIXED)
    operator = steady(
        blocks(shape, contrast), boundary=boundary, periodic=(closed[0], closed[1], closed[2]), time_step=step
    )
    b = noise(shape)
    solution = Solver(operator).solve(b, tolerance=1e-12)
    exact = direct.spsolve(matrix(operator), b.reshape(-1)).reshape(shape)
    assert solution.converged
    np.testing.assert_allclose(solution.x, exact, atol=1e-7 * np.abs(exact).max())


def test_the_residual_told_is_the_residual() -> None:
    operator = random_operator((9, 10, 11))
    b = noise(operator.shape)
    solution = Solver(operator).solve(b, tolerance=1e-6)
    residual = b.reshape(-1) - matrix(operator) @ solution.x.reshape(-1)
    assert np.linalg.norm(residual) / np.linalg.norm(b) == pytest.approx(solution.residuals[-1], rel=1e-6)
    assert solution.residuals[-1] <= 1e-6 < solution.residuals[-2]
    assert solution.sweeps == 1 + 6 * solution.iterations


def test_accuracy_in_kelvin_is_kept() -> None:
    operator = steady(blocks((20, 21, 22), 100.0))
    b = noise(operator.shape)
    solver = Solver(operator)
    exact = solver.solve(b, tolerance=1e-12).x
    for accuracy in (1e-1, 1e-3, 1e-5):
        solution = solver.solve(b, tolerance=0.0, accuracy=accuracy)
        assert solution.converged
        assert np.abs(solution.x - exact).max() < 2 * accuracy


def test_a_good_guess_leaves_nothing_to_do() -> None:
    operator = random_operator((5, 6, 7))
    b = noise(operator.shape)
    solver = Solver(operator)
    first = solver.solve(b)
    again = solver.solve(b, first.x, tolerance=1.01e-8)
    assert again.iterations == 0
    assert np.array_equal(again.x, first.x)


def test_no_heat_is_no_temperature() -> None:
    solution = Solver(random_operator((4, 5, 6))).solve(np.zeros((4, 5, 6)))
    assert solution.converged
    assert not solution.x.any()


def test_too_few_iterations_are_told() -> None:
    operator = steady(blocks((20, 20, 20), 100.0))
    solution = Solver(operator).solve(noise(operator.shape), max_iterations=2)
    assert not solution.converged
    assert solution.iterations == 2


def test_heat_that_is_not_finite_ends_the_solve() -> None:
    b = np.zeros((4, 5, 6))
    b[1, 2, 3] = np.nan
    solution = Solver(random_operator((4, 5, 6))).solve(b)
    assert not solution.converged
    assert solution.iterations == 0


def test_a_singular_problem_is_refused() -> None:
    insulated = steady(np.ones((4, 4, 4)), boundary=(INSULATED,) * 6)
    with pytest.raises(ValueError, match="singular"):
        Solver(insulated)
    solver = Solver(steady(np.ones((4, 4, 4))))
    with pytest.raises(ValueError, match="singular"):
        solver.set_outside(insulated.s)


def test_another_time_step_gives_what_another_solver_gives() -> None:
    coefficients = terms_of(blocks((14, 15, 16), 50.0))
    boundary_a = np.full(coefficients.boundary_size, -0.5)
    slow, quick = (operator_of(coefficients, boundary_a, np.dtype(np.float64), dt) for dt in (100.0, 0.1))
    b = noise(coefficients.shape)
    solver = Solver(slow)
    solver.set_outside(quick.s)
    fresh = Solver(quick)
    assert np.array_equal(solver.solve(b).x, fresh.solve(b).x)


def test_single_precision_conductances_give_the_same_to_their_rounding() -> None:
    k = blocks((12, 13, 14), 1e3)
    b = noise(k.shape)
    double, single = (Solver(steady(k, dtype=kind)).solve(b, tolerance=1e-10) for kind in (np.float64, np.float32))
    assert single.converged
    assert np.abs(single.x - double.x).max() < 1e-5 * np.abs(double.x).max()


@pytest.mark.parametrize("periodic", [NO_PERIOD, (False, True, False)])
def test_gives_the_same_bits_for_any_number_of_threads(periodic: tuple[bool, bool, bool]) -> None:
    operator = steady(blocks((50, 51, 53), 1e3), periodic=periodic)
    b = noise(operator.shape)
    results = []
    for threads in (1, 3, 4):
        numba.set_num_threads(threads)
        results.append(Solver(operator).solve(b, tolerance=1e-6))
    assert all(each.x.tobytes() == results[0].x.tobytes() for each in results)
    assert all(each.residuals == results[0].residuals for each in results)


def slab(right: str, x_max: Face) -> str:
    """A slab of brick, whose right half is of some material, between 0 degC and a face at x_max."""
    materials = {"brick": material(0.5, 1000.0, 1000.0), "steel": material(50.0, 8000.0, 500.0)}
    right_half = {"material": right, **box([0.2, 0.0, 0.0], [0.4, 0.06, 0.05])}
    faces = {"x_min": fixed(0.0), "x_max": x_max}
    size = (0.4, 0.06, 0.05)
    return case([40, 6, 5], size=size, materials=materials, regions=[right_half], initial=10.0, boundary=faces)


def steady_of(text: str) -> tuple[np.ndarray, np.ndarray]:
    """x of the cells of a row and its steady temperatures, degC."""
    problem = build_problem(loads(text))
    forcing = problem.forcing(np.zeros(1))
    assert isinstance(forcing, Forcing)
    operator: Operator = operator_of(problem.coefficients, forcing.boundary_a[0], problem.dtype)
    solution = Solver(operator).solve(heat_input(problem.coefficients, forcing), tolerance=1e-13)
    assert np.ptp(solution.x, axis=(0, 1)).max() < 1e-8
    return problem.grid.centres("x"), solution.x[2, 3] + problem.reference


def test_a_uniform_slab_between_two_temperatures_is_linear() -> None:
    x, T = steady_of(slab("brick", fixed(100.0)))
    np.testing.assert_allclose(T, 250.0 * x, atol=1e-8)


def test_a_slab_of_two_layers_has_the_temperature_of_resistances_in_series() -> None:
    x, T = steady_of(slab("steel", convection(25.0, 100.0)))
    q = 100.0 / (0.2 / 0.5 + 0.2 / 50.0 + 1 / 25.0)  # W/m2
    np.testing.assert_allclose(T, np.where(x < 0.2, q * x / 0.5, q * (0.4 + (x - 0.2) / 50.0)), atol=1e-8)
