"""Manufactured solutions: a temperature is chosen, and the source that makes it one goes into the scenario."""

from __future__ import annotations

import numpy as np

from heatsim.studies.verification.judgement import VerificationProblem, field_judge
from heatsim.studies.verification.refinement import grids


def wave(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    """Through an anisotropic block."""
    return np.asarray(20.0 + np.sin(2.0 * x + y + 0.5 * z - t))


def composite(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    """Conductivity 1 left and 5 right of x = 0.5."""
    s = 2.0 * (x - 0.5)
    return np.asarray(20.0 + np.exp(-t) * (np.cos(s) + np.sin(s) / np.where(x < 0.5, 1.0, 5.0)))


def nonlinear(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    """Conductivity 1 + T/2."""
    return np.asarray(1.0 + 0.5 * np.sin(2.0 * x) * np.exp(-t))


ROACHE = "Roache 1998, chapter 3"

PROBLEMS = (
    VerificationProblem("manufactured-anisotropic", ROACHE, field_judge(wave, 1e-3), grids(1, 2, 3)),
    VerificationProblem("manufactured-composite", ROACHE, field_judge(composite, 1e-3), grids(1, 2, 4)),
    VerificationProblem("manufactured-nonlinear", ROACHE, field_judge(nonlinear, 1e-4), grids(1, 2, 4)),
)
