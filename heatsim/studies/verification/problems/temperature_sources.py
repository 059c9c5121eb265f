"""Sources that depend on temperature: Pennes' equation, and reactions that heat themselves."""

from __future__ import annotations

from collections.abc import Sequence
from math import cosh, exp, log, pi, sqrt

import numpy as np

from heatsim.studies.verification.finished import FinishedRun
from heatsim.studies.verification.judgement import Judgement, ValueCheck, VerificationProblem, field_judge
from heatsim.studies.verification.refinement import grids, steps

CONDUCTIVITY, CAPACITY = 0.5, 3.6e6  # of tissue, W/(m K) and J/(m3 K)
PERFUSION, BLOOD = 2000.0, 37.0  # W/(m3 K) and degC
LENGTH = 0.03  # m
_PENNES = "Pennes, J. Appl. Physiol. 1, 93 (1948): the mode of an insulated box"
_SEMENOV = "Semenov, Z. Phys. 48, 571 (1928)"
NUMBER = 0.3  # heat of the reaction at 0 degC over what the surface takes off a kelvin; critical: 1/e
HEATING = 1e-3  # of the reaction at 0 degC, K/s


def _left(waves: int, t: float) -> float:
    """What is left of a mode after a time: conduction over `waves` = sum of n^2 half waves, and perfusion."""
    return exp(-(PERFUSION + CONDUCTIVITY * waves * (pi / LENGTH) ** 2) / CAPACITY * t)


def _plate(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    mode = np.cos(pi * x / LENGTH) * np.cos(2 * pi * y / LENGTH)
    return np.asarray(BLOOD + 8.0 * mode * _left(5, t) + 0.0 * z)


def _block(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    mode = np.cos(pi * x / LENGTH) * np.cos(pi * y / LENGTH) * np.cos(2 * pi * z / LENGTH)
    return np.asarray(BLOOD + 8.0 * mode * _left(6, t))


def _slab(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    m = sqrt(PERFUSION / CONDUCTIVITY)
    return np.asarray(BLOOD + 8.0 * np.cosh(m * (LENGTH - x)) / cosh(m * LENGTH) + 0.0 * (y + z))


def _at_rest(runs: Sequence[FinishedRun]) -> Judgement:
    """The state of rest below the critical number: the root of T exp(-T) = number that is below 1."""
    exact = 0.0
    for _ in range(200):
        exact = NUMBER * exp(exact)
    found = float(runs[-1].temperature[0, 0, 0])
    return Judgement([ValueCheck("temperature at rest", exact, found, 1e-6, "K")])


def _explosion(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return np.asarray(-log(1.0 - HEATING * t) + 0.0 * (x + y + z))


PROBLEMS = (
    VerificationProblem(
        "pennes-1d", "Pennes, J. Appl. Physiol. 1, 93 (1948): a slab", field_judge(_slab, 0.01), grids(1, 2, 4)
    ),
    VerificationProblem("pennes-2d", _PENNES, field_judge(_plate, 0.01), grids(1, 2, 4)),
    VerificationProblem("pennes-3d", _PENNES, field_judge(_block, 0.02), grids(1, 2)),
    VerificationProblem("reaction-at-rest", _SEMENOV, _at_rest),
    VerificationProblem(
        "reaction-in-time", "dT/dt = a exp(T): T = -ln(1 - a t)", field_judge(_explosion, 2e-3), steps(1, 2, 4)
    ),
)
