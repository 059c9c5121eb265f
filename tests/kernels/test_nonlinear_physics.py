"""Materials that depend on temperature on the CPU: conservation, limits, and published solutions."""

from __future__ import annotations

from dataclasses import replace
from math import erf, erfc, exp, pi, sqrt
from typing import Any

import numpy as np
import pytest
from heatsim_kernels.explicit import STEPPERS
from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from heatsim_kernels.explicit.enthalpy.coefficients import (
    FIXED,
    NonlinearCoefficients,
    NonlinearForcing,
    boundary_values,
    equal_cells,
)
from heatsim_kernels.explicit.enthalpy.lookup_tables import EnthalpyTables, tabulate
from heatsim_kernels.explicit.enthalpy.material import EnthalpyMaterial
from heatsim_kernels.explicit.enthalpy.time_step_limit import stable_step
from heatsim_kernels.solver.linearised import linearised
from heatsim_kernels.solver.operator import Operator
from helpers.in_turn import in_turn
from nonlinear_cases import (
    CONTACT,
    GRADED,
    HELD,
    REFERENCE,
    SPACING,
    STEEL,
    STEP,
    NonlinearCase,
    advance,
    blocks,
    outcome,
    random_case,
    source_heat,
    tables,
    terms_of_zones,
)

ALONG_X = (False, False, True, True, True, True)


def cpu(coefficients: NonlinearCoefficients, dtype: type = np.float64) -> Any:
    return NONLINEAR_STEPPERS["cpu"](coefficients, np.dtype(dtype))


def rod(material: EnthalpyMaterial, length: float, n: int, reference: float) -> NonlinearCoefficients:
    return equal_cells(
        (1, 1, n), tabulate([material], reference), (length / n, 1.0, 1.0), closed=ALONG_X, boundary_per_cell=True
    )


@in_turn("options", [{"several": False}, {"follow": True}, {"periodic": (True, False, True)}])
def test_energy_is_kept_with_everything_on(options: dict[str, Any]) -> None:
    case = random_case((7, 9, 50), seed=3, **options)
    assert stable_step(case.coefficients, case.forcing) > STEP
    sweep = cpu(case.coefficients)
    sweep.field.put_state(case.start)
    before = sweep.field.stored()
    found = outcome(sweep, case, 50)
    gained = float(found.heat_entered.sum()) + source_heat(case, STEP, 50)
    assert float(found.stored) - before == pytest.approx(gained, abs=1e-12 * np.abs(found.heat_entered).sum())
    assert case.coefficients.ambient_faces is None or abs(found.heat_entered[6]) > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_temperature_stays_and_in_a_linear_material_to_the_bit(dtype: type) -> None:
    of = tables()
    zones = blocks(np.random.default_rng(1), (4, 5, 50), 4)
    zones[zones == HELD] = 0
    coefficients = terms_of_zones(zones, of, closed=(False,) * 6, boundary_per_cell=True)
    same = {"coefficient": 50.0, "ambient": 20.0, "emissivity": 0.8, "surroundings": 20.0}
    boundary = boundary_values(coefficients, x_min=same, z_max=same, y_min={"coefficient": FIXED, "ambient": 20.0})
    sweep = cpu(coefficients, dtype)
    sweep.field.put_state(of.state_of(np.full(zones.shape, 20.0), zones))
    advance(sweep, STEP, 20, NonlinearForcing(boundary))
    T = of.temperature(np.array(sweep.field.state(), float), zones)
    np.testing.assert_allclose(T, 20.0, rtol=0, atol=1e-11 if dtype is np.float64 else 2e-4)
    glass = tabulate([EnthalpyMaterial.constant(1.0, 1e6)], 0.0)
    uniform = equal_cells((3, 4, 9), glass, SPACING, closed=(False,) * 6, boundary_per_cell=True)
    sweep = cpu(uniform, dtype)
    sweep.field.put_state(np.full((3, 4, 9), 20.0))
    advance(sweep, STEP, 20, NonlinearForcing(boundary_values(uniform, x_min=same, z_max=same, y_min={})))
    assert np.array_equal(sweep.field.state(), np.full((3, 4, 9), 20.0, dtype))


