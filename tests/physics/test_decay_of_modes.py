"""Separable modes are eigenvectors of the discrete operator too: each decays by (1 - dt lambda_h) a step, exactly.

With ghost cells mirrored (insulated), mirrored with a change of sign (fixed at 0) or wrapped (periodic), the modes
cos(m pi x), sin(m pi x) and sin(2 m pi x) sampled at cell centres have lambda_h = sum 4 alpha/h^2 sin^2(w h/2) for
wave number w (Strang, The Discrete Cosine Transform, SIAM Review 41, 1999).
"""

from __future__ import annotations

from math import ceil, exp, pi, sin

import numpy as np
import pytest
from helpers.in_memory import AXES, Run, both, case, observed_order, problem_of, rms
from helpers.in_turn import in_turn
from helpers.scenario_texts import INSULATED, PERIODIC, convection, fixed, material
from scipy.optimize import brentq

CONDUCTIVITY = {"x": 1.0, "y": 2.0, "z": 0.5}
MATERIAL = {"unit": material([1.0, 2.0, 0.5], 2.0, 0.5)}
SHAPES = {"cos": ("cos({w}*{axis})", INSULATED), "sin": ("sin({w}*{axis})", fixed(0.0))}
MODES = {
    "1-D x": {"x": ("cos", 3)},
    "1-D y": {"y": ("sin", 2)},
    "1-D z": {"z": ("cos", 1)},
    "2-D xy": {"x": ("sin", 1), "y": ("cos", 2)},
    "2-D yz": {"y": ("cos", 1), "z": ("sin", 2)},
    "2-D zx": {"z": ("sin", 1), "x": ("sin", 3)},
    "3-D": {"x": ("cos", 2), "y": ("sin", 1), "z": ("sin", 2)},
    "3-D, none fixed": {"x": ("cos", 1), "y": ("cos", 2), "z": ("cos", 1)},
    "periodic": {"x": ("period", 1), "y": ("period", 2), "z": ("period", 1)},
    "periodic between fixed faces": {"x": ("sin", 1), "y": ("period", 1)},
}
SHAPES["period"] = ("sin({w}*{axis} + 0.3)", PERIODIC)
SIZE = {"x": 1.0, "y": 0.8, "z": 0.5}


def wave_number(axis: str, shape: str, m: int) -> float:
    return (2 if shape == "period" else 1) * m * pi / SIZE[axis]


def mode_case(mode: dict, cells: dict[str, int], end: float, step: float | str = "auto") -> str:
    factors = [SHAPES[shape][0].format(w=wave_number(axis, shape, m), axis=axis) for axis, (shape, m) in mode.items()]
    boundary = {}
    for axis, (shape, _) in mode.items():
        boundary |= both(axis, SHAPES[shape][1])
    return case(
        [cells[axis] if axis in mode else 1 for axis in AXES],
        end,
        size=list(SIZE.values()),
        materials=MATERIAL,
        initial="*".join(factors),
        boundary=boundary,
        step=step,
    )


def discrete_rate(mode: dict, cells: dict[str, int]) -> float:
    total = 0.0
    for axis, (shape, m) in mode.items():
        h = SIZE[axis] / cells[axis]
        total += CONDUCTIVITY[axis] * (2 / h * sin(wave_number(axis, shape, m) * h / 2)) ** 2
    return total


def continuous_rate(mode: dict) -> float:
    return sum(CONDUCTIVITY[axis] * wave_number(axis, shape, m) ** 2 for axis, (shape, m) in mode.items())


@in_turn("mode", MODES.values(), ids=MODES)
def test_a_mode_decays_by_its_exact_discrete_factor(run: Run, mode: dict) -> None:
    cells = {"x": 30, "y": 28, "z": 24}
    outcome = run(mode_case(mode, cells, end=1.0 / continuous_rate(mode)))
    factor = (1 - outcome.dt * discrete_rate(mode, cells)) ** outcome.state.step
    assert outcome.state.step > 10
    assert 0.1 < factor < 0.5
    np.testing.assert_allclose(outcome.temperature, factor * outcome.initial, rtol=0, atol=1e-10 * factor)


@in_turn("mode", MODES.values(), ids=MODES)
def test_a_mode_decays_at_its_continuous_rate_to_second_order(run: Run, mode: dict) -> None:
    """The step shrinks with h^2, from 0.8 of the limit (a third of it would be of 4th order in 1-D)."""
    end = 0.5 / continuous_rate(mode)
    coarsest = {"x": 20, "y": 16, "z": 12}
    steps = ceil(1.25 * end / problem_of(mode_case(mode, coarsest, end)).stability_limit)
    refinements, errors = (1, 2, 3), []
    for n in refinements:
        cells = {axis: n * count for axis, count in coarsest.items()}
        outcome = run(mode_case(mode, cells, end, step=end / (steps * n * n)))
        errors.append(rms(outcome.temperature - exp(-0.5) * outcome.initial))
    assert observed_order([1 / n for n in refinements], errors) == pytest.approx(2.0, abs=0.1)


def robin_wave_number(biot: float) -> float:
    """The least root of w tan(w) = Bi: cos(w x) on (0, 1), insulated at 0 and convecting at 1.

    Carslaw and Jaeger, Conduction of Heat in Solids, 2nd edition 1959, section 3.9.
    """
    return float(brentq(lambda w: w * np.sin(w) - biot * np.cos(w), 0.0, pi / 2))


@in_turn("biot", [0.1, 1.0, 20.0])
@in_turn("axis", AXES)
def test_a_mode_between_insulation_and_convection_decays_at_its_rate_to_second_order(
    run: Run, axis: str, biot: float
) -> None:
    w, errors = robin_wave_number(biot), []
    counts = (12, 18, 27, 40)
    for n in counts:
        cells = [n if a == axis else 1 for a in AXES]
        boundary = {f"{axis}_max": convection(biot, 0.0)}
        outcome = run(case(cells, 0.5 / w**2, initial=f"cos({w!r}*{axis})", boundary=boundary))
        errors.append(rms(outcome.temperature - exp(-0.5) * outcome.initial))
    assert observed_order([1 / n for n in counts], errors) == pytest.approx(2.0, abs=0.1)


@in_turn("face", ["x_min", "y_max", "z_min"])
def test_the_convective_mode_of_the_grid_decays_by_its_exact_factor(run: Run, face: str) -> None:
    """cos(w s) with ghost = (1 - U h) T at s = 1, U = 1/(1/hc + h/2): the discrete eigenvalue equation."""
    n, coefficient = 15, 4.0
    h, axis = 1 / n, face[0]
    a = 1 - h / (1 / coefficient + h / 2)
    w = float(brentq(lambda w: np.cos(w * (1 + h / 2)) - a * np.cos(w * (1 - h / 2)), 0.0, pi / 2))
    distance = f"(1 - {axis})" if face.endswith("min") else axis
    cells = [n if other == axis else 1 for other in AXES]
    outcome = run(case(cells, 1.0, initial=f"cos({w!r}*{distance})", boundary={face: convection(coefficient, 0.0)}))
    factor = (1 - outcome.dt * (2 / h * sin(w * h / 2)) ** 2) ** outcome.state.step
    np.testing.assert_allclose(outcome.temperature, factor * outcome.initial, rtol=0, atol=1e-10 * factor)
