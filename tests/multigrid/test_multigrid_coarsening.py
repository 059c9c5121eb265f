"""Coarse grids: interpolation, its transpose, and the Galerkin product, for odd, even and periodic axes."""

from __future__ import annotations

import numpy as np
import pytest
from heatsim_kernels.solver import hierarchy as hierarchies
from heatsim_kernels.solver.cpu import operations
from heatsim_kernels.solver.cpu.sweeps import CpuConductances
from heatsim_kernels.solver.hierarchy import RESIDUAL, Coarsening, Hierarchy, coarsening
from heatsim_kernels.solver.operator import Operator
from helpers.in_turn import in_turn
from multigrid_cases import noise, random_operator, steady

AXES = {"z": 0, "y": 1, "x": 2}
CASES = [
    (shape, periodic)
    for shape in ((5, 6, 7), (4, 3, 6), (3, 8, 4))
    for periodic in ((False, False, False), (True, True, True))
]


def single(operator: Operator) -> CpuConductances:
    return operations.single(operator.gx), operations.single(operator.gy), operations.single(operator.gz)


def coarsened(step: Coarsening, g: CpuConductances) -> tuple[np.ndarray, np.ndarray]:
    """Weights and coarse conductances."""
    weights, coarse = operations.field(step.weights), operations.field(step.coarse_conductances)
    operations.interpolation(step, g, weights)
    operations.galerkin(step, g, weights, coarse)
    return weights, coarse


def interpolated(step: Coarsening, weights: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    fine = operations.field(step.fine)
    operations.interpolate(step, weights, coarse, False, fine)
    return np.array(fine)


def stiffness(g: CpuConductances, shape: tuple[int, int, int]) -> np.ndarray:
    """(n, n) what the kernels make of conductances without any outside."""
    n = int(np.prod(shape))
    none, out, columns = operations.field(shape), operations.field(shape), []
    for unit in np.eye(n, dtype=np.float32):
        operations.sweep(g, none, -unit.reshape(shape), none, RESIDUAL, out)
        columns.append(out.reshape(-1).copy())
    return np.array(columns, np.float64).T


@in_turn("axis", AXES)
@in_turn(("shape", "periodic"), CASES)
def test_coarse_conductances_are_the_galerkin_product_twice_over(
    shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], axis: str
) -> None:
    g: CpuConductances = single(random_operator(shape, periodic))
    for along in (AXES[axis], (AXES[axis] + 1) % 3):  # first of 7 points, then of 27
        step = coarsening(shape, along, periodic[2 - along])
        weights, coarse = coarsened(step, g)
        count = int(np.prod(step.coarse))
        units = np.eye(count, dtype=np.float32).reshape(-1, *step.coarse)
        p = np.array([interpolated(step, weights, unit).reshape(-1) for unit in units], np.float64).T
        product = p.T @ stiffness(g, shape) @ p
        np.testing.assert_allclose(stiffness(coarse, step.coarse), product, atol=3e-6)
        g, shape = coarse, step.coarse


@in_turn("axis", AXES)
@in_turn(("shape", "periodic"), CASES)
def test_restriction_is_the_transpose_of_interpolation(
    shape: tuple[int, int, int], periodic: tuple[bool, bool, bool], axis: str
) -> None:
    step = coarsening(shape, AXES[axis], periodic[2 - AXES[axis]])
    weights, _ = coarsened(step, single(random_operator(shape, periodic)))
    fine, coarse = noise(shape).astype(np.float32), noise(step.coarse, seed=1).astype(np.float32)
    restricted = operations.field(step.coarse)
    operations.restrict(step, weights, fine, restricted)
    assert np.vdot(restricted, coarse) == pytest.approx(np.vdot(fine, interpolated(step, weights, coarse)), abs=1e-5)
    ones = np.ones(step.coarse, np.float32)
    assert np.array_equal(interpolated(step, weights, ones), np.ones(shape, np.float32))


def test_a_cell_beside_an_insulator_follows_its_conductor() -> None:
    k = np.ones((1, 1, 9))
    k[..., 4:] = 1e-4
    step = coarsening((1, 1, 9), 2, False)
    weights, _ = coarsened(step, single(steady(k)))
    assert weights[0, 0, 1] > 0.999  # cell 3, the last of the conductor, between cells 2 and 4


@pytest.mark.parametrize(("cell", "shape"), [((0.1, 1, 1), (16, 16, 7)), ((1, 1, 0.1), (7, 16, 16))])
def test_thin_cells_are_coarsened_across_their_thin_side_alone(
    cell: tuple[float, float, float], shape: tuple[int, int, int]
) -> None:
    levels = Hierarchy(steady(np.ones((16, 16, 16)), size=cell), operations).levels
    assert levels[1].shape == tuple(9 if n == 7 else n for n in shape)


def test_void_does_not_hide_which_axes_of_a_thin_layer_are_strong() -> None:
    """A layer of flat cells, three in thickness, amid void: without regard to void all axes count as strong."""
    whole = steady(np.ones((16, 16, 16)), size=(1, 1, 0.1))
    for g in (whole.gx, whole.gy, whole.gz):
        g[3:] = 0.0
    whole.gz[2:] = 0.0
    assert Hierarchy(whole, operations).levels[1].shape == (9, 16, 16)


@pytest.mark.parametrize("twice", [False, True])
def test_the_cycle_is_symmetric_and_positive(twice: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchies, "MANY_CELLS", 1)
    operator = random_operator((19, 20, 21), (False, True, False))
    hierarchy = Hierarchy(operator, operations, twice)
    assert any(level.total is not None for level in hierarchy.levels) == twice
    u, v = (noise(operator.shape, seed).astype(np.float32) for seed in (1, 2))

    def cycled(field: np.ndarray) -> np.ndarray:
        hierarchy.levels[0].b[:] = field
        return np.array(hierarchy.cycle(), np.float64)

    assert len(hierarchy.levels) > 1
    mu, mv = cycled(u), cycled(v)
    assert np.vdot(mu, v) == pytest.approx(np.vdot(u, mv), abs=1e-4)
    assert np.vdot(mu, u) > 0