def test_a_linear_material_does_what_the_linear_sweep_does() -> None:
    of = tabulate([EnthalpyMaterial.constant(30.0, 3e6)], 300.0)
    shape = (5, 6, 33)
    coefficients = equal_cells(
        shape,
        of,
        SPACING,
        closed=(False, False, True, True, False, True),
        periodic=(False, True, False),
        boundary_per_cell=True,
    )
    h, ambient, flux, spacing = 900.0, 40.0, 3e4, np.repeat(SPACING, 2)
    sides = {"coefficient": h, "ambient": ambient}
    boundary = boundary_values(
        coefficients, x_min={"coefficient": FIXED, "ambient": 7.0}, x_max=sides, z_min={"flux": flux}
    )
    linear = StencilCoefficients(
        shape, coefficients.rates, coefficients.capacity, periodic=coefficients.periodic, closed=coefficients.closed
    )
    share = h / (1 + h * spacing[1] / 2 / 30) * spacing[1] / 30
    a = np.array([-2.0, -share, 0, 0, 0, 0])
    b = np.array([2 * 7.0, share * ambient, 0, 0, flux * spacing[4] / 30, 0])
    start = np.random.default_rng(5).uniform(0, 100, shape)
    sweeps = cpu(coefficients), STEPPERS["cpu"](linear, np.dtype(float))
    for sweep in sweeps:
        sweep.field.put_state(start)
    advance(sweeps[0], 0.01, 40, NonlinearForcing(boundary))
    sweeps[1].advance(0.01, 40, Forcing(a[None], b[None]))
    np.testing.assert_allclose(sweeps[0].field.state(), sweeps[1].field.state(), rtol=0, atol=1e-10)
    np.testing.assert_allclose(sweeps[0].heat_entered(), sweeps[1].heat_entered(), rtol=1e-10, atol=1e-12)
    assert sweeps[0].field.stored() == pytest.approx(sweeps[1].field.stored(), rel=1e-12)


def applied(operator: Operator, T: np.ndarray) -> np.ndarray:
    """A T."""
    found = operator.s * T
    for g, axis in ((operator.gx, 2), (operator.gy, 1), (operator.gz, 0)):
        down = g * (T - np.roll(T, -1, axis))
        found += down - np.roll(down, 1, axis)
    return np.asarray(found)


def temperatures(case: NonlinearCase) -> np.ndarray:
    material = case.coefficients.spread_over_cells(case.coefficients.material) * np.ones(case.start.shape, int)
    return case.coefficients.tables.temperature(case.start, material)


@in_turn("options", [{"several": False}, {"follow": True}, {"periodic": (True, False, True)}])
def test_the_linearised_operator_brings_the_heat_that_a_step_brings(options: dict[str, Any]) -> None:
    case = random_case((5, 6, 50), seed=4, **options)
    operator, heat = linearised(case.coefficients, case.start, case.forcing)
    capacity = case.coefficients.spread_over_cells(case.coefficients.capacity) * np.ones(case.start.shape)
    dt = 1e-6
    sweep = cpu(case.coefficients)
    sweep.field.put_state(case.start)
    advance(sweep, dt, 1, case.forcing)
    expected = (np.array(sweep.field.state()) - case.start) * capacity / dt
    found = heat - applied(operator, temperatures(case))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert not found[capacity == 0].any()


def test_steps_at_the_limit_stay_between_the_walls_and_beyond_it_do_not() -> None:
    material = EnthalpyMaterial(np.array([200.0, 1000.0]), np.array([10.0, 50.0]), np.array([2e6, 2e6]))
    coefficients = rod(material, 0.02, 20, 500.0)
    forcing = NonlinearForcing(
        boundary_values(coefficients, x_min={"coefficient": FIXED, "ambient": 450.0}, x_max={"coefficient": FIXED})
    )
    limit = stable_step(coefficients, forcing)
    h, diffusivity = 1e-3, 50.0 / 2e6
    assert limit == pytest.approx(h**2 / (3 * diffusivity), rel=2e-2)
    fields = []
    for dt in (limit, 2.5 * limit):
        sweep = cpu(coefficients)
        sweep.field.put_state(np.zeros(coefficients.shape))
        advance(sweep, dt, 400, forcing)
        fields.append(coefficients.tables.temperature(sweep.field.state(), 0))
    assert fields[0].min() >= -1e-9
    assert fields[0].max() <= 450 + 1e-9
    assert not (fields[1].min() >= -1 and fields[1].max() <= 451)


