"""The linear operator of heat conduction on a grid, as the solver sees it: conductances and nothing else.

    (A T)_i = sum over the six faces of g (T_i - T_j)  +  s_i T_i        W, for T in K

    g   W/K, conductance of the face between two cells
    s   W/K, what ties a cell to something given: walls, ambients, and heat capacity over time step

A is symmetric, and positive definite as soon as one s is positive. Several materials, conductivity that depends on
temperature, contact resistance, unequal cells, cells that are not solved: all of that is other numbers in g and s.
A cell that is held exchanges nothing, and its row says s T = 0: the solver is to be asked for increments. Its s is
small, so that the solver's coarse grids, which cannot tell it from the cells around, hardly feel it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heatsim_kernels.stencil.ambient_faces import AmbientFacePairs, ambient_face_pairs
from heatsim_kernels.stencil.heat_ledger import boundary_cells
from heatsim_kernels.stencil.terms import StencilCoefficients


@dataclass(frozen=True)
class Operator:
    """Conductances of the faces and of what lies outside, W/K; all arrays (nz, ny, nx), C order, of one float type.

    gx, gy, gz: of the face between a cell and the next one up along the axis. That of the last cell leads round to
        the first one: it is 0 unless the axis is periodic.
    s: sum of what ties the cell to the outside; not negative.
    periodic: for axes x, y, z, whether the index wraps.
    """

    gx: np.ndarray
    gy: np.ndarray
    gz: np.ndarray
    s: np.ndarray
    periodic: tuple[bool, bool, bool] = (False, False, False)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(nz, ny, nx)."""
        nz, ny, nx = self.s.shape
        return nz, ny, nx

    @property
    def grounded(self) -> bool:
        """Whether some cell is tied to the outside; if none is, A is singular: every constant solves A T = 0."""
        return bool(self.s.max() > 0)


class BoundaryCoupling(NamedTuple):
    """A face of the box, or an ambient: it passes g (a T + b) W to each cell beside it, with the a and b of `Forcing`.
    An ambient is a wall inside the box; its a is -1 and its b its temperature.

    number: in the heat ledger, of the six FACES, then of the ambients; cells: (m,) int64 flat index of the cells
    beside it, each once; conductance: (m,) g from there, W/K; entries: (m,) int64 where the a and b of each stand:
    among the wall values, and after these one an ambient.
    """

    number: int
    cells: np.ndarray
    conductance: np.ndarray
    entries: np.ndarray


def find_boundary_couplings(terms: StencilCoefficients) -> list[BoundaryCoupling]:
    """All couplings of a problem: the faces that are not closed, then the ambients that some cell touches."""
    taps = ambient_face_pairs(terms)
    faces = [_face(terms, number) for number in range(6) if not terms.closed[number]]
    ambients = [_ambient(terms, taps, owner) for owner in range(terms.ledger_size - 6)]
    return faces + [coupling for coupling in ambients if coupling.cells.size]


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
