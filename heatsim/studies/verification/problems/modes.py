"""Modes that decay without a change of shape, in slabs, plates and blocks."""

from __future__ import annotations

import math

import numpy as np

from heatsim.studies.verification.exact import CARSLAW_JAEGER
from heatsim.studies.verification.exact.modes import FIXED, INSULATED, decay, slab_mode
from heatsim.studies.verification.judgement import VerificationProblem, field_judge
from heatsim.studies.verification.refinement import grids, steps

CAPACITY = 2e6  # rho c of all these scenarios, J/(m3 K)
_SECTION = f"{CARSLAW_JAEGER}, section"


def _slab(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    mode = slab_mode(0.1, 20.0, 5.0)
    return 100.0 * mode(x) * decay(1.0 / CAPACITY, mode, t)


def _plate(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    across, up = slab_mode(0.1, FIXED, FIXED), slab_mode(0.05, INSULATED, 40.0)
    left = decay(1.0 / CAPACITY, across, t) * decay(1.0 / CAPACITY, up, t)
    return np.asarray(100.0 * across(x) * up(y) * left)


def _block(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    modes = slab_mode(0.1, FIXED, INSULATED), slab_mode(0.1, INSULATED, INSULATED, 2), slab_mode(0.1, 40.0, 40.0)
    left = math.prod(decay(k / CAPACITY, mode, t) for k, mode in zip((2.0, 1.0, 0.5), modes, strict=True))
    return np.asarray(100.0 * modes[0](x) * modes[1](y) * modes[2](z) * left)


PROBLEMS = (
    VerificationProblem("mode-1d", f"{_SECTION} 3.11", field_judge(_slab, 0.002, means=True), grids(1, 2, 4, 8)),
    VerificationProblem("mode-2d", f"{_SECTION}s 3.11 and 5.6", field_judge(_plate, 0.005, means=True), grids(1, 2, 4)),
    VerificationProblem("mode-3d", f"{_SECTION}s 3.11 and 5.6", field_judge(_block, 0.005, means=True), grids(1, 2, 3)),
    VerificationProblem("unequal-cells", f"{_SECTION} 3.11", field_judge(_slab, 0.05, means=True), grids(1, 2, 4)),
)


# Orders in time, on a grid that stays, against the decay that this grid has.


def _decaying(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    cells = x.size
    eigenvalue = (2.0 * cells * math.sin(math.pi / (2.0 * cells))) ** 2
    return np.asarray(100.0 * np.cos(math.pi * x) * math.exp(-eigenvalue * t))


EIGENVALUE = "the eigenvalue of the grid"

TIME_ORDER_PROBLEMS = (
    VerificationProblem(
        "time-euler", EIGENVALUE, field_judge(_decaying, 0.05, order=1.0, means=True), steps(1, 2, 4, 8)
    ),
    VerificationProblem("time-implicit", EIGENVALUE, field_judge(_decaying, 0.01, means=True), steps(1, 2, 4, 8)),
    VerificationProblem("time-rkl2", EIGENVALUE, field_judge(_decaying, 0.01, means=True), steps(1, 2, 4, 8)),
)
