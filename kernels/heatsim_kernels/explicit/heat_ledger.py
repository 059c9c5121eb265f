"""What the ledger enters: the heat of boundary faces that are not closed and of those beside ambients; and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from heatsim_kernels.explicit.coefficients import Forcing, StencilCoefficients
from heatsim_kernels.explicit.face_sets import SIDES, FaceSet, joined
from heatsim_kernels.explicit.slabs import SlabLinks


def ledger_of(coefficients: StencilCoefficients) -> FaceSet:
    """The faces whose heat the ledger of a problem enters: those on open sides of the box, and at ambients. Accounts
    ascend, and within each the cells."""
    sides = [boundary_faces(coefficients.shape, face) for face in range(SIDES) if not coefficients.closed[face]]
    ambients = coefficients.ambient_faces
    if ambients is not None:
        sides.append(ambients.chosen(np.lexsort((ambients.cells, ambients.accounts))))
    return joined(sides, SIDES + coefficients.ambient_count)


def boundary_faces(shape: tuple[int, int, int], face: int) -> FaceSet:
    """The faces at a side of the box, in the order of `boundary_cells`."""
    cells = boundary_cells(shape, face)
    return FaceSet(cells, np.full(len(cells), face, np.uint8), np.full(len(cells), face, np.int64))


def boundary_cells(shape: tuple[int, int, int], face: int) -> np.ndarray:
    """Flat indices of the cells at a face of the box, in C order of its two axes."""
    ranges = [np.arange(n, dtype=np.int64) for n in shape]
    axis = 2 - face // 2
    ranges[axis] = ranges[axis][-1:] if face % 2 else ranges[axis][:1]
    z, y, x = np.ix_(*ranges)
    return np.asarray(((z * shape[1] + y) * shape[2] + x).reshape(-1))


class LossesOfOneClass:
    """The losses of a field of a single cell class, by explicit steps.

    They follow from the heat that the field holds, and that from the balance: no kernel has to sum the cells.

        lost in a step = share * held before it,    held after it = held before it - lost + entered + released
    """

    def __init__(self, coefficients: StencilCoefficients, dtype: np.dtype, links: SlabLinks | None = None) -> None:
        assert coefficients.losses is not None
        self.capacity, self._loss = float(coefficients.capacity[0]), float(coefficients.losses[0])
        self._dtype, self._links = np.dtype(dtype), links
        self._cells = int(np.prod(coefficients.shape if links is None else links.slab.cells))
        self._summed: tuple[np.ndarray, float] | None = None

    @classmethod
    def of(
        cls, coefficients: StencilCoefficients, dtype: np.dtype, links: SlabLinks | None = None
    ) -> LossesOfOneClass | None:
        """Those of a problem, or of a slab of it; None if it has several cell classes or no losses."""
        return None if coefficients.several or coefficients.losses is None else cls(coefficients, dtype, links)

    def share(self, dt: float) -> float:
        """The share of its heat that the field loses in a step of `dt` s, as kernels round it."""
        return float(self._dtype.type(dt * self._loss))

    def released(self, dt: float, forcing: Forcing) -> np.ndarray:
        """(k,) heat that the sources release in each of the first k steps of `dt` s, J; the last serves all later ones.
        Without windows."""
        rises = np.zeros(1)  # sums over all cells, K
        if forcing.heat_table is not None:
            rises = self._cells * self._rounded(dt) * self._rounded(forcing.heat_table[:, 0])
        if forcing.heat_field is not None:
            gains = self._rounded(dt * forcing.heat_scale) * self._sum(forcing.heat_field)
            last = np.arange(max(len(rises), len(gains)))
            rises = rises[np.minimum(last, len(rises) - 1)] + gains[np.minimum(last, len(gains) - 1)]
        return np.asarray(self.capacity * rises)

    def _rounded(self, values: Any) -> Any:
        return np.asarray(values).astype(self._dtype).astype(np.float64)

    def _sum(self, field: np.ndarray) -> float:
        """The sum of a source by cell, which is often the same object as last time."""
        if self._summed is None or self._summed[0] is not field:
            own = field if self._links is None else field[self._links.slab.own]
            by_plane = own.astype(np.float64).reshape(len(own), -1).sum(axis=1)
            whole = by_plane if self._links is None else self._links.whole(by_plane)
            self._summed = field, float(whole.sum())
        return self._summed[1]
