"""The CUDA kernels of multigrid on the simulator, in one process of its own, against those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_multigrid
from heatsim_kernels.solver.cpu import operations
from helpers import simulator
from helpers.in_turn import in_turn
from multigrid_cases import noise

pytestmark = simulator.marks_of("simulated multigrid")
SHAPE = (3, 4, 5)
simulated = simulator.fixture_of(simulate_multigrid.__file__)


def require_equal(simulated: dict[str, np.ndarray], name: str, expected: dict[str, np.ndarray]) -> None:
    for part, values in expected.items():
        np.testing.assert_allclose(simulated[f"{name}: {part}"], values, rtol=2e-5, atol=2e-6, err_msg=part)


@in_turn("name", simulate_multigrid.TRIALS)
def test_every_kernel_gives_the_bits_of_that_of_the_cpu(name: str, simulated: dict[str, np.ndarray]) -> None:
    """Bit for bit: passes over a level, transfers, weights and Galerkin products are one source for both."""
    expected = simulate_multigrid.kernels_one_by_one(operations, simulate_multigrid.TRIALS[name])
    for part, values in expected.items():
        assert simulated[f"{name}: {part}"].tobytes() == values.tobytes(), part


def test_the_passes_of_the_gradient_are_those_of_the_cpu(simulated: dict[str, np.ndarray]) -> None:
    expected = simulate_multigrid.passes_of_the_gradient(operations)
    require_equal(simulated, "passes of the gradient", expected)
    np.testing.assert_allclose(simulated["passes of the gradient: x"], expected["x"], rtol=1e-14)


def test_a_solve_converges_as_on_the_cpu(simulated: dict[str, np.ndarray]) -> None:
    require_equal(simulated, "a solve", simulate_multigrid.solved(operations))


@pytest.mark.parametrize("name", simulate_multigrid.ASSEMBLED)
def test_a_problem_is_assembled_as_on_the_cpu(name: str, simulated: dict[str, np.ndarray]) -> None:
    require_equal(simulated, name, simulate_multigrid.assembled(operations, simulate_multigrid.ASSEMBLED[name]))


def test_arithmetic_of_fields_is_that_of_arrays(simulated: dict[str, np.ndarray]) -> None:
    u, v, class_ids = noise(SHAPE, 1), noise(SHAPE, 2), noise(SHAPE, 3) > 0
    expected = {
        "arithmetic": 0.5 + 2.0 * (u - v) / 4.0 - u * v - 1.0,
        "reversed": 3.0 - u,
        "weighted sums": np.array([(np.where(class_ids, 5.0, 3.0) * u).sum(), 3.0 * u.sum()]),
    }
    require_equal(simulated, "fields", expected)
