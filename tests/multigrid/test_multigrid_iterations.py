"""Iterations of the conjugate gradient: few, and no more of them on finer grids or beside insulators."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.solver.operator import Operator
from heatsim_kernels.solver.solver import Solver
from helpers.in_turn import in_turn
from multigrid_cases import FIXED, INSULATED, steady

METAL, FOAM = 230.0, 0.03
ENDS = (INSULATED,) * 4 + (FIXED,) * 2


def iterations(operator: Operator) -> int:
    """To reduce the residual of a random source by 1e-8."""
    solution = Solver(operator).solve(np.random.default_rng(0).uniform(0, 1, operator.shape))
    assert solution.converged
    return solution.iterations


def test_a_uniform_box_takes_as_few_on_any_grid() -> None:
    counts = [iterations(steady(np.ones((n, n, n)), dtype=np.float32)) for n in (16, 31, 64)]
    assert max(counts) <= 8
    assert max(counts) < 1.5 * min(counts)


def halves(n: int) -> np.ndarray:
    k = np.full((n, n, n), METAL)
    k[:, :, n // 2 + 1 :] = FOAM
    return k


def layers(n: int) -> np.ndarray:
    """Foam a single cell thick, off the cells that coarse grids keep."""
    k = np.full((n, n, n), METAL)
    k[[n // 3, 2 * n // 3 + 1]] = FOAM
    return k


def ball(n: int) -> np.ndarray:
    points = np.arange(n) - (n - 1) / 2
    inside = points[:, None, None] ** 2 + points[:, None] ** 2 + points**2 < (n / 3) ** 2
    return np.where(inside, METAL, FOAM)


def fins(n: int) -> np.ndarray:
    k = np.full((n, n, n), FOAM)
    k[n // 2 :, ::4, :] = METAL
    k[: n // 8] = METAL
    return k


def checkers(n: int) -> np.ndarray:
    cell = (np.arange(n) + 3) // 8
    return np.where((cell[:, None, None] + cell[:, None] + cell) % 2, METAL, FOAM)


@in_turn(
    ("material", "boundary", "most"),
    [
        (halves, ENDS, 12),
        (layers, ENDS, 12),
        (ball, (FIXED,) * 6, 15),
        (fins, (INSULATED,) * 4 + (FIXED, -0.01), 15),
        (checkers, (FIXED,) * 6, 18),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_metal_beside_foam_takes_few(material: object, boundary: tuple[float, ...], most: int) -> None:
    assert callable(material)
    assert iterations(steady(material(64), boundary=boundary, dtype=np.float32)) <= most


@pytest.mark.parametrize("cell", [(1.0, 1.0, 0.05), (0.1, 1.0, 3.0)])
def test_flat_cells_take_few(cell: tuple[float, float, float]) -> None:
    assert iterations(steady(np.ones((40, 40, 40)), size=cell, dtype=np.float32)) <= 10


@in_turn("time_step", [1e-3, 1.0, 1e3])
def test_an_implicit_step_takes_few(time_step: float) -> None:
    operator = steady(ball(40), boundary=(INSULATED,) * 6, time_step=time_step, dtype=np.float32)
    assert iterations(operator) <= 12


def test_poorly_conducting_walls_take_few() -> None:
    assert iterations(steady(np.ones((40, 40, 40)), boundary=(-1e-5,) * 6, dtype=np.float32)) <= 10
