"""The faces whose heat is entered in the ledger: boundary faces that are not closed, then those beside ambients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.stencil.coefficients import StencilCoefficients


class LedgerFaces(NamedTuple):
    """(m,) flat index of the cell at each face and which of its six faces; (accounts + 1,) where each account starts:
    the six FACES of the box, then the ambients."""

    cells: np.ndarray
    faces: np.ndarray
    starts: np.ndarray


def ledger_of(coefficients: StencilCoefficients) -> LedgerFaces:
    """The ledger of a problem."""
    cells = [
        np.empty(0, np.int64) if coefficients.closed[face] else boundary_cells(coefficients.shape, face)
        for face in range(6)
    ]
    faces = [np.full(len(each), face, np.uint8) for face, each in enumerate(cells)]
    if coefficients.ambient_faces is not None:
        for owner in range(coefficients.ambient_faces.ambients):
            chosen = coefficients.ambient_faces.owners == owner
            cells.append(np.asarray(coefficients.ambient_faces.cells[chosen], np.int64))
            faces.append(np.asarray(coefficients.ambient_faces.faces[chosen], np.uint8))
    starts = np.concatenate(([0], np.cumsum([len(each) for each in cells])))
    return LedgerFaces(np.concatenate(cells), np.concatenate(faces), starts)


def boundary_cells(shape: tuple[int, int, int], face: int) -> np.ndarray:
    """Flat indices of the cells at a face of the box, in C order of its two axes."""
    ranges = [np.arange(n, dtype=np.int64) for n in shape]
    axis = 2 - face // 2
    ranges[axis] = ranges[axis][-1:] if face % 2 else ranges[axis][:1]
    z, y, x = np.ix_(*ranges)
    return np.asarray(((z * shape[1] + y) * shape[2] + x).reshape(-1))
