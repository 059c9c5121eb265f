"""The CUDA kernels of multigrid on the simulator, in one process of its own, against those of the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import simulate_multigrid
from heatsim_kernels.multigrid import cpu
from multigrid_cases import noise

pytestmark = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
ROOT = Path(__file__).parents[2]
SHAPE = (3, 4, 5)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    target = tmp_path_factory.mktemp("simulator") / "results.npz"
    script = Path(simulate_multigrid.__file__)
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels"), str(script.parent)])
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, str(script), str(target)], env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    with np.load(target) as file:
        return dict(file)


def require_equal(simulated: dict[str, np.ndarray], name: str, expected: dict[str, np.ndarray]) -> None:
    for part, values in expected.items():
        np.testing.assert_allclose(simulated[f"{name}: {part}"], values, rtol=2e-5, atol=2e-6, err_msg=part)


@pytest.mark.parametrize("name", simulate_multigrid.TRIALS)
def test_every_kernel_gives_what_that_of_the_cpu_gives(name: str, simulated: dict[str, np.ndarray]) -> None:
    expected = simulate_multigrid.kernels_one_by_one(cpu, simulate_multigrid.TRIALS[name])
    require_equal(simulated, name, expected)
    np.testing.assert_allclose(simulated[f"{name}: A x in float64"], expected["A x in float64"], rtol=1e-13, atol=1e-14)


def test_the_passes_of_the_gradient_are_those_of_the_cpu(simulated: dict[str, np.ndarray]) -> None:
    expected = simulate_multigrid.passes_of_the_gradient(cpu)
    require_equal(simulated, "passes of the gradient", expected)
    np.testing.assert_allclose(simulated["passes of the gradient: x"], expected["x"], rtol=1e-14)


def test_a_solve_converges_as_on_the_cpu(simulated: dict[str, np.ndarray]) -> None:
    require_equal(simulated, "a solve", simulate_multigrid.solved(cpu))


def test_arithmetic_of_fields_is_that_of_arrays(simulated: dict[str, np.ndarray]) -> None:
    u, v = noise(SHAPE, 1), noise(SHAPE, 2)
    expected = {
        "arithmetic": 0.5 + 2.0 * (u - v) / 4.0 - u * v - 1.0,
        "reversed": 3.0 - u,
        "extent": np.array([u.min(), u.max(), u.sum()]),
        "planes": np.concatenate([u[1].ravel(), u[:, 1].ravel(), u[:, :, 1].ravel()]),
        "cells": u.reshape(-1)[[[0, 7], [59, 3]]],
    }
    require_equal(simulated, "fields", expected)


def test_walls_pass_heat_to_the_cells_beside_them(simulated: dict[str, np.ndarray]) -> None:
    u, heat, entering = noise(SHAPE, 1), np.zeros(SHAPE), []
    for number in range(6):
        at: list[slice | int] = [slice(None)] * 3
        at[2 - number // 2] = -1 if number % 2 else 0
        beside = u[tuple(at)]
        passed = noise(beside.shape, number) * beside + noise(beside.shape, 9 - number)
        heat[tuple(at)] += passed
        entering.append(passed.sum())
    require_equal(simulated, "fields", {"walls": heat, "entering": np.array(entering)})
