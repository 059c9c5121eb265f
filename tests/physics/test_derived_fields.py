"""Heat flux and temperature gradient against exact fields."""

from __future__ import annotations

import numpy as np
import pytest

from heatsim.base.grid import CellGrid
from heatsim.problem.media.derived_fields import Vector, gradient, heat_flux

EDGES = ((0.0, 0.1, 0.15, 0.4, 0.5), (-0.2, 0.0, 0.3), (1.0, 1.2, 1.25, 1.6))
UNEQUAL = CellGrid((3, 2, 4), (0.0, -0.2, 1.0), (0.125, 0.25, 0.2), EDGES)
EQUAL = CellGrid((3, 2, 4), (0.0, -0.2, 1.0), (0.125, 0.25, 0.2))


def lattice(grid: CellGrid) -> Vector:
    z, y, x = np.meshgrid(*(grid.centres(axis) for axis in "zyx"), indexing="ij")
    return x, y, z


@pytest.mark.parametrize("grid", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_a_linear_temperature_has_a_constant_flux_and_gradient(grid: CellGrid) -> None:
    x, y, z = lattice(grid)
    slopes, k = (30.0, -20.0, 5.0), (2.0, 0.5, 10.0)
    through = [(-k[i] * slopes[i], k[i] * slopes[i]) for i in range(3)]  # in at the lower face, out at the upper
    flux = heat_flux(grid, 300 + 30 * x - 20 * y + 5 * z, k, [q for pair in through for q in pair])
    for q, each, slope in zip(flux, k, slopes, strict=True):
        assert q == pytest.approx(np.full(grid.shape, -each * slope), rel=1e-9)
    for found, slope in zip(gradient(flux, k), slopes, strict=True):
        assert found == pytest.approx(np.full(grid.shape, slope), rel=1e-9)


def test_a_composite_wall_with_a_contact_has_one_flux_and_a_gradient_in_each_material() -> None:
    x, _, _ = lattice(UNEQUAL)
    k = np.array([1.0, 1.0, 4.0, 4.0])  # the border of the materials is the face at x = 0.15
    q, resistance = 100.0, 0.02
    temperature = np.where(x < 0.15, 400 - q * x / 1.0, 400 - q * (0.15 + resistance) - q * (x - 0.15) / 4.0)
    contact = np.array([0.0, resistance, 0.0, 0.0])
    flux = heat_flux(UNEQUAL, temperature, (k, k, k), (q, -q, 0, 0, 0, 0), contact=(contact, 0.0, 0.0))
    assert flux[0] == pytest.approx(np.full(UNEQUAL.shape, q), rel=1e-9)
    assert gradient(flux, (k, k, k))[0] == pytest.approx(np.broadcast_to(-q / k, UNEQUAL.shape), rel=1e-9)
    assert abs(flux[1]).max() == 0


def test_an_insulated_face_takes_half_of_the_flux_beside_it() -> None:
    grid = CellGrid((1, 1, 2), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    flux = heat_flux(grid, np.array([[[300.0, 310.0]]]), (1.0, 1.0, 1.0))
    assert flux[0].tolist() == [[[-5.0, -5.0]]]
    assert gradient(flux, (1.0, 1.0, 1.0))[0].tolist() == [[[5.0, 5.0]]]


def test_a_period_closes_the_ends() -> None:
    errors = []
    for n in (16, 32):
        grid = CellGrid((1, 1, n), (0.0, 0.0, 0.0), (1 / n, 1.0, 1.0))
        x, _, _ = lattice(grid)
        flux = heat_flux(grid, np.sin(2 * np.pi * x), (3.0, 3.0, 3.0), periodic=(True, False, False))
        errors.append(abs(flux[0] + 3.0 * 2 * np.pi * np.cos(2 * np.pi * x)).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_radial_conduction_loses_nothing_from_face_to_face() -> None:
    edges = (0.1, 0.12, 0.2, 0.25, 0.5)
    grid = CellGrid((2, 1, 4), (0.1, 0.0, 0.0), (0.1, 2 * np.pi, 0.3), (edges, None, None), "cylindrical")
    r, _, _ = lattice(grid)
    ends = 2.0 / np.array(edges)  # of T = -ln r, with k = 2
    flux = heat_flux(grid, -np.log(r), (2.0, 2.0, 2.0), (ends[0], -ends[-1], 0, 0, 0, 0))
    expected = np.broadcast_to(0.5 * (ends[:-1] + ends[1:]), grid.shape)
    assert flux[0] == pytest.approx(expected, rel=1e-12)
    assert abs(flux[1]).max() == 0


def test_a_contact_in_a_hollow_cylinder_counts_by_the_radius_of_its_face() -> None:
    """Heat of 50 W a metre and radian from r = 0.01 m through k = 20, a contact at 0.02 m, and k = 0.5 to 0.03 m."""
    grid = CellGrid((1, 1, 20), (0.01, 0.0, 0.0), (0.001, 2 * np.pi, 1.0), coordinates="cylindrical")
    r, _, _ = lattice(grid)
    heat, resistance, k = 50.0, 1e-3, np.where(r < 0.02, 20.0, 0.5)
    inner = -heat * np.log(r / 0.01) / 20.0
    beyond = -heat * (np.log(2.0) / 20.0 + resistance / 0.02 + np.log(r / 0.02) / 0.5)
    contact = np.where(np.arange(20) == 9, resistance, 0.0)
    ends = (heat / 0.01, -heat / 0.03, 0, 0, 0, 0)
    flux = heat_flux(grid, np.where(r < 0.02, inner, beyond), (k, k, k), ends, contact=(contact, 0.0, 0.0))
    faces = grid.faces("x")
    expected = np.broadcast_to(0.5 * heat * (1 / faces[:-1] + 1 / faces[1:]), grid.shape)
    assert flux[0] == pytest.approx(expected, rel=1e-10)
    assert gradient(flux, (k, k, k))[0] == pytest.approx(-expected / k, rel=1e-10)


def test_the_flux_on_the_axis_of_a_heated_wire_vanishes_in_the_right_proportion() -> None:
    grid = CellGrid((1, 1, 40), (0.0, 0.0, 0.0), (0.025, 2 * np.pi, 1.0), (None, None, None), "cylindrical")
    r, _, _ = lattice(grid)
    flux = heat_flux(grid, -(r**2), (1.0, 1.0, 1.0), (0.0, -2.0, 0, 0, 0, 0))
    assert flux[0] == pytest.approx(2 * r, rel=0.1)  # the exact resistance of an annulus is too large for a source
    assert flux[0][..., 8:] == pytest.approx(2 * r[..., 8:], rel=2e-3)


def test_what_does_not_conduct_has_neither_flux_nor_gradient() -> None:
    grid = CellGrid((1, 1, 3), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    k = np.array([0.0, 0.0, 1.0])
    flux = heat_flux(grid, np.array([[[300.0, 310.0, 330.0]]]), (k, k, k))
    assert flux[0].tolist() == [[[0.0, 0.0, 0.0]]]
    assert gradient(flux, (k, k, k))[0].tolist() == [[[0.0, 0.0, 0.0]]]
