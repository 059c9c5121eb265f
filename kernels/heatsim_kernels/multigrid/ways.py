"""The ways by which heat enters cells: the faces of the box, and ambients, which are walls inside the box.

A way passes g (a T + b) to each cell beside it, with the a and b of `Drive` and g the conductance of the face in W/K.
Of an ambient a is -1 and b its temperature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.stencil.nonlinear.ledger import boundary_cells
from heatsim_kernels.stencil.taps import TappedFaces, tapped_faces
from heatsim_kernels.stencil.terms import Terms


class Way(NamedTuple):
    """number: in the heat ledger, of the six FACES, then of the ambients; cells: (m,) int64 flat index of the cells
    beside it, each once; conductance: (m,) W/K from there; entries: (m,) int64 where the a and b of each stand: among
    the wall values, and after these one an ambient."""

    number: int
    cells: np.ndarray
    conductance: np.ndarray
    entries: np.ndarray


def ways_of(terms: Terms) -> list[Way]:
    """All ways of a problem: the faces that are not closed, then the ambients that some cell touches."""
    taps = tapped_faces(terms)
    faces = [_face(terms, number) for number in range(6) if not terms.closed[number]]
    ambients = [_ambient(terms, taps, owner) for owner in range(terms.ledger_size - 6)]
    return faces + [way for way in ambients if way.cells.size]


def _face(terms: Terms, number: int) -> Way:
    cells = boundary_cells(terms.shape, number)
    kinds = np.zeros(cells.size, np.int64) if terms.kinds is None else terms.kinds.reshape(-1)[cells].astype(np.int64)
    entries = np.arange(cells.size) if terms.wall_per_cell else kinds
    return Way(number, cells, terms.conductances()[number][kinds], terms.wall_offsets[number] + entries)


def _ambient(terms: Terms, taps: TappedFaces, owner: int) -> Way:
    """A cell with several faces to an ambient is there once."""
    mine = taps.owners == owner
    cells, face = np.unique(taps.cells[mine], return_inverse=True)
    conductance = np.bincount(face, terms.conductances().reshape(-1)[taps.entries[mine]])
    return Way(6 + owner, cells, conductance, np.full(len(cells), terms.wall_size + owner))
