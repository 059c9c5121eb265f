"""How the effective conductivity depends on the size of the part that is looked at.

A part is representative if parts of its size agree, and larger ones do. So cubes of growing sizes are cut out, without
overlap, and each is solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from heatsim.studies.homogenisation.conductivity import find_conductivity
from heatsim.studies.homogenisation.media import AXES, Medium

LEAST_SIZE = 16  # voxels along an edge
HALVINGS = 4
MAX_CUBES = 8  # of one size


class CubesOfSize(NamedTuple):
    """size: voxels along an edge; values: (cubes, axes) their conductivities along some axes, W/(m K); means: (cubes,)
    the mean conductivities of their phases."""

    size: int
    values: np.ndarray
    means: np.ndarray


def find_in_parts(
    medium: Medium, directions: Sequence[str], *, sides: str, tolerance: float, device: str = "auto"
) -> list[CubesOfSize]:
    """The conductivities of cubes of a half, a quarter ... of the shortest edge, smallest first."""
    shortest, found = min(medium.labels.shape), []
    for halving in range(HALVINGS, 0, -1):
        size = shortest >> halving
        if size < LEAST_SIZE:
            continue
        values, means = [], []
        for corner in _corners(medium, size):
            part = medium.part(corner, size)
            means.append(part.mean)
            result = find_conductivity(part, directions, sides=sides, tolerance=tolerance, device=device)
            values.append([result.conductivity[AXES.index(name), AXES.index(name)] for name in directions])
        found.append(CubesOfSize(size, np.array(values), np.array(means)))
    return found


def _corners(medium: Medium, size: int) -> list[tuple[int, int, int]]:
    """(z, y, x) of cubes spread over the medium, MAX_CUBES at most."""
    places = [[number * size for number in range(n // size)] for n in medium.labels.shape]
    corners = list(product(*places))
    chosen = np.unique(np.linspace(0, len(corners) - 1, min(MAX_CUBES, len(corners))).round().astype(int))
    return [corners[number] for number in chosen.tolist()]
