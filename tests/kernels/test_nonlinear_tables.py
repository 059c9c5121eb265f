"""Materials as tables: temperature, enthalpy and Kirchhoff's potential against integrals done otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from heatsim_kernels.enthalpy.lookup_tables import tabulate
from heatsim_kernels.enthalpy.material import EnthalpyMaterial
from nonlinear_cases import ALLOY, GLASS, PURE, REFERENCE, STEEL, tables


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
    rise = np.concatenate((np.linspace(-400, 1500, 5001), of.knots[1]))
    for material in range(len(of.capacity)):
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
    """A sharp edge within a segment would be cut off: here by up to 0.6 K of a table with segments of 3 K."""
    other = EnthalpyMaterial(np.array([300.0]), np.array([30.0]), np.array([3e6]), 7e8, 601.3, 601.3)
    narrow = EnthalpyMaterial(np.array([300.0]), np.array([30.0]), np.array([3e6]), 2e8, 700.0, 703.0)
    melting = (ALLOY, PURE, other, narrow)
    of = tabulate(melting, REFERENCE, (250.0, 1200.0), segments=500)
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
    np.testing.assert_allclose(slope, expected, rtol=3e-3)
    np.testing.assert_allclose(1 / of.resistivity(rise, 0), expected, rtol=1e-4)


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


@pytest.mark.parametrize(
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
