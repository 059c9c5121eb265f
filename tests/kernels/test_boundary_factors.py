"""Coefficients and emissivities that follow the temperature of the surface: balance, heat, limits, steady states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from heatsim_kernels.explicit.enthalpy.coefficients import (
    BoundaryFactors,
    NonlinearCoefficients,
    NonlinearForcing,
    boundary_values,
    equal_cells,
)
from heatsim_kernels.explicit.enthalpy.cpu.stepper import entering
from heatsim_kernels.explicit.enthalpy.lookup_tables import tabulate
from heatsim_kernels.explicit.enthalpy.material import EnthalpyMaterial
from heatsim_kernels.explicit.enthalpy.pieces import as_table, pieces_through
from heatsim_kernels.explicit.enthalpy.sampling import points_of_curves
from heatsim_kernels.explicit.enthalpy.surface_balance import STEFAN_BOLTZMANN
from heatsim_kernels.explicit.enthalpy.time_step_limit import stable_step
from heatsim_kernels.solver.linearised import linearised
from helpers.in_turn import in_turn
from nonlinear_cases import advance

Factor = Callable[[np.ndarray], np.ndarray]
REFERENCE = 300.0
CAPACITY = 1e4  # J/(m3 K)


def natural(rise: np.ndarray) -> np.ndarray:
    """Laminar free convection about the reference, over that at 1 K."""
    return np.asarray(np.abs(rise) ** 0.25)


def boiling(rise: np.ndarray) -> np.ndarray:
    """Nucleate boiling at the reference, over that at 1 K: the heat grows as the cube of the excess."""
    return np.asarray(np.abs(rise) ** 2)


def falling(rise: np.ndarray) -> np.ndarray:
    """One that falls as the surface warms, the heat still growing."""
    return np.asarray(1 / (1 + np.abs(rise) / 60))


def pieces_of(factor: Factor) -> np.ndarray:
    """The pieces of a factor between rises of -250 and 450 K."""

    def curve(rise: np.ndarray) -> np.ndarray:
        return np.broadcast_to(factor(rise), rise.shape)[None]

    rises = points_of_curves(curve, np.linspace(-250.0, 450.0, 501), narrowest=1e-6)
    return as_table([pieces_through(rises, curve(rises)[0])[0]])


def rod(cells: int, k: float, factor: Factor) -> NonlinearCoefficients:
    """A rod of 1 m and 1 m2, closed but at x_max, whose boundary face has the factor."""
    of = tabulate([EnthalpyMaterial.constant(k, CAPACITY)], REFERENCE, (REFERENCE - 250, REFERENCE + 450))
    closed = (True, False, True, True, True, True)
    coefficients = equal_cells((1, 1, cells), of, (1.0 / cells, 1.0, 1.0), closed=closed, boundary_per_cell=True)
    number = np.zeros(coefficients.boundary_size, np.uint32)
    number[coefficients.boundary_offsets[1] :] = 1
    return replace(coefficients, factors=BoundaryFactors(pieces_of(factor), number))


def root(residual: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function is 0, by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if residual(middle) < 0 else (low, middle)
    return low


@in_turn("rise", [300.0, 40.0, -80.0])
@in_turn("k", [3.0, 30.0, 3e3])
@in_turn("factor", [natural, boiling, falling])
def test_the_coefficient_is_that_at_the_surface_however_far_from_the_centre(
    factor: Factor, k: float, rise: float
) -> None:
    """h r from 3e-4 to 1.5e5; the table's error is that of straight lines over some hundredths of a kelvin."""
    coefficients = rod(1, k, factor)
    boundary = boundary_values(coefficients, x_max={"coefficient": 10.0})
    (found,) = entering(coefficients, 1, np.array([rise]), np.zeros(1, int), boundary)
    resistance, sign = 0.5 / k, np.sign(rise)

    def lost(surface: float) -> float:
        return 10.0 * float(factor(np.array(surface))) * surface

    surface = root(lambda x: x + resistance * lost(x) - abs(rise), 0.0, abs(rise))
    assert found == pytest.approx(-sign * lost(surface), rel=1e-4)


