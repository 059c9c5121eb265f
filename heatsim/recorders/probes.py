"""Temperatures at points over time, `probes.csv`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from heatsim.geometry.grid import AXES, CellGrid
from heatsim.recorders import TableRecorder
from heatsim.store.tables import CsvTable

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.recorders.writer import Writer
    from heatsim.simulation.state import State
    from heatsim.store.folder import RunFolder


class ProbeRecorder(TableRecorder):
    """All probes in one table; whenever one is due, all are recorded."""

    def __init__(self, problem: Problem, folder: RunFolder) -> None:
        scenario = problem.scenario
        probes = scenario.output.probes
        unit = scenario.temperature_unit
        names = [f"{probe.name} [{unit}]" for probe in probes]
        table = CsvTable(folder.probes, ["time [s]", *names], goes_on=folder.goes_on)
        super().__init__((time for probe in probes for time in probe.times(scenario.time.last_time)), table)
        stencils = [problem_probe_weights(problem, probe.at) for probe in probes]
        self._cells = np.array([cells for cells, _ in stencils])
        self._weights = np.array([weights for _, weights in stencils])

    def record(self, state: State) -> None:
        """Add a row."""
        self._table.append([state.time, *state.sample(self._cells, self._weights).tolist()])


def make(problem: Problem, folder: RunFolder, writer: Writer) -> list[ProbeRecorder]:
    """The recorder of the probes, if there are any."""
    return [ProbeRecorder(problem, folder)] if problem.scenario.output.probes else []


def problem_probe_weights(problem: Problem, point: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """The cells and weights from which a probe of a problem is read: see `probe_weights`."""
    seen = problem.zones.material, problem.materials.solids, problem.coefficients.periodic
    return probe_weights(problem.grid, point, *seen)


# Where a probe reads the temperature of a point: cells and their weights.


_ON_A_FACE = 1e-9  # of a cell; a place so near to a face lies on it

Cell = tuple[int, int, int]  # along x, y, z


def probe_weights(
    grid: CellGrid,
    point: tuple[float, float, float],
    material: Callable[[Cell], int] = lambda cell: 0,
    solids: int = 1,
    periodic: tuple[bool, bool, bool] = (False, False, False),
) -> tuple[np.ndarray, np.ndarray]:
    """Flat indices (8,) and weights (8,) of the cells from which the temperature at a point (x, y, z), m, is read.

    material: of a cell (i, j, k) along x, y, z; from `solids` on materials are ambients. periodic: whether x, y, z
        wrap.

    A probe sees the material of its own cell alone, so nothing is averaged over a jump of temperature or a bend of its
    slope. Along each axis a straight line goes through two centres of this material: that of its own cell and

        the next one towards the point                                  between them: interpolation
        the next one away from it, where that is of another material      up to the border: extrapolation
        or beyond the boundary face of the box
        none, where neither will do: the value is that of its own cell

    Towards the axis r = 0 the field is level. Axes are combined by products of their weights; where a cell across a
    corner is of another material, by sums of their slopes. Both are exact for linear fields, so of second order. A
    point on a face belongs to the cell above, unless that is an ambient and the one below is not; in an ambient all
    cells have its temperature.
    """
    own = _own_cell(grid, point, lambda cell: material(cell) < solids)

    def seen(cell: Cell) -> bool:
        return material(cell) == material(own)

    lines = [_line(grid, axis, point[axis], own, seen, periodic[axis]) for axis in range(3)]
    pairs = (((i, 1.0 - share), (beside, share)) for i, (beside, share) in zip(own, lines, strict=True))
    corners = list(product(*pairs))
    cells = [(x[0], y[0], z[0]) for x, y, z in corners]
    weights = [prod(share for _, share in corner) for corner in corners]
    if not all(seen(cell) for cell, weight in zip(cells, weights, strict=True) if weight != 0.0):
        shares = [share for _, share in lines]
        cells = [own] * 5 + [_moved(own, axis, beside) for axis, (beside, _) in enumerate(lines)]
        weights = [1.0 - sum(shares), 0.0, 0.0, 0.0, 0.0, *shares]
    _, ny, nx = grid.shape
    return np.array([(k * ny + j) * nx + i for i, j, k in cells]), np.array(weights)


def _own_cell(grid: CellGrid, point: tuple[float, float, float], solid: Callable[[Cell], bool]) -> Cell:
    """The cell that holds a point; of those that share a face it lies on, the uppermost solid one."""
    candidates = []
    for axis, place in zip(AXES, point, strict=True):
        faces, sizes = grid.faces(axis), grid.sizes(axis)
        inner, within = faces[1:-1], _ON_A_FACE * np.minimum(sizes[:-1], sizes[1:])
        above, below = (int(np.count_nonzero(inner <= place + side * within)) for side in (1, -1))
        candidates.append((above, below))
    x, y, z = candidates
    cells = list(product(x, y, z))
    return next((cell for cell in cells if solid(cell)), cells[0])


def _line(
    grid: CellGrid, axis: int, place: float, own: Cell, seen: Callable[[Cell], bool], periodic: bool
) -> tuple[int, float]:
    """The other cell of the line through a place on an axis, by its index there, and its weight; that of the own cell
    is the rest to one."""
    centres, sizes = grid.centres(AXES[axis]), grid.sizes(AXES[axis])
    count, index = len(centres), own[axis]
    away = float(place - centres[index])
    towards = 1 if away > 0.0 else -1
    on_axis = grid.coordinates == "cylindrical" and axis == 0 and grid.faces("x")[0] == 0.0
    for step in () if on_axis and index + towards < 0 else (towards, -towards):
        beside = (index + step) % count if periodic else index + step
        if 0 <= beside < count != 1 and seen(_moved(own, axis, beside)):
            return beside, step * away / (0.5 * float(sizes[index] + sizes[beside]))
    return index, 0.0


def _moved(cell: Cell, axis: int, index: int) -> Cell:
    """The cell at another index along an axis."""
    i, j, k = (index if other == axis else at for other, at in enumerate(cell))
    return i, j, k
