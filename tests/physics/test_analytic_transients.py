"""Transients with closed solutions: the semi-infinite solid, a spot in free space, and NAFEMS T3.

Solids: Carslaw and Jaeger, Conduction of Heat in Solids, 2nd edition 1959, sections 2.4 (step), 2.7 (convection),
2.9 (flux); the body is so long that the far end stays cold to 1e-15. That error falls with h^2 all the way to the
finest grid shows that it is the closed solution that is being met.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

import numpy as np
import pytest
from helpers.in_memory import AXES, FACES, Run, RunOutcome, case, observed_order, rms
from helpers.in_turn import in_turn
from helpers.scenario_texts import convection, fixed, flux, material
from scipy.special import erfc, erfcx

K, DENSITY, HEAT_CAPACITY = 45.0, 7850.0, 460.0  # steel
DIFFUSIVITY = K / (DENSITY * HEAT_CAPACITY)
END, LENGTH = 100.0, 0.4  # s, m; the depth sqrt(a t) is 35 mm
STEEL = {"steel": material(K, DENSITY, HEAT_CAPACITY)}
START = 20.0
COEFFICIENT = 900.0


def step_rise(depth: np.ndarray) -> np.ndarray:
    return np.asarray(60.0 * erfc(depth / (2 * sqrt(DIFFUSIVITY * END))))


def flux_rise(depth: np.ndarray) -> np.ndarray:
    u = depth / (2 * sqrt(DIFFUSIVITY * END))
    ierfc = np.exp(-(u**2)) / sqrt(pi) - u * erfc(u)
    return np.asarray(2 * 2e4 / K * sqrt(DIFFUSIVITY * END) * ierfc)


def convection_rise(depth: np.ndarray) -> np.ndarray:
    u = depth / (2 * sqrt(DIFFUSIVITY * END))
    v = u + COEFFICIENT / K * sqrt(DIFFUSIVITY * END)
    return np.asarray(60.0 * (erfc(u) - np.exp(-(u**2)) * erfcx(v)))


SURFACES = {
    "step": (fixed(START + 60.0), step_rise),
    "flux": (flux(2e4), flux_rise),
    "convection": (convection(COEFFICIENT, START + 60.0), convection_rise),
}


@in_turn("face", FACES)
@in_turn(("surface", "rise"), SURFACES.values(), ids=SURFACES)
def test_a_semi_infinite_solid_is_heated_through_its_surface(
    run: Run, surface: dict, rise: Callable[[np.ndarray], np.ndarray], face: str
) -> None:
    axis, counts, errors = face[0], (40, 80, 160), []
    for n in counts:
        text = case(
            [n if a == axis else 1 for a in AXES],
            END,
            size=[LENGTH if a == axis else 0.01 for a in AXES],
            materials=STEEL,
            initial=START,
            boundary={face: surface},
        )
        depth = (np.arange(n) + 0.5) * LENGTH / n
        line = run(text).temperature.reshape(-1)
        errors.append(rms((line if face.endswith("min") else line[::-1]) - START - rise(depth)))
    assert observed_order([1 / n for n in counts], errors) == pytest.approx(2.0, abs=0.1)
    assert errors[-1] < 1e-3 * 60.0


def test_a_gaussian_spot_spreads_in_free_space(run: Run) -> None:
    """Variances grow by 2 a t along each axis: prod s/sqrt(s^2 + 2 a t) exp(-r^2/(2 (s^2 + 2 a t)))."""
    k, s, end = np.array([1.0, 0.5, 0.25]), 0.1, 0.005
    spread = s**2 + 2 * k * end
    counts, errors = (32, 48, 72), []  # the coarsest cell is half of s
    for n in counts:
        text = case(
            [n, n, n],
            end,
            step=end * 32**2 / (24 * n * n),  # up to 0.6 of the limit
            size=[1.6, 1.4, 1.2],  # walls at more than 5 times the final spread
            materials={"unit": material(k.tolist())},
            initial=f"exp(-((x-0.8)**2 + (y-0.7)**2 + (z-0.6)**2)/{2 * s**2})",
        )
        outcome = run(text)
        away = [p - c for p, c in zip(outcome.points(), (0.8, 0.7, 0.6), strict=True)]
        exponent = sum(a**2 / (2 * v) for a, v in zip(away, spread.tolist(), strict=True))
        errors.append(rms(outcome.temperature - np.sqrt(s**6 / spread.prod()) * np.exp(-exponent)))
    assert observed_order([1 / n for n in counts], errors) == pytest.approx(2.0, abs=0.1)


def nafems_t3(run: Run, n: int) -> float:
    """T(0.08 m, 32 s), the mean of the two cells that meet there."""
    outcome: RunOutcome = run(
        case(
            [n, 1, 1],
            32.0,
            size=[0.1, 0.01, 0.01],
            materials={"steel": material(35.0, 7200.0, 440.5)},
            boundary={"x_min": fixed(0.0), "x_max": fixed("100*sin(pi*t/40)")},
        )
    )
    at = 8 * n // 10
    return float(outcome.temperature[0, 0, at - 1 : at + 1].mean())


def test_nafems_t3_by_grid_refinement(run: Run) -> None:
    """One-dimensional heat transfer with a sine at one end: 36.60 C (NAFEMS, The Standard Benchmarks, 1990, T3)."""
    coarse, fine = nafems_t3(run, 40), nafems_t3(run, 80)
    assert fine == pytest.approx(36.60, abs=0.02)
    assert fine + (fine - coarse) / 3 == pytest.approx(36.6031, abs=2e-3)  # Richardson, order 2
