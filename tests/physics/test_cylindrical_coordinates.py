"""Cylindrical coordinates r, phi (one cell around), z."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from build_up_cases import Table, box, grid, layers, material, observed_order, run, scenario
from helpers.scenario_texts import convection, fixed

TURN = (2 * np.pi, 1)
ROUND: Table = {"coordinates": "cylindrical"}


def test_heat_through_concentric_pipes_is_exact_on_any_grid() -> None:
    """Two materials with a contact between them, heated from within, cooled by convection: ln(r2/r1)/(2 pi k L)."""
    r, L, k, contact, h = (0.02, 0.03, 0.05), 0.4, (15.0, 0.3), 2e-3, 12.0
    state = run(
        scenario(
            grid(layers((0.01, 2), (0.02, 3)), TURN, (L, 3), origin=(r[0], 0.0, 0.0), **ROUND),
            {"steel": material(k[0]), "wool": material(k[1])},
            regions=[{"material": "steel"}, box("wool", [r[1], -9, -9], [9, 9, 9])],
            contacts=[{"between": ["wool", "steel"], "resistance": contact}],
            boundary={"x_min": fixed(100.0), "x_max": convection(h, 10.0)},
        )
    )
    around = 2 * np.pi * L
    parts = [
        np.log(r[1] / r[0]) / k[0] / around,
        contact / (around * r[1]),
        np.log(r[2] / r[1]) / k[1] / around,
        1 / (h * around * r[2]),
    ]
    through = 90.0 / sum(parts)
    assert state.energy.faces["x_min"] == pytest.approx(through, rel=1e-8)
    assert state.energy.faces["x_max"] == pytest.approx(-through, rel=1e-8)
    centres = state.problem.grid.centres("x")
    steel = 100.0 - through * np.log(centres[:2] / r[0]) / k[0] / around
    wool = 100.0 - through * (parts[0] + parts[1] + np.log(centres[2:] / r[1]) / k[1] / around)
    expected = np.broadcast_to(np.concatenate((steel, wool)), (3, 1, 5))
    np.testing.assert_allclose(state.temperature(), expected, rtol=1e-8)


def test_a_rod_heated_throughout_converges_with_order_two() -> None:
    """T = T(R) + q (R^2 - r^2)/4k; r = 0 is no face."""
    counts, errors, q, k, R = (5, 10, 20, 40), [], 1e5, 3.0, 0.05
    for n in counts:
        state = run(
            scenario(
                grid((R, n), TURN, (0.1, 1), **ROUND),
                {"unit": material(k)},
                boundary={"x_max": fixed(20.0)},
                sources=[{"power_density": q}],
            )
        )
        r = state.problem.grid.centres("x")
        exact = 20.0 + q * (R**2 - r**2) / (4 * k)
        errors.append(float(np.sqrt((r * (state.temperature()[0, 0] - exact) ** 2).mean())))
        assert state.energy.faces["x_max"] == pytest.approx(-q * np.pi * R**2 * 0.1, rel=1e-8)
    assert observed_order(counts, errors) == pytest.approx(2.0, abs=0.1)


def test_a_mode_of_bessel_decays_at_its_rate_along_r_and_z() -> None:
    """J0(2.404825557695773 r) cos(pi z) in a cylinder of radius 1 with a cold mantle and insulated ends."""
    root, counts, errors = 2.404825557695773, (8, 16, 32), []
    series = [(-0.25) ** m / factorial(m) ** 2 for m in range(12)]
    coefficients = "+".join(f"({factor!r})*(x*{root})**{2 * m}" for m, factor in enumerate(series))
    for n in counts:
        state = run(
            scenario(
                grid((1.0, n), TURN, (1.0, n), **ROUND),
                {"unit": material(1.0, 1.0)},
                "euler",
                0.05,
                boundary={"x_max": fixed(0.0)},
                initial={"temperature": f"({coefficients})*cos(pi*z)"},
            )
        )
        start = np.stack(list(state.problem.initial.planes()))
        exact = start * np.exp(-(root**2 + np.pi**2) * 0.05)
        errors.append(float(np.abs(state.temperature() - exact).max()))
    assert observed_order(counts, errors) == pytest.approx(2.0, abs=0.15)


def test_energy_counts_whole_rings_and_flux_enters_by_area() -> None:
    state = run(
        scenario(
            grid((0.3, 6), TURN, (0.5, 4), origin=(0.1, 0.0, 0.0), **ROUND),
            {"unit": material(2.0, 700.0)},
            "euler",
            50.0,
            boundary={"x_min": {"kind": "flux", "flux": 90.0}, "z_max": {"kind": "flux", "flux": -20.0}},
            sources=[{"power": 13.0, "region": {"box": {"lower": [0.2, 0, 0], "upper": [0.4, 7, 0.5]}}}],
        )
    )
    area, end = 2 * np.pi * 0.1 * 0.5, np.pi * (0.4**2 - 0.1**2)
    assert state.energy.faces["x_min"] == pytest.approx(50 * 90 * area, rel=1e-12)
    assert state.energy.faces["z_max"] == pytest.approx(-50 * 20 * end, rel=1e-12)
    assert state.energy.sources == pytest.approx(50 * 13, rel=1e-12)
    assert abs(state.energy.relative_residual) < 1e-12
    volumes = np.stack([state.problem.grid.volumes(z) for z in range(4)])
    assert volumes.sum() == pytest.approx(0.5 * end)
    assert (700.0 * volumes * (state.temperature() - 20.0)).sum() == pytest.approx(state.energy.stored, rel=1e-10)
