"""CPU: the heat that enters through ambient faces, those inside the grid between solved and prescribed cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.runtime.cpu.compilation import inlined
from heatsim_kernels.stencil.coefficients import StencilCoefficients

BLOCKS = 64  # heat is summed in so many parts, for the same sums with any number of threads


class AmbientFacePairs(NamedTuple):
    """For each of m ambient faces: the flat indices of the solved cell and of the prescribed cell beyond; the number of
    the ambient; and the place of the exchange in a table (6, n) of FACES and cell classes, flat."""

    cells: np.ndarray
    beyond: np.ndarray
    owners: np.ndarray
    entries: np.ndarray


def ambient_face_pairs(coefficients: StencilCoefficients) -> AmbientFacePairs:
    """The ambient faces of a problem, which may be none."""
    if coefficients.ambient_faces is None:
        return AmbientFacePairs(*np.empty((4, 0), np.int64))
    cells, faces, owners, _ = coefficients.ambient_faces
    at = np.array(np.unravel_index(cells, coefficients.shape))
    axes, pair = 2 - faces // 2, np.arange(len(cells))
    at[axes, pair] = (at[axes, pair] + np.where(faces % 2, 1, -1)) % np.array(coefficients.shape)[axes]
    beyond = np.asarray(np.ravel_multi_index(tuple(at), coefficients.shape), np.int64)
    class_ids = 0 if coefficients.class_ids is None else coefficients.class_ids.reshape(-1)[cells]
    return AmbientFacePairs(cells, beyond, owners, faces * np.int64(coefficients.class_count) + class_ids)


@inlined
def add_ambient_heat(block, u, pairs, weights, share, entered):
    """Add a share of the heat of a step, through the faces of one of BLOCKS blocks, to that row of entered, (BLOCKS,
    ambients) in J. u: the field before the step, flat. weights: (6, n) flat, the heat moved by a kelvin in a step,
    J/K."""
    for j in range(block * pairs.cells.size // BLOCKS, (block + 1) * pairs.cells.size // BLOCKS):
        difference = np.float64(u[pairs.beyond[j]]) - np.float64(u[pairs.cells[j]])
        entered[block, pairs.owners[j]] += share * weights[pairs.entries[j]] * difference
