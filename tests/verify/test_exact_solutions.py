"""The exact solutions satisfy their equations, and agree with numbers found in another way."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from helpers.in_turn import in_turn
from scipy.integrate import quad, solve_bvp
from scipy.special import erfc as scipy_erfc

from heatsim.studies.verification import exact
from heatsim.studies.verification.exact import MaterialPhase, Solidification
from heatsim.studies.verification.problems import WATER, composite

In1D = Callable[[np.ndarray, float], np.ndarray]

TRANSIENTS: dict[str, tuple[In1D, float, float]] = {  # T(x, t), its diffusivity, its source in K/s
    "mode": (lambda x, t: _mode(x) * exact.decay(2.0, exact.slab_mode(1.0, 3.0, 0.5), t), 2.0, 0.0),
    "gaussian": (lambda x, t: exact.spreading_gaussian(x, t, 0.3, 2.0), 2.0, 0.0),
    "step": (lambda x, t: exact.half_space_fixed_surface(x, t, 2.0), 2.0, 0.0),
    "flux": (lambda x, t: exact.half_space_flux(x, t, 2.0, 5.0, 7.0), 2.0, 0.0),
    "convection": (lambda x, t: exact.half_space_convection(x, t, 2.0, 3.0), 2.0, 0.0),
    "heated slab": (lambda x, t: exact.heated_slab(x, t, 1.0, 2.0, 4.0, 3.0), 0.5, 0.75),
    "sine at the end": (lambda x, t: exact.slab_sinusoidal_face(x, t, 1.0, 0.5, 2.0), 0.5, 0.0),
    "solid of the Stefan problem": (lambda x, t: WATER.temperature(x * 1e-2, t * 3600), 2.2 / 2e6 * 3600 * 1e4, 0.0),
}


def _mode(x: np.ndarray) -> np.ndarray:
    return exact.slab_mode(1.0, 3.0, 0.5)(x)


@in_turn(("solution", "diffusivity", "source"), TRANSIENTS.values(), ids=TRANSIENTS)
def test_a_transient_satisfies_the_heat_equation(solution: In1D, diffusivity: float, source: float) -> None:
    x, t, h, dt = np.linspace(0.2, 0.8, 7), 0.6, 2e-3, 1e-4
    rate = (solution(x, t + dt) - solution(x, t - dt)) / (2 * dt)
    bend = (solution(x + h, t) - 2 * solution(x, t) + solution(x - h, t)) / h**2
    assert np.abs(rate).max() > 1e-3
    np.testing.assert_allclose(rate, diffusivity * bend + source, atol=1e-3 * np.abs(rate).max())


@in_turn("faces", [(3.0, 0.5), (0.0, 2.0), (math.inf, 4.0), (math.inf, math.inf), (0.0, math.inf)])
@in_turn("number", [1, 2, 5])
def test_a_mode_meets_both_faces_and_has_its_number_of_zeros(faces: tuple[float, float], number: int) -> None:
    mode = exact.slab_mode(0.7, *faces, number)
    for face, place, inward in ((faces[0], 0.0, 1.0), (faces[1], 0.7, -1.0)):
        value = float(mode(np.array(place)))
        slope = inward * -mode.wavenumber * math.sin(mode.wavenumber * place - mode.phase)
        if math.isinf(face):
            assert value == pytest.approx(0.0, abs=1e-9)
        else:
            assert slope == pytest.approx(face * value, abs=1e-9 * mode.wavenumber)
    inside = mode(np.linspace(1e-6, 0.7 - 1e-6, 2000))
    assert np.count_nonzero(np.diff(np.sign(inside))) == number - 1


def test_the_first_eigenvalue_is_that_of_the_table_in_textbooks() -> None:
    # zeta tan zeta = Bi, Incropera and DeWitt, table 5.1
    assert exact.slab_mode(1.0, 0.0, 1.0).wavenumber == pytest.approx(0.8603, abs=5e-5)
    assert exact.slab_mode(1.0, 0.0, 0.1).wavenumber == pytest.approx(0.3111, abs=5e-5)
    assert exact.slab_mode(1.0, 0.0, 10.0).wavenumber == pytest.approx(1.4289, abs=5e-5)


def test_the_semi_infinite_solid_is_the_integral_over_its_point_sources() -> None:
    """Flux: instantaneous plane sources 2 q/(rho c) exp(-x^2/(4 a s))/sqrt(4 pi a s) summed over time."""
    a, k, q, t, x = 2.0, 5.0, 7.0, 0.6, 0.3

    def plane(s: float) -> float:
        return float(2 * q * a / k * math.exp(-(x**2) / (4 * a * s)) / math.sqrt(4 * math.pi * a * s))

    expected, _ = quad(plane, 0, t, points=[0.01, 0.1])
    assert float(exact.half_space_flux(np.array(x), t, a, k, q)) == pytest.approx(expected, rel=1e-7)


def test_convection_at_the_surface_balances_conduction() -> None:
    ratio, h = 3.0, 1e-5
    surface, below = exact.half_space_convection(np.array([0.0, h]), 0.6, 2.0, ratio)
    assert (below - surface) / h == pytest.approx(-ratio * (1.0 - surface), rel=1e-4)


def test_erfc_is_accurate_where_it_is_small() -> None:
    u = np.linspace(-2.0, 8.0, 41)
    np.testing.assert_allclose(exact.erfc(u), scipy_erfc(u), rtol=1e-12)


def test_a_root_is_found_to_the_last_bits_or_refused() -> None:
    assert exact.bisect(lambda u: u**3 - 2.0, 0.0, 2.0) == pytest.approx(2.0 ** (1 / 3), rel=1e-15)
    with pytest.raises(ValueError, match="no root"):
        exact.bisect(lambda u: u + 1.0, 0.0, 2.0)


@in_turn(("sides", "far"), [((math.inf, 0.0), math.inf), ((0.0, 14.0), 14.0), ((2.0, 3.0), 0.0)])
def test_a_rectangle_heated_along_one_side_satisfies_laplace_and_its_faces(
    sides: tuple[float, float], far: float
) -> None:
    size, h = (0.6, 1.0), 1e-3

    def at(x: float, y: float) -> float:
        return float(exact.rectangle_heated_side(np.array([x]), np.array([y]), size, sides, far)[0])

    for x, y in ((0.1, 0.2), (0.5, 0.6), (0.3, 0.9)):
        bend = at(x + h, y) + at(x - h, y) + at(x, y + h) + at(x, y - h) - 4 * at(x, y)
        assert bend / h**2 == pytest.approx(0.0, abs=1e-3)
    assert at(0.3, 1e-3) == pytest.approx(1.0, abs=0.01)
    for face, here, inside in ((sides[0], (0.0, 0.4), (h, 0.4)), (sides[1], (0.6, 0.4), (0.6 - h, 0.4))):
        _assert_face(face, at(*here), at(*inside), h)
    _assert_face(far, at(0.3, 1.0), at(0.3, 1.0 - h), h)


def _assert_face(ratio: float, surface: float, inside: float, h: float) -> None:
    if math.isinf(ratio):
        assert surface == pytest.approx(0.0, abs=1e-9)
    else:
        assert (inside - surface) / h == pytest.approx(ratio * surface, rel=0.02, abs=5e-3)


def test_the_stefan_front_frees_as_much_heat_as_is_led_away() -> None:
    t, h, dt = 3600.0, 1e-6, 1.0
    front = WATER.front(t)
    speed = (WATER.front(t + dt) - WATER.front(t - dt)) / (2 * dt)
    solid, liquid = WATER.temperature(np.array([front - h, front + h]), t)
    away, brought = 2.2 * (0.0 - solid) / h, 0.6 * (liquid - 0.0) / h
    assert away - brought == pytest.approx(3.34e8 * speed, rel=1e-3)
    deep = WATER.temperature(np.array([0.0, 1.0]), t)
    np.testing.assert_allclose(deep, [-10.0, 5.0], atol=1e-9)


def test_the_stefan_number_without_superheat_is_the_textbook_root() -> None:
    """sqrt(pi) lambda exp(lambda^2) erf(lambda) = St, with all of the liquid at the melting point."""
    stefan = 0.5
    number = Solidification(MaterialPhase(1.0, 1.0), MaterialPhase(1.0, 1.0), -stefan, 0.0, 0.0, 1.0).front_number()
    assert math.sqrt(math.pi) * number * math.exp(number**2) * math.erf(number) == pytest.approx(stefan, rel=1e-9)


def test_rosenthal_is_the_limit_of_point_sources_along_the_path() -> None:
    """C&J 10.7: the integral over all past time of 2 P/(rho c (4 pi a s)^1.5) exp(-R^2/(4 a s))."""
    power, speed, k, a = 100.0, 0.01, 30.0, 8e-6
    for ahead, aside in ((-0.003, 0.0), (0.0, 0.002), (0.0005, 0.001)):

        def past(s: float, ahead: float = ahead, aside: float = aside) -> float:
            squared = (ahead + speed * s) ** 2 + aside**2
            return float(2 * power * a / k / (4 * math.pi * a * s) ** 1.5 * math.exp(-squared / (4 * a * s)))

        expected = sum(quad(past, low, high)[0] for low, high in pairwise([1e-9, 0.01, 0.1, 0.3, 1.0, 5.0, 60.0]))
        found = exact.rosenthal(np.array(ahead), np.array(aside), power, speed, k, a)
        assert float(found) == pytest.approx(expected, rel=1e-6)


def test_a_composite_wall_drops_by_flux_times_resistance_at_each_contact() -> None:
    layers, contacts = ((0.1, 0.7), (0.1, 0.04), (0.1, 1.5)), (0.05, 0.1)
    heat = exact.layered_wall_flux(layers, contacts, 30.0)
    assert heat == pytest.approx(30.0 / (0.1 / 0.7 + 2.5 + 0.1 / 1.5 + 0.15))
    e = 1e-9
    x = np.array([0.0, 0.1 - e, 0.1, 0.2 - e, 0.2, 0.3 - e])
    t = exact.layered_wall(x, layers, contacts, (20.0, -10.0))
    assert t[0] == 20.0
    assert t[-1] == pytest.approx(-10.0, abs=1e-6)
    assert t[1] - t[2] == pytest.approx(heat * 0.05, rel=1e-6)
    assert t[3] - t[4] == pytest.approx(heat * 0.1, rel=1e-6)


def test_cylinders_and_spheres_carry_the_same_heat_through_every_shell() -> None:
    radii, ends, r, h = (0.05, 0.2), (100.0, 20.0), np.array([0.06, 0.1, 0.18]), 1e-6
    slope = (exact.concentric_cylinders(r + h, radii, ends) - exact.concentric_cylinders(r - h, radii, ends)) / (2 * h)
    np.testing.assert_allclose(
        -50 * 2 * np.pi * r * slope, exact.concentric_cylinders_heat(1.0, 50.0, radii, 80.0), rtol=1e-6
    )
    slope = (exact.concentric_spheres(r + h, radii, ends) - exact.concentric_spheres(r - h, radii, ends)) / (2 * h)
    np.testing.assert_allclose(r**2 * slope, r[0] ** 2 * slope[0], rtol=1e-6)
    for solution in (exact.concentric_cylinders, exact.concentric_spheres):
        np.testing.assert_allclose(solution(np.array(radii), radii, ends), ends)


def test_a_heated_cylinder_gives_off_what_it_is_heated_by() -> None:
    surface = float(exact.heated_cylinder(np.array(0.01), 0.01, 0.5, 1e6, 50.0))
    assert 50.0 * surface * 2 * math.pi * 0.01 == pytest.approx(1e6 * math.pi * 0.01**2)


def test_a_fin_is_the_solution_of_its_boundary_value_problem() -> None:
    m, length = 15.0, 0.1

    def slope(x: np.ndarray, state: np.ndarray) -> np.ndarray:
        return np.vstack([state[1], m**2 * state[0]])

    def ends(foot: np.ndarray, tip: np.ndarray) -> np.ndarray:
        return np.array([foot[0] - 1.0, tip[1]])

    x = np.linspace(0.0, length, 21)
    found = solve_bvp(slope, ends, x, np.ones((2, 21)), tol=1e-8)
    np.testing.assert_allclose(exact.fin(x, length, m), found.sol(x)[0], atol=1e-6)


def test_nonlinear_conductivity_gives_the_published_value_and_its_equation() -> None:
    x, h = np.linspace(1.0, 9.0, 9), 1e-4

    def t(at: np.ndarray) -> np.ndarray:
        return exact.heated_wall_of_varying_conductivity(at, 10.0, 2.0, 0.01, 5.0)

    def carried(at: np.ndarray) -> np.ndarray:
        return np.asarray(2.0 * (1 + 0.01 * t(at)) * (t(at + h) - t(at - h)) / (2 * h))

    assert float(t(np.array(0.0))) == pytest.approx(87.08286933869707, rel=1e-14)
    np.testing.assert_allclose(-carried(x), 5.0 * x, rtol=1e-6)  # what was released between 0 and x


def test_nafems_values() -> None:
    assert exact.radiating_end(0.1, 55.563, 0.98, 1000.0, 300.0) == pytest.approx(926.97, abs=0.005)
    t3 = exact.slab_sinusoidal_face(np.array(0.08), 32.0, 0.1, 35.0 / (7200.0 * 440.5), math.pi / 40)
    assert 100.0 * float(t3) == pytest.approx(36.6031, abs=5e-5)


def test_lumps_follow_their_rates() -> None:
    dt = 1e-3
    rate = (
        exact.lumped_radiation(50 + dt, 1000.0, 0.9, 3.6e4) - exact.lumped_radiation(50 - dt, 1000.0, 0.9, 3.6e4)
    ) / (2 * dt)
    here = exact.lumped_radiation(50.0, 1000.0, 0.9, 3.6e4)
    assert rate == pytest.approx(-0.9 * exact.STEFAN_BOLTZMANN * here**4 / 3.6e4, rel=1e-6)
    assert exact.lumped_convection(30.0, 30.0) == pytest.approx(math.exp(-1.0))


def test_a_manufactured_field_is_continuous_in_temperature_and_flux_where_conductivity_jumps() -> None:
    zero, e = np.array(0.0), 1e-6
    left2, left, right, right2 = (
        float(composite(np.array(x), zero, zero, 0.3)) for x in (0.5 - 2 * e, 0.5 - e, 0.5 + e, 0.5 + 2 * e)
    )
    assert left == pytest.approx(right, abs=1e-5)
    assert 1.0 * (left - left2) == pytest.approx(5.0 * (right2 - right), rel=1e-3)
