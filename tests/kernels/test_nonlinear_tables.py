"""Materials as tables: temperature, enthalpy and Kirchhoff's potential against integrals done otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from heatsim_kernels.explicit.enthalpy import lookup_tables
from heatsim_kernels.explicit.enthalpy.lookup_tables import tabulate
from heatsim_kernels.explicit.enthalpy.material import EnthalpyMaterial, curves, state_at
from heatsim_kernels.explicit.enthalpy.pieces import straight_pieces, value_at
from heatsim_kernels.explicit.enthalpy.sampling import points_of_curves
from helpers.in_turn import in_turn
from nonlinear_cases import ALLOY, GLASS, PURE, REFERENCE, STEEL, tables

from heatsim.problem.media.materials import TemperatureBounds, material_properties
from heatsim.scenario import loads
from heatsim.scenario.material_library import library


def enthalpy(material: EnthalpyMaterial, T: np.ndarray) -> Any:
    """H(T) by the trapezoid rule on a fine grid, and the latent heat."""
    fine = np.linspace(T.min(), T.max(), 200_001)
    C = np.interp(fine, material.temperature, material.capacity)
    H = np.concatenate(([0.0], np.cumsum(0.5 * (C[1:] + C[:-1]) * np.diff(fine))))
    sensible = np.interp(T, fine, H)
    if material.latent == 0:
        return sensible
    return sensible + material.latent * np.clip((T - material.solidus) / (material.liquidus - material.solidus), 0, 1)


@pytest.mark.parametrize("material", [STEEL, ALLOY])
def test_enthalpy_over_the_capacity_at_the_reference_is_the_state(material: EnthalpyMaterial) -> None:
    of = tabulate([material], REFERENCE)
    T = np.array([REFERENCE, 260.0, 300.0, 499.0, 505.0, 515.0, 600.0, 900.0, 1199.0])
    expected = (enthalpy(material, T) - enthalpy(material, T)[0]) / np.interp(
        REFERENCE, material.temperature, material.capacity
    )
    np.testing.assert_allclose(of.state_of(T - REFERENCE, 0), expected, atol=2e-3)


def test_temperature_and_state_are_inverse_to_rounding() -> None:
    of = tables()
    for material in range(len(of.capacity)):
        rise = np.concatenate((np.linspace(-400, 1500, 5001), of.curves[material].temperature - REFERENCE))
        back = of.temperature(of.state_of(rise, material), material)
        np.testing.assert_allclose(back, rise, rtol=0, atol=1e-9)


def test_temperature_stands_still_while_a_pure_material_melts() -> None:
    of = tabulate([PURE], REFERENCE)
    solid = of.state_of(np.array(50.0), 0)
    latent = PURE.latent / of.capacity[0]
    u = solid + latent * np.array([0.0, 0.25, 0.5, 1.0])
    np.testing.assert_allclose(of.temperature(u, 0), 50.0, atol=1e-9)
    np.testing.assert_allclose(of.melted_fraction(u, 0), [0, 0.25, 0.5, 1], atol=1e-9)
    assert of.temperature(u[-1] + 1.0, 0) > 50.9 * of.capacity[0] / 2e6
    assert of.melted_fraction(solid - 5, 0) == 0
    assert of.melted_fraction(u[-1] + 5, 0) == 1


def test_each_of_several_materials_melts_between_knots() -> None:
    other = EnthalpyMaterial(np.array([300.0]), np.array([30.0]), np.array([3e6]), 7e8, 601.3, 601.3)
    narrow = EnthalpyMaterial(np.array([300.0]), np.array([30.0]), np.array([3e6]), 2e8, 700.0, 703.0)
    melting = (ALLOY, PURE, other, narrow)
    of = tabulate(melting, REFERENCE, (250.0, 1200.0))
    for m, material in enumerate(melting):
        start, end = material.solidus - REFERENCE, material.liquidus - REFERENCE
        C = np.interp(material.solidus, material.temperature, material.capacity) / of.capacity[m]
        u = of.state_of(np.array(start), m)
        latent = material.latent / of.capacity[m]
        mush = latent + (end - start) * C
        np.testing.assert_allclose(of.temperature(u - 0.3, m), start - 0.3 / C, atol=1e-3)
        np.testing.assert_allclose(of.temperature(u + mush, m), end, atol=0.02)  # its capacity changes in the mush
        np.testing.assert_allclose(of.melted_fraction(u + np.array([0.0, 0.5, 1.0]) * mush, m), [0, 0.5, 1], atol=2e-3)


def test_the_slope_of_the_potential_over_temperature_is_the_conductivity() -> None:
    of = tabulate([STEEL], REFERENCE)
    rise = np.linspace(-120, 700, 83)
    u, ahead = of.state_of(rise - 1, 0), of.state_of(rise + 1, 0)
    slope = (of.potential(ahead, 0) - of.potential(u, 0)) / 2
    expected = np.interp(rise + REFERENCE, STEEL.temperature, STEEL.conductivity) / of.conductivity[0]
    np.testing.assert_allclose(slope, expected, rtol=3e-3)  # over 2 K, which a knot may part
    np.testing.assert_allclose(1 / of.resistivity(rise, 0), expected, rtol=1e-4)


T_COPPER = np.array([4, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300.0])  # K
K_COPPER = np.array([630, 940, 1240, 1540, 2100, 2430, 2300, 1500, 850, 560, 461, 418, 407, 396.0])
C_COPPER = 8960 * np.array([0.09, 0.23, 0.47, 0.88, 2.83, 7.3, 27, 60, 137, 203, 254, 313, 356, 386])


def cubic(T: np.ndarray) -> np.ndarray:
    """As of a crystal near absolute zero."""
    return np.asarray(50.0 * T**3)


def spike(T: np.ndarray) -> np.ndarray:
    """As of iron where it ceases to be a magnet."""
    return np.asarray(4e6 + 2e7 * np.exp(-np.abs(T - 1043.0) / 2.0))


def sampled(of: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> EnthalpyMaterial:
    T = points_of_curves(lambda T: np.stack((of(T), of(T))), np.linspace(low, high, 1001))
    return EnthalpyMaterial(T, of(T), of(T))


CURVES = {
    "copper, 4 to 300 K": EnthalpyMaterial(T_COPPER, K_COPPER, C_COPPER),
    "T cubed": sampled(cubic, 0.02, 4000.0),
    "spike": sampled(spike, 300.0, 2000.0),
    "a leap": EnthalpyMaterial(
        np.array([300.0, 500, 500, 900]), np.array([9.0, 9, 2, 2]), np.array([1e6, 1e6, 4e6, 4e6])
    ),
    "far apart": EnthalpyMaterial(np.array([1.0, 3000.0]), np.array([1e-3, 300.0]), np.array([10.0, 4e6])),
}


@in_turn("material", CURVES.values(), ids=CURVES)
def test_tables_keep_to_their_bound_over_decades(material: EnthalpyMaterial) -> None:
    """Heat capacity and conductivity within 1e-4 of the curves, temperatures within 1e-5."""
    require_exact(material, max(float(material.temperature[0]), 0.1))


@in_turn("name", sorted(library()))
def test_materials_of_the_library_keep_to_the_bound(name: str) -> None:
    scenario = loads(f"""
        grid = {{ cells = [2, 1, 1], size = [1.0, 1.0, 1.0] }}
        time = {{ end = 1.0 }}
        regions = [{{ material = "{name}" }}]
        initial = {{ temperature = 300.0 }}
    """)
    bounds = TemperatureBounds((300.0, 300.0), (0.0, 4000.0), (0.0, 4000.0), 4000.0)
    require_exact(material_properties(scenario, name, bounds).material, 300.0)


def require_exact(material: EnthalpyMaterial, reference: float) -> None:
    """The tables of a material against its exact curves over their whole range."""
    of, exact = tabulate([material], reference), curves(material)
    assert of.error[0] <= 1e-4
    if material.is_linear:
        return
    ends = exact.enthalpy
    H = np.unique(np.concatenate([ends[:-1] + share * np.diff(ends) for share in np.linspace(0.01, 0.99, 23)]))
    at, u = state_at(exact, H), (H - of.origins[0]) / of.capacity[0]
    np.testing.assert_allclose(of.temperature(u, 0) + reference, at.temperature, rtol=1e-5)
    C = np.interp(at.temperature, exact.temperature, exact.capacity)
    if material.liquidus > material.solidus:
        C += material.latent / (material.liquidus - material.solidus) * ((at.melted > 0) & (at.melted < 1))
    melts = (at.melted > 0) & (at.melted < 1) & (material.liquidus == material.solidus)
    slope = np.where(melts, 0.0, of.capacity[0] / C)
    np.testing.assert_allclose(of.slope(u, 0), slope, rtol=1e-4)
    potential = slope * at.conductivity / of.conductivity[0]
    np.testing.assert_allclose(value_at(of.potentials, u, 0, slope=True), potential, rtol=1e-4)
    k = of.conductivity[0] / of.resistivity(at.temperature[~melts] - reference, 0)
    np.testing.assert_allclose(k, at.conductivity[~melts], rtol=1e-4)


def test_a_constant_material_is_the_identity_to_the_bit() -> None:
    of = tables()
    u = np.random.default_rng(0).uniform(-500, 2000, 100)
    row = 3
    assert np.array_equal(of.potential(u, row), u)
    assert np.array_equal(of.temperature(u, row), u)
    assert np.array_equal(of.resistivity(u, row), np.ones(100))
    assert GLASS.is_linear


def test_functions_of_temperature_are_sampled() -> None:
    material = EnthalpyMaterial.sampled(lambda T: 2 + 0.01 * T, lambda T: 1e6 + 0 * T, 0.0, 100.0)
    of = tabulate([material], 0.0)
    u = np.linspace(0, 100, 7)
    np.testing.assert_allclose(of.potential(u, 0), (2 * u + 0.005 * u**2) / 2, atol=1e-3)


@in_turn(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [1.0, -1.0], [1.0, 1.0]), "conductivity must be positive"),
        (([0.0, 1.0], [1.0, 1.0], [1.0, 0.0]), "heat capacity must be positive"),
        (([1.0, 0.0], [1.0, 1.0], [1.0, 1.0]), "must increase"),
        (([0.0], [1.0], [1.0], 1.0, 5.0, 4.0), "liquidus below the solidus"),
        (([0.0, 1.0], [1.0], [1.0, 1.0]), "same length"),
    ],
)
def test_a_material_that_cannot_be_is_refused(arguments: tuple[list[float], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EnthalpyMaterial(*(np.array(each) if isinstance(each, list) else each for each in arguments))  # type: ignore[arg-type]


def test_properties_over_hundreds_of_powers_of_ten_take_few_states(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    monkeypatch.setattr(
        lookup_tables, "fit_pieces", lambda x, y, **_: counts.append(len(x)) or (straight_pieces(), 0.0)
    )
    T, even = np.array([0.0, 100.0]), np.ones(2)
    tabulate([EnthalpyMaterial(T, np.array([1.0, 1e200]), even)], 0.0)
    assert 0 < max(counts) < 3 * lookup_tables.MANY_STATES
    counts.clear()
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="too large"):  # at once, not after seconds of fits
        tabulate([EnthalpyMaterial(T, np.array([1.0, 1e308]), even)], 0.0)
    assert counts == []
