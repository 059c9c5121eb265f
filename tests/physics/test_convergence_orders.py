"""Observed orders on manufactured solutions (Roache, Verification and Validation, 1998): 2 in space, 1 in time.

A temperature is chosen; the source and the boundary values that make it a solution go into the scenario as
expressions. In space the step shrinks with h^2, so that the error in time is of the same order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil, exp, pi, sin

import numpy as np
import pytest
from helpers.in_memory import AXES, FACES, Run, case, observed_order, rms
from helpers.in_turn import in_turn
from helpers.scenario_texts import INSULATED, convection, fixed, flux, material
from scipy.integrate import solve_ivp

from heatsim.scenario import Expression

CAPACITY = 1.5  # J/(m3 K)
COEFFICIENT = 3.0  # of convection faces, W/(m2 K)


@dataclass(frozen=True)
class Manufactured:
    """A temperature in x, y, z, t with its derivatives, in a body of conductivity k along x, y, z."""

    temperature: str
    rate: str
    gradient: tuple[str, ...]
    curvature: tuple[str, ...]
    k: tuple[float, float, float]

    def source(self) -> dict[str, str]:
        """What makes the temperature a solution: rho c dT/dt - div(k grad T)."""
        conduction = " - ".join(f"{k}*({c})" for k, c in zip(self.k, self.curvature, strict=False))
        return {"power_density": f"{CAPACITY}*({self.rate}) - {conduction}"}

    def face(self, name: str, kind: str) -> dict:
        """The condition of a kind that the temperature meets on a face."""
        axis = AXES.index(name[0])
        inward = f"{self.k[axis] * (1 if name.endswith('max') else -1)}*({self.gradient[axis]})"
        faces = {
            "insulated": INSULATED,
            "fixed": fixed(self.temperature),
            "flux": flux(inward),
            "convection": convection(COEFFICIENT, f"{self.temperature} + {inward}/{COEFFICIENT}"),
        }
        return faces[kind]

    def error(self, run: Run, n: int, kinds: tuple[str, ...], end: float) -> float:
        """RMS error at the end, with n cells along each axis."""
        steps = ceil(end * 3 * sum(self.k) / CAPACITY / 0.9) * n * n  # stable even with all faces fixed
        text = case(
            [n if axis < len(self.gradient) else 1 for axis in range(3)],
            end,
            materials={"unit": material(self.k, 3.0, CAPACITY / 3.0)},
            initial=re.sub(r"\bt\b", "0", self.temperature),
            boundary={name: self.face(name, kind) for name, kind in zip(FACES, kinds, strict=False)},
            sources=[self.source()],
            step=end / steps,
        )
        outcome = run(text)
        x, y, z = outcome.points()
        expected = Expression.parse(self.temperature, frozenset("xyzt"))(x=x, y=y, z=z, t=end)
        return rms(outcome.temperature - expected)


ROD = Manufactured(
    "20 + exp(-t)*sin(1.3*x + 0.4)",
    "-exp(-t)*sin(1.3*x + 0.4)",
    ("1.3*exp(-t)*cos(1.3*x + 0.4)",),
    ("-1.69*exp(-t)*sin(1.3*x + 0.4)",),
    (2.0, 1.0, 1.0),
)
TRAVELLING_WAVE = Manufactured(  # space and time separate by the sum of angles
    "sin(2*x + y - 3*t)",
    "-3*cos(2*x + y - 3*t)",
    ("2*cos(2*x + y - 3*t)", "cos(2*x + y - 3*t)"),
    ("-4*sin(2*x + y - 3*t)", "-sin(2*x + y - 3*t)"),
    (1.0, 0.3, 1.0),
)
_X, _Y, _Z = "sin(1.1*x + 0.2)", "cos(0.9*y)", "sin(1.2*z + 0.5)"  # insulated at y = 0
_BODY = f"exp(-2*t)*{_X}*{_Y}*{_Z}"
BLOCK = Manufactured(
    _BODY,
    f"-2*{_BODY}",
    (
        f"1.1*exp(-2*t)*cos(1.1*x + 0.2)*{_Y}*{_Z}",
        f"-0.9*exp(-2*t)*{_X}*sin(0.9*y)*{_Z}",
        f"1.2*exp(-2*t)*{_X}*{_Y}*cos(1.2*z + 0.5)",
    ),
    (f"-1.21*{_BODY}", f"-0.81*{_BODY}", f"-1.44*{_BODY}"),
    (1.0, 0.6, 0.3),
)

SOLUTIONS = {
    "1-D, fixed and fixed": (ROD, ("fixed", "fixed")),
    "1-D, fixed and flux": (ROD, ("fixed", "flux")),
    "1-D, flux and flux": (ROD, ("flux", "flux")),
    "1-D, flux and convection": (ROD, ("flux", "convection")),
    "1-D, convection and fixed": (ROD, ("convection", "fixed")),
    "1-D, convection and convection": (ROD, ("convection", "convection")),
    "2-D, all fixed": (TRAVELLING_WAVE, ("fixed",) * 4),
    "2-D, all convection": (TRAVELLING_WAVE, ("convection",) * 4),
    "2-D, mixed": (TRAVELLING_WAVE, ("fixed", "convection", "flux", "fixed")),
    "3-D, all fixed": (BLOCK, ("fixed",) * 6),
    "3-D, all convection": (BLOCK, ("convection",) * 6),
    "3-D, mixed": (BLOCK, ("fixed", "convection", "insulated", "flux", "convection", "fixed")),
    "3-D, mixed the other way round": (BLOCK, ("flux", "fixed", "insulated", "convection", "fixed", "convection")),
}
GRIDS = {1: (10, 20, 30), 2: (8, 16), 3: (8, 14)}  # what travels takes long: its means are found in every step


@pytest.mark.parametrize(
    ("solution", "kinds"),
    [
        pytest.param(*each, id=name, marks=pytest.mark.long if "the other way" in name else [])
        for name, each in SOLUTIONS.items()
    ],
)
def test_second_order_in_space_on_a_manufactured_solution(
    run: Run, solution: Manufactured, kinds: tuple[str, ...]
) -> None:
    counts = GRIDS[len(solution.gradient)]
    errors = [solution.error(run, n, kinds, end=0.1) for n in counts]
    assert observed_order([1 / n for n in counts], errors) == pytest.approx(2.0, abs=0.1)


STEPS = (64, 128, 256, 512)


def test_first_order_in_time_on_a_decaying_mode(run: Run) -> None:
    """Against exp(-lambda_h t) with the eigenvalue of the grid, so that no error in space is left."""
    n = 8
    eigenvalue = (2 * n * sin(pi / (2 * n))) ** 2
    errors = []
    for steps in STEPS:
        outcome = run(case([n, 1, 1], 0.2, initial="cos(pi*x)", step=0.2 / steps))
        errors.append(rms(outcome.temperature - exp(-0.2 * eigenvalue) * outcome.initial))
    assert observed_order([1 / steps for steps in STEPS], errors) == pytest.approx(1.0, abs=0.1)


def test_first_order_in_time_with_sources_and_faces_that_change(run: Run) -> None:
    """Against the same equations in time solved to 1e-10 by an adaptive Runge-Kutta method.

    dT_i/dt = n^2 (T_(i-1) - 2 T_i + T_(i+1)) + 30 x t, with ghost 2 Tw - T at x = 0 and T + q h at x = 1.
    """
    n = 8
    x = (np.arange(n) + 0.5) / n

    def rate(t: float, temperature: np.ndarray) -> np.ndarray:
        low, high = 2 * sin(5 * t) - temperature[0], temperature[-1] + 4 * exp(-3 * t) / n
        padded = np.concatenate(([low], temperature, [high]))
        return np.asarray(np.diff(padded, 2) * n * n + 30 * x * t)

    exact = solve_ivp(rate, (0.0, 0.25), np.zeros(n), method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    errors = []
    for steps in STEPS:
        text = case(
            [n, 1, 1],
            0.25,
            boundary={"x_min": fixed("sin(5*t)"), "x_max": flux("4*exp(-3*t)")},
            sources=[{"power_density": "30*x*t"}],
            step=0.25 / steps,
        )
        errors.append(rms(run(text).temperature[0, 0] - exact))
    assert observed_order([1 / steps for steps in STEPS], errors) == pytest.approx(1.0, abs=0.1)


@in_turn(
    "source",
    [{"power_density": "10*cos(5*t)"}, {"power": "10*cos(5*t)"}, {"power_density": "10*cos(5*t + 0*x*t)"}],
    ids=["density in t", "power in t", "not separable"],
)
def test_a_source_in_time_heats_an_insulated_body_by_its_left_sum(run: Run, source: dict[str, str]) -> None:
    """Euler takes the source at the start of each step: the rise is dt * sum f(t_n), near the integral."""
    steps = 100
    outcome = run(case([4, 3, 2], 0.5, sources=[source], step=0.5 / steps))
    times = np.arange(steps) * 0.5 / steps
    expected = 0.5 / steps * (10 * np.cos(5 * times)).sum()
    assert expected == pytest.approx(2 * sin(2.5), abs=0.05)
    np.testing.assert_allclose(outcome.temperature, expected, rtol=1e-12)
