"""Orders in time, on a grid that stays, against the decay that this grid has."""

from __future__ import annotations

import math

import numpy as np

from heatsim.verify.judging import field_judge
from heatsim.verify.problem import Problem
from heatsim.verify.refinement import steps


def _decaying(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    cells = x.size
    eigenvalue = (2.0 * cells * math.sin(math.pi / (2.0 * cells))) ** 2
    return np.asarray(100.0 * np.cos(math.pi * x) * math.exp(-eigenvalue * t))


EIGENVALUE = "the eigenvalue of the grid"

PROBLEMS = (
    Problem("time-euler", EIGENVALUE, field_judge(_decaying, 0.05, order=1.0), steps(1, 2, 4, 8)),
    Problem("time-implicit", EIGENVALUE, field_judge(_decaying, 0.01), steps(1, 2, 4, 8)),
    Problem("time-rkl2", EIGENVALUE, field_judge(_decaying, 0.01), steps(1, 2, 4, 8)),
)