def leaping(rise: np.ndarray) -> np.ndarray:
    """The onset of boiling, 40 K above the reference: the coefficient grows 40 fold within some kelvin."""
    return np.asarray(1 + 20 * (1 + np.tanh((rise - 40) / 2)))


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.long), np.float64])
@in_turn("rise", [20.0, 39.0, 45.0, 90.0, 130.0, 430.0])
@in_turn("resistance", [1e-4, 1e-3, 1e-2, 1e-1])
def test_the_balance_of_a_coefficient_that_leaps_is_found(resistance: float, rise: float, dtype: type) -> None:
    """Newton's steps alone go to and fro between both sides of the leap."""
    coefficients = rod(1, 0.5 / resistance, leaping)
    sweep = NONLINEAR_STEPPERS["cpu"](coefficients, np.dtype(dtype))
    sweep.field.put_state(np.full(coefficients.shape, rise))
    advance(sweep, 1e-3, 1, NonlinearForcing(boundary_values(coefficients, x_max={"coefficient": 50.0})))
    found = sweep.heat_entered()[1] / 1e-3

    def lost(surface: float) -> float:
        return 50.0 * float(leaping(np.array(surface))) * surface

    surface = root(lambda x: x + resistance * lost(x) - rise, 0.0, rise)
    assert found == pytest.approx(-lost(surface), rel=2e-3 if dtype is np.float32 else 2e-4)


def test_an_emissivity_is_that_of_the_surface() -> None:
    coefficients = rod(1, 2.0, lambda rise: 0.2 + rise / 1000)
    boundary = boundary_values(coefficients, x_max={"emissivity": 1.0, "surroundings": -100.0})
    (found,) = entering(coefficients, 1, np.array([400.0]), np.zeros(1, int), boundary)

    def lost(x: float) -> float:
        return (0.2 + x / 1000) * STEFAN_BOLTZMANN * ((x + REFERENCE) ** 4 - (REFERENCE - 100) ** 4)

    surface = root(lambda x: x + 0.25 * lost(x) - 400.0, -100.0, 400.0)
    assert found == pytest.approx(-lost(surface), rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_factor_of_one_changes_no_bit(dtype: type) -> None:
    coefficients = rod(9, 5.0, np.ones_like)
    boundary = boundary_values(coefficients, x_max={"coefficient": 30.0, "ambient": -20.0, "flux": 40.0})
    fields = []
    for of in (coefficients, replace(coefficients, factors=None)):
        sweep = NONLINEAR_STEPPERS["cpu"](of, np.dtype(dtype))
        sweep.field.put_state(np.linspace(0, 90, 9).reshape(of.shape))
        advance(sweep, 0.5, 40, NonlinearForcing(boundary))
        fields.append(np.array(sweep.field.state()))
    assert np.array_equal(*fields)


def test_the_stable_step_counts_the_steepest_loss() -> None:
    """h = 2 + x/50 between rises of 0 and 100 to an ambient at -50: slope of the loss 4 + 3 = 7 W/(m2 K) at 100."""
    of = tabulate([EnthalpyMaterial.constant(1e9, CAPACITY)], REFERENCE, (REFERENCE, REFERENCE + 100))
    coefficients = equal_cells(
        (1, 1, 1), of, (0.5, 1.0, 1.0), closed=(True, False, True, True, True, True), boundary_per_cell=True
    )
    number = np.zeros(6, np.uint32)
    number[1] = 1
    coefficients = replace(coefficients, factors=BoundaryFactors(pieces_of(lambda rise: 1 + rise / 100), number))
    forcing = NonlinearForcing(boundary_values(coefficients, x_max={"coefficient": 2.0, "ambient": -50.0}))
    assert stable_step(coefficients, forcing) == pytest.approx(CAPACITY * 0.5 / 7.0, rel=1e-6)
    without = replace(coefficients, factors=None)
    assert stable_step(without, forcing) == pytest.approx(CAPACITY * 0.5 / 2.0, rel=1e-6)


@in_turn("factor", [natural, boiling, falling])
def test_the_linearised_steady_state_balances_flux_and_loss(factor: Factor) -> None:
    """A flux of 800 W/m2 leaves at x_max with h = 30 f: the surface by bisection, the rod straight behind it."""
    coefficients, k, flux = rod(7, 20.0, factor), 20.0, 800.0
    coefficients = replace(coefficients, closed=(False, *coefficients.closed[1:]))
    forcing = NonlinearForcing(boundary_values(coefficients, x_min={"flux": flux}, x_max={"coefficient": 30.0}))
    T = np.full(coefficients.shape, 30.0)
    for _ in range(40):
        operator, heat = linearised(coefficients, coefficients.tables.state_of(T, 0), forcing)
        g = operator.gx.ravel()[:-1]
        matrix = np.diag(operator.s.ravel() + np.append(g, 0) + np.insert(g, 0, 0)) - np.diag(g, 1) - np.diag(g, -1)
        T = np.linalg.solve(matrix, heat.ravel()).reshape(coefficients.shape)
    surface = root(lambda x: 30.0 * float(factor(np.array(x))) * x - flux, 0.0, 400.0)
    exact = surface + flux / k * (1 - (np.arange(7) + 0.5) / 7)
    np.testing.assert_allclose(T.ravel(), exact, rtol=3e-5)  # factors are right to 1e-5
