"""Islands: parts of a body that exchange little heat with each other.

A poor contact leaves its two sides with temperatures of their own, which only their own small balances determine. There
neither a small residual nor a small correction of the linear solver says that the temperature is right: the heat that
is missing in an island is nothing beside what flows within it, and a lot beside what leaves it. So each island is
asked for its balance: with r the heat that is missing in each cell,

    sum over other islands J of G_IJ (c_I - c_J) + s_I c_I = sum of r in island I         W

gives the c by which the mean temperatures of the islands are off. It is the Galerkin product of the heat balance with
fields that are constant in each island, which nearly separate islands change by as a whole (Nicolaides, Deflation of
conjugate gradients, SIAM J. Numer. Anal. 24, 1987).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from heatsim_kernels.solver.cpu import islands

from heatsim.base.threads import made

WEAK = 1e-2  # of the largest conductance of both cells: a face that passes less separates islands
MAX_ISLANDS = 2000  # whose balances are solved directly


@dataclass(frozen=True)
class Islands:
    """label: (cells,) the island of each cell, or -1; matrix: (islands, islands) of their balances, W/K."""

    label: np.ndarray
    matrix: np.ndarray

    def corrections(self, missing: np.ndarray) -> np.ndarray:
        """By how much each cell's island is off, K, in the shape of the missing heat of the cells, W."""
        found = np.linalg.solve(self.matrix, islands.add_up(self.label, missing, len(self.matrix)))
        found = np.append(found, 0.0)  # the last is that of cells which are not solved
        return made(missing.shape, np.float64, lambda z: found[self.label.reshape(missing.shape)[z]])


def find_islands(
    faces: tuple[np.ndarray, np.ndarray, np.ndarray], outside: np.ndarray, solved: np.ndarray | None
) -> Islands | None:
    """The islands of conductances g along x, y, z of the upper faces and to the outside, W/K, (nz, ny, nx) each; None
    if there is but one, or too many. solved: which cells are, None for all."""
    gx, gy, gz = map(np.ascontiguousarray, faces)
    found = islands.find_islands((gx, gy, gz), WEAK, solved, MAX_ISLANDS)
    if found is None:
        return None
    label, count, weak = found
    between = (weak.lower != weak.upper) & (weak.lower >= 0) & (weak.upper >= 0)
    pairs = weak.lower[between].astype(np.int64) * count + weak.upper[between]
    matrix = np.bincount(pairs, -weak.conductance[between], count * count).reshape(count, count)
    matrix = matrix + matrix.T
    ties = islands.add_up(label, np.asarray(outside, np.float64), count)
    np.fill_diagonal(matrix, ties - matrix.sum(axis=1))
    return Islands(label, matrix)
