"""CPU: the heat that enters cells through their surfaces, for those who look at a field: see `surface`."""

from __future__ import annotations

import numpy as np

from ...cpu_jit import inlined, jit
from .surface import heat_entering as _heat_entering
from .terms import STEFAN_BOLTZMANN

heat_entering = inlined(_heat_entering)


def entering(T: np.ndarray, r: np.ndarray, walls: np.ndarray, reference: float) -> np.ndarray:
    """(m,) W/m2 that enter cells at rises T (m,) behind half cells r (m,), m2 K/W; walls: (5, m), see
    `NonlinearDrive.walls`."""
    coefficient, ambient, flux, emissivity, surroundings = np.asarray(walls, np.float64)
    entered = np.zeros(len(T))
    radiating = emissivity * STEFAN_BOLTZMANN
    _entering(T, r, coefficient, ambient, flux, radiating, surroundings, float(reference), entered)
    return entered


@jit
def _entering(T, r, h, ambient, flux, em, surroundings, reference, entered):
    for i in range(T.size):
        numbers = h[i], ambient[i], flux[i], em[i], surroundings[i], reference, 0.0, 1.0, 4.0
        entered[i] = heat_entering(T[i], r[i], *numbers)[0]
