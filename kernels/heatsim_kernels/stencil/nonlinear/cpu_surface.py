"""CPU: the heat that enters cells through their surfaces, for those who look at a field: see `cell`."""

from __future__ import annotations

import numpy as np

from heatsim_kernels.cpu_jit import jit
from heatsim_kernels.stencil.nonlinear.cpu import medium_of, walls_of
from heatsim_kernels.stencil.nonlinear.cpu_pass import functions, pointed, walls_from
from heatsim_kernels.stencil.nonlinear.numbers import wall_rows
from heatsim_kernels.stencil.nonlinear.terms import NonlinearDrive, NonlinearTerms

wall_heat = functions.wall_heat


def entering(terms: NonlinearTerms, face: int, T: np.ndarray, kinds: np.ndarray, walls: np.ndarray) -> np.ndarray:
    """(m,) W/m2 that enter the cells beside a face of the box, in the order of `boundary_cells`, at rises T (m,).

    kinds: (m,) of these cells; walls: (1, 5, wall_size), see `NonlinearDrive`.
    """
    real, entered = np.dtype(np.float64), np.zeros(len(T))
    values = walls_of(terms, wall_rows(NonlinearDrive(walls), real), real)
    _entering(face, T.astype(real), kinds.astype(np.int64), medium_of(terms, 1.0, real), values, entered)
    return entered


@jit
def _entering(face, T, kinds, medium, walls, entered):
    m, w = pointed(medium), walls_from(walls, 0)
    for i in range(T.size):
        row = np.int64(m.material[kinds[i]]) * m.segments
        entered[i] = wall_heat(T[i], row, kinds[i], face, i, m, w)[0]