def steady(
    coefficients: NonlinearCoefficients, forcing: NonlinearForcing, guess: float, iterations: int = 30
) -> np.ndarray:
    """The temperature offset in the steady state of a rod, by Picard's iterations."""
    of, n = coefficients.tables, coefficients.shape[2]
    material = coefficients.spread_over_cells(coefficients.material) * np.ones(coefficients.shape, int)
    T = np.full(coefficients.shape, guess)
    for _ in range(iterations):
        operator, heat = linearised(coefficients, of.state_of(T, material), forcing)
        g = operator.gx.ravel()[: n - 1]
        matrix = np.diag(operator.s.ravel()) - np.diag(g, 1) - np.diag(g, -1)
        matrix += np.diag(np.append(g, 0) + np.insert(g, 0, 0))
        T = np.linalg.solve(matrix, heat.ravel()).reshape(coefficients.shape)
    return T.ravel()


def test_kirchhoffs_problem_is_solved_to_second_order() -> None:
    """V5: k = 2 (1 + T/100), a source of 5 W/m3, x = 0 insulated, T(10 m) = 0: T(0) = 87.08286933869707."""
    exact, errors = 87.08286933869707, []
    for n in (10, 20, 40):
        coefficients = rod(EnthalpyMaterial(np.array([-50.0, 150.0]), np.array([1.0, 5.0]), np.ones(2)), 10.0, n, 0.0)
        boundary = boundary_values(coefficients, x_max={"coefficient": FIXED})
        T = steady(coefficients, NonlinearForcing(boundary, np.full((1, 1), 5.0)), 60.0)
        errors.append(T[0] + (T[0] - T[1]) / 8 - exact)  # the parabola through the axis of symmetry
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([2, 2], abs=0.1)
    assert abs(errors[-1]) < 0.02


def exact_flux(left: EnthalpyMaterial, right: EnthalpyMaterial, hot: float, cold: float, half: float) -> float:
    """W/m2 through two layers of thickness `half` and the contact between them, by Kirchhoff's transformation."""
    T = np.linspace(cold, hot, 100_001)
    of_left, of_right = (
        np.concatenate(([0.0], np.cumsum(0.5 * (k[1:] + k[:-1]) * np.diff(T))))
        for k in (np.interp(T, each.temperature, each.conductivity) for each in (left, right))
    )
    low, high = 0.0, float(of_left[-1] / half)
    for _ in range(100):
        q = (low + high) / 2
        below = np.interp(of_left[-1] - q * half, of_left, T) - q * CONTACT
        low, high = (q, high) if np.interp(below, T, of_right) > q * half else (low, q)
    return low


