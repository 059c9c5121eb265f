"""Faces of cells: the one type for a set of them, on the sides of the box or inside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

SIDES = 6  # of the box: the first accounts of the heat ledger; then the ambients
NEIGHBOUR = -1  # in place of an account: the cell beyond supplies the heat


class FaceSet(NamedTuple):
    """A set of n faces, each as one cell sees it.

    cells: (n,) int64 flat index of the cell. faces: (n,) uint8 which of its six FACES. accounts: (n,) int64 account of
    the heat ledger that supplies what comes in through it: a side of the box, by its number, an ambient, or NEIGHBOUR.
    ledger_size: number of accounts, without one for losses.
    """

    cells: np.ndarray
    faces: np.ndarray
    accounts: np.ndarray
    ledger_size: int = SIDES

    @property
    def starts(self) -> np.ndarray:
        """(accounts + 1,) where each account starts in a set whose accounts ascend, and where the last one ends."""
        return np.searchsorted(self.accounts, np.arange(self.ledger_size + 1))

    def chosen(self, which: np.ndarray) -> Self:
        """Some of the faces, by a mask or by their numbers."""
        cells, faces, accounts = (values[which] for values in self[:3])
        return self._replace(cells=cells, faces=faces, accounts=accounts)

    def classes(self, class_ids: np.ndarray) -> np.ndarray:
        """(n,) the class of the cell of each face; class_ids: those of all cells, or `ONE_CLASS`."""
        return classes_at(self.cells, class_ids)

    def values(self, table: np.ndarray, class_ids: np.ndarray) -> np.ndarray:
        """(n,) what a table (classes, 6) of faces has for each: a conductance, say."""
        return np.asarray(table[self.classes(class_ids), self.faces])

    def beyond(self, shape: tuple[int, int, int]) -> np.ndarray:
        """(n,) int64 flat index of the cell beyond each face, round to the other side at a side of the box."""
        at = np.array(np.unravel_index(self.cells, shape))
        axes, number = 2 - self.faces // 2, np.arange(len(self.cells))
        at[axes, number] = (at[axes, number] + np.where(self.faces % 2, 1, -1)) % np.array(shape)[axes]
        return np.asarray(np.ravel_multi_index(tuple(at), shape), np.int64)


def classes_at(cells: np.ndarray, class_ids: np.ndarray) -> np.ndarray:
    """(n,) int64 the classes of cells (n,), flat indices; class_ids: those of all cells, or `ONE_CLASS`."""
    if class_ids.size == 1:
        return np.zeros(cells.shape, np.int64)
    return np.asarray(class_ids.reshape(-1)[cells], np.int64)


def joined(sets: Sequence[FaceSet], ledger_size: int) -> FaceSet:
    """All faces of some sets, one set after another; ledger_size: of the accounts of all."""
    none = FaceSet(np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.int64))
    cells, faces, accounts = (np.concatenate([each[i] for each in (none, *sets)]) for i in range(3))
    return FaceSet(cells, faces, accounts, ledger_size)
