"""Steady states along one coordinate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heatsim.studies.verification.exact import CARSLAW_JAEGER, INCROPERA, steady
from heatsim.studies.verification.finished import FinishedRun
from heatsim.studies.verification.judgement import (
    Judge,
    Judgement,
    ValueCheck,
    VerificationProblem,
    field_judge,
    limit_judge,
)
from heatsim.studies.verification.refinement import grids

LAYERS, CONTACTS = ((0.1, 0.7), (0.1, 0.04), (0.1, 1.5)), (0.05, 0.1)
K0, SLOPE, DENSITY, LENGTH = 2.0, 0.01, 5.0, 10.0  # of the wall whose conductivity follows its temperature


def _wall(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return steady.layered_wall(x, LAYERS, CONTACTS, (20.0, -10.0))


def _cylinders(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return steady.concentric_cylinders(x, (0.05, 0.1), (100.0, 0.0))


def _heated_cylinder(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return steady.heated_cylinder(x, 0.01, 0.5, 1e6, 50.0)


def _spheres(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return steady.concentric_spheres(np.sqrt(x**2 + y**2 + z**2), (0.05, 0.25), (100.0, 0.0))


def _fin(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return 100.0 * steady.fin(x, 0.1, (2.0 * 50.0 / (200.0 * 0.002)) ** 0.5)


def with_heat(judge: Judge, face: str, target: float) -> Judge:
    """The checks of a judge, and that of the heat (W) that enters through a face."""

    def both(runs: Sequence[FinishedRun]) -> Judgement:
        judged = judge(runs)
        heat = ValueCheck(f"heat through {face}", target, runs[-1].heat(face), 1e-7 * abs(target), "W")
        return Judgement([*judged.checks, heat], judged.panels)

    return both


def insulated_end(run: FinishedRun) -> float:
    """Temperature at x = 0, where it has no slope: from the parabola through the first two cells."""
    first, second = run.temperature[0, 0, :2]
    return float((9.0 * first - second) / 8.0)


PROBLEMS = (
    VerificationProblem(
        "composite-wall",
        f"{INCROPERA}, section 3.1",
        with_heat(field_judge(_wall, 1e-7), "x_min", steady.layered_wall_flux(LAYERS, CONTACTS, 30.0)),
        exact=True,
    ),
    VerificationProblem("fin", f"{INCROPERA}, section 3.6", field_judge(_fin, 0.01), grids(1, 2, 4)),
    VerificationProblem(
        "cylinders",
        f"{INCROPERA}, section 3.3.1",
        with_heat(
            field_judge(_cylinders, 1e-6), "x_min", steady.concentric_cylinders_heat(1.0, 50.0, (0.05, 0.1), 100.0)
        ),
        exact=True,
    ),
    VerificationProblem(
        "heated-cylinder", f"{INCROPERA}, section 3.5.2", field_judge(_heated_cylinder, 0.1), grids(1, 2, 4)
    ),
    VerificationProblem("spheres", f"{INCROPERA}, section 3.3.2", field_judge(_spheres, 0.02), grids(1, 2, 4)),
    VerificationProblem(
        "nonlinear-conductivity",
        f"Kirchhoff's transformation, {CARSLAW_JAEGER}, section 1.6",
        limit_judge("T(0)", insulated_end, 87.08286933869707, 0.05, 87.08286933869707, 0.05, "degC", 2.0),
        grids(1, 2, 4),
    ),
)
