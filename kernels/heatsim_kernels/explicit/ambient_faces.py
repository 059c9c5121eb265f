"""CPU: the heat that enters through ambient faces, those inside the grid between solved and prescribed cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.device.cpu.compilation import inlined
from heatsim_kernels.explicit.coefficients import StencilCoefficients


class AmbientFacePairs(NamedTuple):
    """For each of m ambient faces, plane after plane: the flat indices of the solved cell and of the prescribed cell
    beyond; the number of the ambient; and the place of the exchange in a table (6, n) of FACES and cell classes, flat.
    starts: (nz + 1,) where those of the solved cells of each plane start, and where the last ones end."""

    cells: np.ndarray
    beyond: np.ndarray
    owners: np.ndarray
    entries: np.ndarray
    starts: np.ndarray


def ambient_face_pairs(coefficients: StencilCoefficients) -> AmbientFacePairs:
    """The ambient faces of a problem, which may be none."""
    nz, ny, nx = coefficients.shape
    if coefficients.ambient_faces is None:
        none = np.empty(0, np.int64)
        return AmbientFacePairs(none, none, none, none, np.zeros(nz + 1, np.int64))
    order = np.argsort(coefficients.ambient_faces.cells, kind="stable")
    cells, faces, owners = (values[order] for values in coefficients.ambient_faces[:3])
    starts = np.searchsorted(cells, ny * nx * np.arange(nz + 1))
    at = np.array(np.unravel_index(cells, coefficients.shape))
    axes, pair = 2 - faces // 2, np.arange(len(cells))
    at[axes, pair] = (at[axes, pair] + np.where(faces % 2, 1, -1)) % np.array(coefficients.shape)[axes]
    beyond = np.asarray(np.ravel_multi_index(tuple(at), coefficients.shape), np.int64)
    entries = faces * np.int64(coefficients.class_count) + coefficients.classes_of(cells)
    return AmbientFacePairs(cells, beyond, owners, entries, np.asarray(starts, np.int64))


@inlined
def add_ambient_heat(z, u, pairs, weights, share, entered):
    """Add a share of the heat of a step, through the faces of the cells of a plane, to that row of entered, (nz,
    ambients) in J. u: the field before the step, flat. weights: (6, n) flat, the heat moved by a kelvin in a step,
    J/K."""
    for j in range(pairs.starts[z], pairs.starts[z + 1]):
        difference = np.float64(u[pairs.beyond[j]]) - np.float64(u[pairs.cells[j]])
        entered[z, pairs.owners[j]] += share * weights[pairs.entries[j]] * difference
