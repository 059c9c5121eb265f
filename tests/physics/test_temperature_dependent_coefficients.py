"""Convection and emissivities as expressions in the temperature of the surface, against exact solutions."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tomli_w
from helpers import in_memory
from helpers.in_memory import Run, case, observed_order
from helpers.in_turn import in_turn
from helpers.scenario_texts import box, convection, fixed, flux, material

KELVIN = 273.15
SIGMA = 5.670374419e-8
AMBIENT = 20.0


def steady(text: str, tolerance: float = 1e-9) -> str:
    document = tomllib.loads(text)
    document["time"] = {"end": 1.0, "integrator": "steady", "tolerance": tolerance}
    return tomli_w.dumps(document)


def root(residual: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function is 0, by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if residual(middle) < 0 else (low, middle)
    return low


@pytest.mark.parametrize(("law", "c", "n"), [("1.5*(T - 20)**0.25", 1.5, 0.25), ("0.002*(T - 20)**2", 0.002, 2.0)])
def test_a_lump_cools_with_a_power_of_its_excess(law: str, c: float, n: float, run: Run) -> None:
    """C V dX/dt = -A c X**(1 + n), X = T - 20: by separation X = X0 (1 + n K X0**n t)**(-1/n), K = A c/(C V).

    Incropera and DeWitt, Fundamentals of Heat and Mass Transfer, section 5.3: lumped, with h = c X**n.
    """
    end, capacity = 300.0, 2e4
    text = case([1, 1, 1], end, materials={"lump": material(1e6, 1.0, capacity)}, initial=100.0, step=0.25)
    document = tomllib.loads(text) | {"boundary": {"default": convection(law, AMBIENT)}}
    done = run(tomli_w.dumps(document))
    rate = 6 * c / capacity
    exact = 80.0 * (1 + n * rate * 80.0**n * end) ** (-1 / n)
    assert exact < 60.0
    assert float(done.temperature[0, 0, 0]) - AMBIENT == pytest.approx(exact, rel=1e-3)
    assert abs(done.energy.relative_residual) < 1e-12


@pytest.mark.parametrize("cells", [1, 4])
def test_the_coefficient_is_that_of_the_surface_however_thick_the_cells(cells: int) -> None:
    """A slab held at 100 and cooled by h(T): q = k (100 - Ts)/L = h(Ts) (Ts - 20), Ts by bisection."""

    def lost(surface: float) -> float:
        return 0.05 * (surface - AMBIENT) ** 2

    surface = root(lambda x: lost(x) - (100.0 - x), AMBIENT, 100.0)
    faces = {"x_min": fixed(100.0), "x_max": convection("0.05*(T - 20)", AMBIENT)}
    done = in_memory.run(steady(case([cells, 1, 1], 1.0, initial=100.0, boundary=faces)))
    assert done.energy.faces["x_min"] == pytest.approx(lost(surface), rel=1e-7)
    assert done.energy.faces["x_max"] == pytest.approx(-done.energy.faces["x_min"], rel=1e-9)
    exact = 100.0 - (100.0 - surface) * (np.arange(cells) + 0.5) / cells
    np.testing.assert_allclose(done.temperature.ravel(), exact, atol=1e-5)


def test_conductivity_and_coefficient_that_both_follow_temperature_converge_to_second_order() -> None:
    """k = 1 + (T/50)**2, by Kirchhoff's transformation: the integral of k from Ts to 100 is q = h(Ts) (Ts - 20)."""

    def lost(surface: float) -> float:
        return 3.0 * (surface - AMBIENT) ** 1.25

    def potential(T: float) -> float:
        return T + T**3 / 7500.0

    surface = root(lambda x: lost(x) - (potential(100.0) - potential(x)), AMBIENT, 100.0)
    faces = {"x_min": fixed(100.0), "x_max": convection("3*abs(T - 20)**0.25", AMBIENT)}
    wall = {"wall": {"conductivity": "1 + (T/50)**2", "density": 1.0, "heat_capacity": 1.0}}
    counts, errors = (4, 8, 16), []
    for n in counts:
        done = in_memory.run(steady(case([n, 1, 1], 1.0, materials=wall, boundary=faces)))
        errors.append(abs(done.energy.faces["x_min"] / lost(surface) - 1))
    assert errors[-1] < 2e-4
    assert observed_order([1 / n for n in counts], errors) > 1.8


def test_a_heated_body_finds_the_temperature_at_which_it_sheds_its_heat() -> None:
    """From the ambient's own temperature, where free convection begins with a coefficient of 0."""
    faces = {"x_min": flux(100.0), "x_max": convection("1.32*abs((T - 20)/0.1)**0.25", AMBIENT)}
    done = in_memory.run(steady(case([4, 2, 1], 1.0, initial=AMBIENT, boundary=faces)))
    excess = (100.0 / 1.32 * 0.1**0.25) ** 0.8
    exact = AMBIENT + excess + 100.0 * (1 - done.points()[0])
    np.testing.assert_allclose(done.temperature, np.broadcast_to(exact, done.temperature.shape), rtol=1e-4)
    assert abs(done.energy.relative_residual) < 1e-9


def test_a_body_that_radiates_by_its_temperature_is_as_warm_as_its_heat_demands() -> None:
    """q = a sigma T**5 with the emissivity a T, into surroundings at 0 K."""
    face = {"kind": "radiation", "emissivity": "min(5e-4*(T + 273.15), 1)", "ambient": -KELVIN}
    wall = {"wall": {"conductivity": 40.0, "density": 1.0, "heat_capacity": 1.0}}
    faces = {"x_min": flux(5000.0), "x_max": face}
    done = in_memory.run(steady(case([6, 1, 1], 1.0, materials=wall, initial=400.0, boundary=faces)))
    exact = (5000.0 / (5e-4 * SIGMA)) ** 0.2 - KELVIN + 5000.0 / 40.0 * (1 - done.points()[0])
    np.testing.assert_allclose(done.temperature, exact, atol=1e-3)


