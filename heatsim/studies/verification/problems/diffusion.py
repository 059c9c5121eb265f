"""Diffusion of other quantities than heat: a membrane in which more dissolves than beside it, and decay on the way."""

from __future__ import annotations

from collections.abc import Sequence
from math import cosh, exp, pi, sqrt

import numpy as np

from heatsim.studies.verification.finished import FinishedRun
from heatsim.studies.verification.judgement import Judgement, ValueCheck, VerificationProblem, field_judge, limit_judge
from heatsim.studies.verification.refinement import grids

THICKNESS, DIFFUSIVITY, SOLUBILITY = 1e-3, 1e-10, 4.0  # of a membrane: m, m2/s, 1
OUTSIDE, AREA = 10.0, 1e-6  # mol/m3 and m2
LAYERS = ((1e-3, 1e-9, 0.5), (0.5e-3, 2e-10, 3.0), (1.5e-3, 5e-10, 1.0))  # m, m2/s, 1
DECAY, LENGTH = 2e-4, 2e-3  # 1/s, m
_CRANK = "Crank, The Mathematics of Diffusion, 2nd ed. 1975"
_UNIT = "mol/m3"


def passed_membrane(t: float) -> float:
    """Amount that has come through an empty membrane until t s, mol, from a fluid kept at OUTSIDE to one kept empty:
    Crank, equation (4.24), its concentration inside being that outside times the solubility."""
    n = np.arange(1, 200)
    left = (-1.0) ** n / n**2 * np.exp(-DIFFUSIVITY * (n * pi / THICKNESS) ** 2 * t)
    share = DIFFUSIVITY * t / THICKNESS**2 - 1.0 / 6.0 - 2.0 / pi**2 * float(left.sum())
    return AREA * THICKNESS * SOLUBILITY * OUTSIDE * share


def _passed(run: FinishedRun) -> float:
    return -run.heat("x_max")


def _layers(runs: Sequence[FinishedRun]) -> Judgement:
    """Layers in series: the flux from the first face to the last, and the amount that the middle layer holds."""
    run = runs[-1]
    flux = 1e-6 * OUTSIDE / sum(length / (diffusivity * solubility) for length, diffusivity, solubility in LAYERS)
    found = run.heat("x_min")
    x = run.grid.centres("x")
    jump = float(run.last.fields["concentration"].values[0, 0, :][x > LAYERS[0][0]][0])
    first = OUTSIDE - flux / 1e-6 * LAYERS[0][0] / (LAYERS[0][1] * LAYERS[0][2])
    beyond = flux / 1e-6 / (LAYERS[1][1] * LAYERS[1][2]) * (x[x > LAYERS[0][0]][0] - LAYERS[0][0])
    return Judgement(
        [
            ValueCheck("amount through the layers", flux, found, 1e-9 * flux, "mol/s"),
            ValueCheck("concentration beyond the jump", LAYERS[1][2] * (first - beyond), jump, 1e-6, _UNIT),
        ]
    )


def _catalyst(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    modulus = LENGTH * sqrt(DECAY / DIFFUSIVITY)
    return np.asarray(OUTSIDE * np.cosh(modulus * (1.0 - x / LENGTH)) / cosh(modulus) + 0.0 * (y + z))


def _fading(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    rate = DECAY + DIFFUSIVITY * 5.0 * (pi / LENGTH) ** 2
    mode = np.cos(pi * x / LENGTH) * np.cos(2.0 * pi * y / LENGTH)
    return np.asarray(OUTSIDE * exp(-DECAY * t) + 2.0 * mode * exp(-rate * t) + 0.0 * z)


_PASSED = passed_membrane(4000.0)
PROBLEMS = (
    VerificationProblem(
        "membrane",
        f"{_CRANK}, equation (4.24)",
        limit_judge("amount passed", _passed, _PASSED, 2e-11, _PASSED, 1e-11, "mol", 2.0),
        grids(1, 2, 4),
    ),
    VerificationProblem("partition", f"{_CRANK}, section 3.3: layers in series", _layers, exact=True),
    VerificationProblem(
        "catalyst",
        "Thiele, Ind. Eng. Chem. 31, 916 (1939): a slab",
        field_judge(_catalyst, 0.02, _UNIT),
        grids(1, 2, 4),
    ),
    VerificationProblem(
        "decay", "c = c0 exp(-lambda t), and a mode above it", field_judge(_fading, 0.01, _UNIT), grids(1, 2, 4)
    ),
)
