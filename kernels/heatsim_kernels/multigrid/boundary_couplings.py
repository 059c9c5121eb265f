"""The ways by which heat enters cells: the faces of the box, and ambients, which are walls inside the box.

A way passes g (a T + b) to each cell beside it, with the a and b of `Forcing` and g the conductance of the face in W/K.
Of an ambient a is -1 and b its temperature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.stencil.ambient_faces import AmbientFacePairs, ambient_face_pairs
from heatsim_kernels.stencil.heat_ledger import boundary_cells
from heatsim_kernels.stencil.terms import StencilCoefficients


class BoundaryCoupling(NamedTuple):
    """number: in the heat ledger, of the six FACES, then of the ambients; cells: (m,) int64 flat index of the cells
    beside it, each once; conductance: (m,) W/K from there; entries: (m,) int64 where the a and b of each stand: among
    the wall values, and after these one an ambient."""

    number: int
    cells: np.ndarray
    conductance: np.ndarray
    entries: np.ndarray


def find_boundary_couplings(terms: StencilCoefficients) -> list[BoundaryCoupling]:
    """All ways of a problem: the faces that are not closed, then the ambients that some cell touches."""
    taps = ambient_face_pairs(terms)
    faces = [_face(terms, number) for number in range(6) if not terms.closed[number]]
    ambients = [_ambient(terms, taps, owner) for owner in range(terms.ledger_size - 6)]
    return faces + [way for way in ambients if way.cells.size]


def _face(terms: StencilCoefficients, number: int) -> BoundaryCoupling:
    cells = boundary_cells(terms.shape, number)
    kinds = np.zeros(cells.size, np.int64) if terms.kinds is None else terms.kinds.reshape(-1)[cells].astype(np.int64)
    entries = np.arange(cells.size) if terms.wall_per_cell else kinds
    return BoundaryCoupling(number, cells, terms.conductances()[number][kinds], terms.wall_offsets[number] + entries)


def _ambient(terms: StencilCoefficients, taps: AmbientFacePairs, owner: int) -> BoundaryCoupling:
    """A cell with several faces to an ambient is there once."""
    mine = taps.owners == owner
    cells, face = np.unique(taps.cells[mine], return_inverse=True)
    conductance = np.bincount(face, terms.conductances().reshape(-1)[taps.entries[mine]])
    return BoundaryCoupling(6 + owner, cells, conductance, np.full(len(cells), terms.wall_size + owner))