@in_turn("ambient", [-50.0, "-50 + 150*t", "100 - 150*t"])
def test_the_stable_step_counts_the_steepest_loss_at_all_times(ambient: float | str) -> None:
    """h = 2 + T/50 up to 100 and an ambient of -50 at times: slope of the loss 4 + 3 = 7 W/(m2 K)."""
    text = case(
        [1, 1, 1],
        1.0,
        materials={"lump": material(1e9, 1.0, 1e4)},
        initial=100.0,
        boundary={"x_max": convection("2 + T/50", ambient)},
    )
    assert in_memory.problem_of(text).stability_limit == pytest.approx(1e4 / 7.0, rel=1e-3)


@in_turn("ambient", [20.1, 25.3, 36.7, -17.9, 0.7])
def test_a_power_of_the_excess_has_a_value_at_the_ambient_itself(ambient: float) -> None:
    face = convection(f"2*(T - ({ambient}))**0.25", ambient)
    problem = in_memory.problem_of(case([2, 1, 1], 1.0, initial=83.3, boundary={"x_max": face}))
    assert np.isfinite(problem.stability_limit)


def test_boiling_with_a_crisis_stays_between_the_ambient_and_the_body(run: Run) -> None:
    """Nukiyama's curve: the coefficient rises to a peak and collapses; energy is kept and nothing overshoots."""
    law = "20*max(T - 100, 0)**2 * exp(-((T - 100)/30)**2) + 150"
    text = case(
        [12, 4, 2],
        10.0,
        size=(0.012, 0.004, 0.002),
        materials={"steel": material(20.0, 7800.0, 500.0)},
        initial=320.0,
        boundary={"x_max": convection(law, 100.0), "y_min": convection("1500 + 4000*(T < 300)", 100.0)},
    )
    done = run(text)
    assert 100.0 <= done.temperature.min() < 120.0
    assert done.temperature.max() <= 320.0
    assert abs(done.energy.relative_residual) < 1e-9


def test_places_and_times_multiply_what_follows_temperature(run: Run) -> None:
    """Cells that do not feel each other, each under its own (1 + x) (1 + t) c X**0.25."""
    end, capacity = 20.0, 2e6
    thin = {"film": {"conductivity": [1e-12, 1.0, 100.0], "density": 1.0, "heat_capacity": capacity}}
    law = "(1 + x)*2*(T - 20)**0.25*(1 + t)"
    faces = {"z_max": convection(law, AMBIENT)}
    done = run(case([4, 1, 1], end, materials=thin, size=(1.0, 1.0, 1e-3), initial=100.0, boundary=faces))
    rate = 2 * (1 + done.points()[0]) * (end + end**2 / 2) / (capacity * 1e-3)
    exact = 80.0 * (1 + 0.25 * rate * 80.0**0.25) ** -4
    np.testing.assert_allclose(done.temperature - AMBIENT, exact, rtol=2e-3)


def test_an_emissivity_follows_the_surface(run: Run) -> None:
    """e = a T with T in kelvin: C V dT/dt = -A a sigma T**5 towards 0 K, so T**-4 grows as 4 A a sigma t/(C V)."""
    start = 700.0 + KELVIN
    text = case(
        [1, 1, 1],
        100.0,
        materials={"hot": material(1e6, 10.0, 30.0)},
        initial=700.0,
        boundary={"x_max": {"kind": "radiation", "emissivity": "5e-4*(T + 273.15)", "ambient": -KELVIN}},
        step=0.01,
    )
    done = run(text)
    exact = (start**-4 + 4 * 5e-4 * SIGMA * 100.0 / 300.0) ** -0.25 - KELVIN
    assert float(done.temperature[0, 0, 0]) == pytest.approx(exact, abs=0.1)


def test_patches_have_laws_of_their_own_and_the_ledger_closes() -> None:
    top: dict[str, Any] = convection("2*abs(T - 20)**0.25", AMBIENT)
    top["patches"] = [{"where": "x < 0.3", **convection("30*(1 + 0.01*T)", 40.0)}, {"where": "y > 0.6", **fixed(50.0)}]
    glass = {"conductivity": 0.5, "density": 2.0, "heat_capacity": "1 + 0.001*T"}
    text = case(
        [10, 8, 6],
        0.5,
        materials={"wall": {"conductivity": "1 + T/50", "density": 1.0, "heat_capacity": 1.0}, "glass": glass},
        regions=[{"material": "glass", **box([0.5, 0.0, 0.0], [1.0, 1.0, 0.5])}],
        initial="60 + 40*x*y",
        boundary={"z_max": top, "x_max": convection("(3 + sin(9*t))*(1 + T/100)", "20 + 30*y"), "y_min": flux(20.0)},
        sources=[{"power": 30.0}],
    )
    done = in_memory.run(text)
    assert abs(done.energy.relative_residual) < 1e-12
    assert done.energy.faces["z_max"] < 0


def test_the_flux_field_at_a_face_is_the_heat_that_passes_it() -> None:
    faces = {"x_min": fixed(100.0), "x_max": convection("3*abs(T - 20)**0.25", AMBIENT)}
    done = in_memory.run(steady(case([5, 2, 1], 1.0, boundary=faces)))
    heat, _ = done.problem.flux_and_gradient(done.temperature - done.problem.reference, np.inf)
    np.testing.assert_allclose(heat[0], done.energy.faces["x_min"], rtol=1e-7)
