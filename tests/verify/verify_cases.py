"""Stand-ins for finished runs, and an independent finite-volume solver for steady problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np
from scipy.sparse import csr_matrix, diags

from heatsim.base.grid import CellGrid
from heatsim.base.quantity import Quantity
from heatsim.studies.verification.standards import BalconyAmbient


@dataclass
class JudgedRun:
    """What a judge sees of a run, made of a field."""

    grid: CellGrid
    temperature: np.ndarray
    time: float = inf
    refined: int = 1
    shortened: int = 1
    heats: Mapping[str, float] = field(default_factory=dict)
    scenario: object = None

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.grid.centres("x"), self.grid.centres("y")[:, None], self.grid.centres("z")[:, None, None]

    def heat(self, face: str) -> float:
        return self.heats[face]


@dataclass
class Unit:
    unit: str = "degC"
    solved: Quantity = field(default_factory=lambda: Quantity(unit="degC"))


Exact = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]


def run_of(exact: Exact, grid: CellGrid, time: float = inf, refined: int = 1, off: float = 0.0) -> JudgedRun:
    """A run that found the exact field, but for `off` K everywhere."""
    x, y, z = grid.centres("x"), grid.centres("y")[:, None], grid.centres("z")[:, None, None]
    values = np.broadcast_to(exact(x, y, z, time), grid.shape) + off
    return JudgedRun(grid, values, time, refined, scenario=Unit())


def solved_balcony(
    run: JudgedRun, conductivity: np.ndarray, ambient: np.ndarray, ambients: Mapping[int, BalconyAmbient]
) -> JudgedRun:
    """ISO 10211 case 3 by conjugate gradients on a matrix of SciPy; nothing of heatsim's solvers is in it."""
    h = run.grid.spacing[0]
    solid = ambient == 0
    index = np.cumsum(solid.ravel()).reshape(solid.shape) - 1
    count = int(solid.sum())
    temperatures = np.array([0.0] + [ambients[n].temperature for n in sorted(ambients)])
    resistances = np.array([0.0] + [ambients[n].resistance for n in sorted(ambients)])
    rows, columns, values = [], [], []
    diagonal, heat = np.zeros(count), np.zeros(count)
    for axis in range(3):
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(0, -1), slice(1, None)
        a, b = tuple(low), tuple(high)
        inside = solid[a] & solid[b]
        g = h * h / (0.5 * h / conductivity[a][inside] + 0.5 * h / conductivity[b][inside])
        i, j = index[a][inside], index[b][inside]
        rows += [i, j]
        columns += [j, i]
        values += [-g, -g]
        np.add.at(diagonal, i, g)
        np.add.at(diagonal, j, g)
        for p, q in ((a, b), (b, a)):
            face = solid[p] & ~solid[q]
            g = h * h / (0.5 * h / conductivity[p][face] + resistances[ambient[q][face]])
            np.add.at(diagonal, index[p][face], g)
            np.add.at(heat, index[p][face], g * temperatures[ambient[q][face]])
    matrix = csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), (count, count))
    field = temperatures[ambient]
    field[solid] = conjugate_gradients(matrix + diags(diagonal), heat, diagonal)
    return JudgedRun(run.grid, field, refined=run.refined)


def conjugate_gradients(matrix: csr_matrix, right: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """With Jacobi's preconditioner. SciPy's own calls BLAS, whose threads wait for each other on a busy machine."""
    x, residual = np.zeros_like(right), right.copy()
    direction = residual / diagonal
    size = first = float(np.sum(residual * direction))
    while size > 1e-20 * first:
        image = matrix @ direction
        step = size / float(np.sum(direction * image))
        x += step * direction
        residual -= step * image
        size, before = float(np.sum(residual**2 / diagonal)), size
        direction = residual / diagonal + size / before * direction
    return x
