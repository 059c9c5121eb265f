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

WEAK = 1e-2  # of the largest conductance of both cells: a face that passes less separates islands
MAX_ISLANDS = 2000  # whose balances are solved directly


@dataclass(frozen=True)
class Islands:
    """label: (cells,) the island of each cell, or -1; matrix: (islands, islands) of their balances, W/K."""

    label: np.ndarray
    matrix: np.ndarray

    def corrections(self, missing: np.ndarray) -> np.ndarray:
        """By how much each cell's island is off, K, in the shape of the missing heat of the cells, W."""
        solved = self.label >= 0
        heat = np.bincount(self.label[solved], missing.reshape(-1)[solved], len(self.matrix))
        found = np.append(np.linalg.solve(self.matrix, heat), 0.0)  # the last is that of cells which are not solved
        return np.asarray(found[self.label].reshape(missing.shape))


def find_islands(
    faces: tuple[np.ndarray, np.ndarray, np.ndarray], outside: np.ndarray, solved: np.ndarray | None
) -> Islands | None:
    """The islands of conductances g along x, y, z of the upper faces and to the outside, W/K, (nz, ny, nx) each; None
    if there is but one, or too many. solved: which cells are, None for all."""
    largest = np.zeros(outside.shape)
    for axis, g in zip((2, 1, 0), faces, strict=True):
        largest = np.maximum(largest, np.maximum(g, np.roll(g, 1, axis)))
    joined = [
        (g > 0, np.maximum(largest, np.roll(largest, -1, axis))) for axis, g in zip((2, 1, 0), faces, strict=True)
    ]
    if not any((there & (g < WEAK * most)).any() for (there, most), g in zip(joined, faces, strict=True)):
        return None
    index = np.arange(outside.size).reshape(outside.shape)
    lower = np.concatenate([index[there] for there, _ in joined])
    upper = np.concatenate([np.roll(index, -1, 2 - axis)[there] for axis, (there, _) in enumerate(joined)])
    g = np.concatenate([np.asarray(each[there], np.float64) for each, (there, _) in zip(faces, joined, strict=True)])
    weak = g < WEAK * np.concatenate([most[there] for there, most in joined])
    label = _connect(outside.size, lower[~weak], upper[~weak])
    if solved is not None:
        label = np.where(solved.reshape(-1), label, -1)
    names, label = np.unique(label, return_inverse=True)
    label = label.reshape(-1) - int(names[0] == -1)
    count = int(label.max()) + 1
    if not 1 < count <= MAX_ISLANDS:
        return None
    matrix = np.zeros((count, count))
    one, other = label[lower[weak]], label[upper[weak]]
    between = (one != other) & (one >= 0) & (other >= 0)
    np.add.at(matrix, (one[between], other[between]), -g[weak][between])
    matrix += matrix.T
    ties = np.bincount(label[label >= 0], np.asarray(outside, np.float64).reshape(-1)[label >= 0], count)
    np.fill_diagonal(matrix, ties - matrix.sum(axis=1))
    return Islands(label, matrix)


def _connect(cells: int, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The least cell that each one is connected to by pairs of cells."""
    label = np.arange(cells)
    while True:
        one, other = label[lower], label[upper]
        if np.array_equal(one, other):
            return label
        least = np.minimum(one, other)
        np.minimum.at(label, one, least)
        np.minimum.at(label, other, least)
        while not np.array_equal(label, label[label]):
            label = label[label]
