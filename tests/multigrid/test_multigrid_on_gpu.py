"""The multigrid kernels and the solver on a real GPU, against those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_multigrid
from heatsim_kernels.solver.cpu import operations as cpu
from heatsim_kernels.solver.operator import Operator
from heatsim_kernels.solver.solver import Solution, Solver
from multigrid_cases import FIXED, INSULATED, noise, random_operator, steady
from simulate_multigrid import MultigridTrial

pytestmark = pytest.mark.gpu
TRIALS = {
    **simulate_multigrid.TRIALS,
    "rows longer than a tile": MultigridTrial((19, 37, 135)),
    "a march of several blocks, periodic": MultigridTrial((67, 18, 30), (True, True, True), (0, 1, 2, 0)),
    "a plane": MultigridTrial((1, 130, 67), axes=(1, 2, 1), dtype=np.float32),
    "a line along y": MultigridTrial((1, 1001, 1), (False, True, False), (1, 1)),
}
METAL_BESIDE_FOAM = np.full((64, 64, 64), 230.0)
METAL_BESIDE_FOAM[:, :, 33:] = 0.03
OPERATORS = {
    "uniform": steady(np.ones((64, 64, 64)), dtype=np.float32),
    "metal beside foam": steady(METAL_BESIDE_FOAM, boundary=(INSULATED,) * 4 + (FIXED,) * 2, dtype=np.float32),
    "random, float64": random_operator((33, 20, 47), (False, True, False)),
    "a thin step in time": steady(np.ones((3, 90, 61)), boundary=(INSULATED,) * 6, time_step=5.0, size=(1.0, 1.0, 0.2)),
    "a line": steady(np.ones((1, 1, 1300))),
    "one cell": steady(np.ones((1, 1, 1))),
}


@pytest.mark.parametrize("name", TRIALS)
def test_every_kernel_gives_on_a_gpu_the_bits_of_that_of_the_cpu(name: str) -> None:
    from heatsim_kernels.solver.cuda import operations as cuda

    expected = simulate_multigrid.kernels_one_by_one(cpu, TRIALS[name])
    found = simulate_multigrid.kernels_one_by_one(cuda, TRIALS[name])
    for part, values in expected.items():
        assert found[part].tobytes() == values.tobytes(), part


def test_the_passes_of_the_gradient_and_a_solve_are_those_of_the_cpu() -> None:
    from heatsim_kernels.solver.cuda import operations as cuda

    for work in (simulate_multigrid.passes_of_the_gradient, simulate_multigrid.solved):
        expected, found = work(cpu), work(cuda)
        for part, values in expected.items():
            np.testing.assert_allclose(found[part], values, rtol=2e-5, atol=2e-6, err_msg=part)


@pytest.mark.parametrize("name", simulate_multigrid.ASSEMBLED)
def test_a_problem_is_assembled_on_a_gpu_as_on_the_cpu(name: str) -> None:
    from heatsim_kernels.solver.cuda import operations as cuda

    expected, found = (
        simulate_multigrid.assembled(kernels, simulate_multigrid.ASSEMBLED[name]) for kernels in (cpu, cuda)
    )
    for part, values in expected.items():
        np.testing.assert_allclose(found[part], values, rtol=2e-6, atol=1e-12, err_msg=part)


def on_gpu(operator: Operator, b: np.ndarray) -> tuple[Solution, np.ndarray]:
    from heatsim_kernels.solver.cuda import operations as cuda

    solution = Solver(operator, cuda).solve(b, tolerance=1e-9)
    return solution, cuda.get(solution.x)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_solve_takes_the_iterations_and_has_the_result_of_the_cpu(name: str) -> None:
    operator = OPERATORS[name]
    b = noise(operator.shape)
    expected = Solver(operator).solve(b, tolerance=1e-9)
    solution, x = on_gpu(operator, b)
    assert solution.converged
    assert abs(solution.iterations - expected.iterations) <= 1
    np.testing.assert_allclose(x, expected.x, rtol=0, atol=1e-6 * np.abs(expected.x).max())


def test_the_same_solve_on_a_gpu_gives_the_same_bits() -> None:
    operator = OPERATORS["metal beside foam"]
    b = noise(operator.shape)
    (first, x), (second, y) = on_gpu(operator, b), on_gpu(operator, b)
    assert x.tobytes() == y.tobytes()
    assert first.residuals == second.residuals


def test_a_singular_problem_is_refused_on_a_gpu() -> None:
    from heatsim_kernels.solver.cuda import operations as cuda

    with pytest.raises(ValueError, match="singular"):
        Solver(steady(np.ones((4, 4, 4)), boundary=(INSULATED,) * 6), cuda)
