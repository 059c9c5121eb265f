"""Free space, the semi-infinite solid and a heated slab."""

from __future__ import annotations

import numpy as np

from heatsim.studies.verification.exact import CARSLAW_JAEGER, INCROPERA, transient
from heatsim.studies.verification.judgement import VerificationProblem, field_judge
from heatsim.studies.verification.refinement import grids, steps

_SECTION = f"{CARSLAW_JAEGER}, section"


def _gaussian(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    factors = (transient.spreading_gaussian(place, t, 0.01, k / 2e6) for place, k in ((x, 2.0), (y, 1.0), (z, 0.5)))
    along_x, along_y, along_z = factors
    return np.asarray(100.0 * along_x * along_y * along_z)


def _step(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return 100.0 * transient.half_space_fixed_surface(x, t, 1e-6)


def _flux(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return transient.half_space_flux(x, t, 1e-6, 1.0, 2000.0)


def _convection(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return 100.0 * transient.half_space_convection(x, t, 1e-6, 50.0)


def _heated(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return transient.heated_slab(x, t, 0.1, 1.0, 1e6, 1e4)


PROBLEMS = (
    VerificationProblem("gaussian", f"{_SECTION} 10.3", field_judge(_gaussian, 0.005, means=True), grids(1, 2, 3)),
    VerificationProblem("semi-infinite-step", f"{_SECTION} 2.4", field_judge(_step, 0.01), grids(1, 2, 4)),
    VerificationProblem("semi-infinite-flux", f"{_SECTION} 2.9", field_judge(_flux, 0.01), grids(1, 2, 4)),
    VerificationProblem("semi-infinite-convection", f"{_SECTION} 2.7", field_judge(_convection, 0.01), grids(1, 2, 4)),
    VerificationProblem("heated-slab", f"{_SECTION} 3.14", field_judge(_heated, 0.01), grids(1, 2, 4)),
)


# Bodies of one temperature, which show the error in time alone.


def _convective(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return np.array(100.0 * transient.lumped_convection(t, 8960.0 * 385.0 * 0.01 / (6.0 * 50.0)))


def _radiating(x: np.ndarray, y: np.ndarray, z: np.ndarray, t: float) -> np.ndarray:
    return np.array(transient.lumped_radiation(t, 1000.0, 0.9, 7200.0 * 500.0 * 0.01))


SMALL_BODY_PROBLEMS = (
    VerificationProblem(
        "lumped-cooling", f"{INCROPERA}, section 5.1", field_judge(_convective, 0.01), steps(1, 2, 4, 8)
    ),
    VerificationProblem(
        "lumped-radiation",
        f"{INCROPERA}, section 5.3",
        field_judge(_radiating, 0.1, order=1.0),
        steps(1, 2, 4, 8),
        exact=True,  # beside so good a conductor float32 rounds away what passes the face
    ),
)
