"""Free space, the semi-infinite solid and a heated slab."""

from __future__ import annotations

import numpy as np

from heatsim.verify.exact import gaussian, semi_infinite, slab
from heatsim.verify.judging import field_judge
from heatsim.verify.problem import Problem
from heatsim.verify.refinement import grids

C_AND_J = "Carslaw and Jaeger 1959"


def _gaussian(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    factors = (gaussian.spreading(place, t, 0.01, k / 2e6) for place, k in ((x, 2.0), (y, 1.0), (z, 0.5)))
    along_x, along_y, along_z = factors
    return np.asarray(100.0 * along_x * along_y * along_z)


def _step(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return 100.0 * semi_infinite.step(x, t, 1e-6)


def _flux(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return semi_infinite.flux(x, t, 1e-6, 1.0, 2000.0)


def _convection(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return 100.0 * semi_infinite.convection(x, t, 1e-6, 50.0)


def _heated(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return slab.heated_inside(x, t, 0.1, 1.0, 1e6, 1e4)


PROBLEMS = (
    Problem("gaussian", f"{C_AND_J}, section 10.3", field_judge(_gaussian, 0.02), grids(1, 2, 3)),
    Problem("semi-infinite-step", f"{C_AND_J}, section 2.4", field_judge(_step, 0.01), grids(1, 2, 4)),
    Problem("semi-infinite-flux", f"{C_AND_J}, section 2.9", field_judge(_flux, 0.01), grids(1, 2, 4)),
    Problem("semi-infinite-convection", f"{C_AND_J}, section 2.7", field_judge(_convection, 0.01), grids(1, 2, 4)),
    Problem("heated-slab", f"{C_AND_J}, section 3.14", field_judge(_heated, 0.01), grids(1, 2, 4)),
)
