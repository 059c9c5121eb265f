"""CPU: heat that enters through faces inside the grid: those between cells solved and cells held."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim_kernels.runtime.cpu.compilation import inlined
from heatsim_kernels.stencil.terms import StencilCoefficients

BLOCKS = 64  # the taps are summed in so many parts, whatever the number of threads


class AmbientFacePairs(NamedTuple):
    """(m,) of each face: flat indices of the cells on its two sides, solved and held, the number of the ambient, and
    the place of its exchange in a table (6, n) of faces and kinds, flat."""

    cells: np.ndarray
    beyond: np.ndarray
    owners: np.ndarray
    entries: np.ndarray


def ambient_face_pairs(terms: StencilCoefficients) -> AmbientFacePairs:
    """The taps of a problem; none of them where it has none."""
    if terms.taps is None:
        return AmbientFacePairs(*np.empty((4, 0), np.int64))
    cells, faces, owners, _ = terms.taps
    at = np.array(np.unravel_index(cells, terms.shape))
    axes, taps = 2 - faces // 2, np.arange(len(cells))
    at[axes, taps] = (at[axes, taps] + np.where(faces % 2, 1, -1)) % np.array(terms.shape)[axes]
    beyond = np.asarray(np.ravel_multi_index(tuple(at), terms.shape), np.int64)
    kinds = 0 if terms.kinds is None else terms.kinds.reshape(-1)[cells]
    return AmbientFacePairs(cells, beyond, owners, faces * np.int64(terms.kind_count) + kinds)


@inlined
def add_ambient_heat(block, u, taps, weights, share, tapped):
    """Add a share of the heat of a step from the field `u`, flat, through the faces of one of BLOCKS blocks, to that
    row of tapped (BLOCKS, ambients), J; weights: (6, n) flat, the heat moved by a kelvin in a step."""
    for tap in range(block * taps.cells.size // BLOCKS, (block + 1) * taps.cells.size // BLOCKS):
        difference = np.float64(u[taps.beyond[tap]]) - np.float64(u[taps.cells[tap]])
        tapped[block, taps.owners[tap]] += share * weights[taps.entries[tap]] * difference
