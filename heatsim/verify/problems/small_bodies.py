"""Bodies of one temperature, which show the error in time alone."""

from __future__ import annotations

import numpy as np

from heatsim.verify.exact import lumped
from heatsim.verify.judging import field_judge
from heatsim.verify.problem import Problem
from heatsim.verify.refinement import steps

TEXTBOOK = "Incropera and DeWitt, Fundamentals of Heat and Mass Transfer"


def _convective(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return np.array(100.0 * lumped.convective(t, 8960.0 * 385.0 * 0.01 / (6.0 * 50.0)))


def _radiating(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return np.array(lumped.radiating(t, 1000.0, 0.9, 7200.0 * 500.0 * 0.01))


PROBLEMS = (
    Problem("lumped-cooling", f"{TEXTBOOK}, section 5.1", field_judge(_convective, 0.01), steps(1, 2, 4, 8)),
    Problem("lumped-radiation", f"{TEXTBOOK}, section 5.3", field_judge(_radiating, 0.1, order=1.0), steps(1, 2, 4, 8)),
)
