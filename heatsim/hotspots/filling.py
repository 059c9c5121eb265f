"""What takes the place of cells that are not solved, so that their border is no feature of the field."""

from __future__ import annotations

from itertools import product

import numpy as np


def filled(frames: np.ndarray, solid: np.ndarray, spacing: tuple[float, float]) -> np.ndarray:
    """Frames (n, ny, nx) in which each cell that is not `solid` (ny, nx) has the value of the nearest one that is.

    spacing: of cells along y and x, m. Some cell has to be solid.

    Each cell asks those 2^k, ..., 2, 1 cells away in eight directions which solid cell is the nearest that they know:
    jump flooding, Rong and Tan, Proceedings of I3D 2006. Now and then it finds one that is nearly the nearest.
    """
    rows, columns = solid.shape
    y, x = np.nonzero(~solid)
    nearest = np.where(solid, np.arange(solid.size).reshape(solid.shape), -1)  # by flat index; -1: not known yet
    least = np.full(y.size, np.inf)
    step = 1 << (max(solid.shape) - 1).bit_length()
    while step := step // 2:
        for down, across in product((-step, 0, step), repeat=2):
            asked = nearest[(y + down).clip(0, rows - 1), (x + across).clip(0, columns - 1)]
            there_y, there_x = np.divmod(asked, columns)
            away = ((there_y - y) * spacing[0]) ** 2 + ((there_x - x) * spacing[1]) ** 2
            nearer = (asked >= 0) & (away < least)
            least[nearer] = away[nearer]
            nearest[y[nearer], x[nearer]] = asked[nearer]
    return np.asarray(frames.reshape(len(frames), -1)[:, nearest])