def test_the_heat_through_two_materials_and_their_contact_converges_to_second_order() -> None:
    hot, cold, length, errors = 450.0, 350.0, 0.04, []
    left, right = ({"coefficient": FIXED, "ambient": T} for T in (hot, cold - REFERENCE))
    steel = replace(STEEL, capacity=np.full(3, 4e6))  # whose potential is made of cubics without an error
    exact = exact_flux(steel, GRADED, REFERENCE + hot, cold, length / 2)
    of = tabulate([steel, GRADED], REFERENCE)
    for n in (8, 16, 32):
        zones = (np.arange(n) >= n // 2).astype(int).reshape(1, 1, n)
        coefficients = terms_of_zones(zones, of, (length / n, 1.0, 1.0), closed=ALONG_X, boundary_per_cell=True)
        forcing = NonlinearForcing(boundary_values(coefficients, x_min=left, x_max=right))
        T = steady(coefficients, forcing, 100.0)
        operator, heat = linearised(coefficients, of.state_of(T.reshape(zones.shape), zones), forcing)
        errors.append(float(heat[0, 0, 0] - operator.s[0, 0, 0] * T[0]) / exact - 1)
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders.min() > 1.9  # between cells of one material there is no error at all, so it is 2.5
    assert abs(errors[-1]) < 1e-4


def test_explicit_steps_end_in_the_steady_state_of_the_linearised_problem() -> None:
    material = EnthalpyMaterial(np.array([200.0, 1000.0]), np.array([10.0, 50.0]), np.array([1e5, 3e5]))
    coefficients = rod(material, 0.02, 12, 500.0)
    radiating = {"emissivity": 0.9, "surroundings": -200.0, "coefficient": 20.0, "ambient": -100.0, "flux": 1e3}
    forcing = NonlinearForcing(
        boundary_values(coefficients, x_min={"coefficient": FIXED, "ambient": 450.0}, x_max=radiating)
    )
    sweep = cpu(coefficients)
    sweep.field.put_state(np.zeros(coefficients.shape))
    advance(sweep, 0.9 * stable_step(coefficients, forcing), 8000, forcing)
    T = coefficients.tables.temperature(sweep.field.state(), 0).ravel()
    np.testing.assert_allclose(T, steady(coefficients, forcing, 200.0), atol=1e-7)


@pytest.mark.parametrize("n", [10, 40])
def test_a_radiating_rod_is_as_warm_as_nafems_says(n: int) -> None:
    """V4, NAFEMS T2: k = 55.563, emissivity 0.98, 1000 K at one end, 300 K around the other: 926.97 K there."""
    k, length, em = 55.563, 0.1, 0.98
    coefficients = rod(EnthalpyMaterial.constant(k, 1e6), length, n, 600.0)
    radiating = {"emissivity": em, "surroundings": -300.0}
    boundary = boundary_values(coefficients, x_min={"coefficient": FIXED, "ambient": 400.0}, x_max=radiating)
    T = steady(coefficients, NonlinearForcing(boundary), 300.0) + 600.0
    surface = T[-1] + (T[-1] - T[-2]) / 2
    assert surface == pytest.approx(926.97, abs=0.01)
    lost = em * 5.670374419e-8 * (surface**4 - 300.0**4)
    assert lost == pytest.approx(k * (1000 - surface) / length, rel=1e-9)


Phase = tuple[float, float]  # conductivity, heat capacity


def neumann(
    Tw: float, Tm: float, Ti: float, solid: tuple[float, float], liquid: tuple[float, float], L: float
) -> float:
    """lambda of Neumann's problem: the front is at 2 lambda sqrt(a_s t); Carslaw and Jaeger, section 11.2, eq. (18)."""
    (ks, cs), (kl, cl) = solid, liquid
    as_, al = ks / cs, kl / cl

    def residual(x: float) -> float:
        cold = exp(-x * x) / erf(x)
        hot = (
            kl * sqrt(as_) * (Ti - Tm) * exp(-as_ * x * x / al) / (ks * sqrt(al) * (Tm - Tw) * erfc(x * sqrt(as_ / al)))
        )
        return cold - hot - x * L * sqrt(pi) / (cs * (Tm - Tw))

    low, high = 1e-6, 5.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if residual(middle) > 0 else (low, middle)
    return low


def solidified(n: int) -> tuple[float, np.ndarray]:
    """Error of the front's place over the cell size at some times, in Neumann's solidification."""
    solid, liquid, L, length = (2.2, 1.9e6), (0.6, 4.2e6), 3e8, 0.1
    Tw, Tm, Ti = 253.0, 273.0, 283.0
    knots = np.array([200.0, Tm, Tm, 350.0])
    conductivity, capacity = (np.repeat([one, other], 2) for one, other in zip(solid, liquid, strict=True))
    material = EnthalpyMaterial(knots, conductivity, capacity, L, Tm, Tm)
    coefficients = rod(material, length, n, Tm)
    of: EnthalpyTables = coefficients.tables
    forcing = NonlinearForcing(boundary_values(coefficients, x_min={"coefficient": FIXED, "ambient": Tw - Tm}))
    sweep = cpu(coefficients)
    sweep.field.put_state(of.state_of(np.full(coefficients.shape, Ti - Tm), 0))
    dt, end = 0.9 * stable_step(coefficients, forcing), 2000.0
    steps = int(end / 10 / dt) + 1
    rate = neumann(Tw, Tm, Ti, solid, liquid, L)
    off, profile = [], np.empty(0)
    for k in range(10):
        advance(sweep, end / 10 / steps, steps, forcing)
        front = length / n * float((1 - of.melted_fraction(sweep.field.state(), 0)).sum())
        off.append(front - 2 * rate * sqrt(solid[0] / solid[1] * end / 10 * (k + 1)))
        profile = of.temperature(sweep.field.state(), 0).ravel()
    return float(np.max(np.abs(off))), profile


def test_a_melt_freezes_as_neumann_says() -> None:
    """Two phases that differ in k and C, an isothermal front: place of the front, at all times, and convergence."""
    coarse, _ = solidified(50)
    fine, _ = solidified(100)
    assert coarse < 0.6 * 0.1 / 50
    assert fine < 0.65 * coarse
