"""Temperatures at points over time, `probes.csv`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.output.recorders import TableRecorder
from heatsim.store.tables import CsvTable

if TYPE_CHECKING:
    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.scenario.output import Probe
    from heatsim.solve.state import State
    from heatsim.store.folder import RunFolder


class ProbeReader:
    """Reads the temperatures at probes from the state of a run."""

    def __init__(self, problem: Problem, probes: Sequence[Probe]) -> None:
        faces = [_balanced_face(problem, probe.at) for probe in probes]
        stencils = [
            problem_probe_weights(problem, probe.at, face=face) for probe, face in zip(probes, faces, strict=True)
        ]
        self._cells = np.array([cells for cells, _ in stencils])
        self._weights = np.array([weights for _, weights in stencils])
        on_faces = ((number, face) for number, face in enumerate(faces) if face is not None)
        self._surfaces = [(number, _boundary_places(problem, face, self._cells[number])) for number, face in on_faces]

    def read(self, state: State) -> list[float]:
        """The temperatures, in the scenario's unit."""
        weights, added = self._weights, np.zeros(len(self._weights))
        if self._surfaces:
            weights = weights.copy()
            a, b = state.problem.boundary_values(np.array([0.0 if np.isinf(state.time) else state.time]))
            for number, places in self._surfaces:  # half of a ghost's rise: the surface of the balance
                added[number] = 0.5 * float(weights[number] @ b[0, places])
                weights[number] *= 1.0 + 0.5 * a[0, places]
        found: list[float] = (state.sample(self._cells, weights) + added).tolist()
        return found


class ProbeRecorder(TableRecorder):
    """Writes all probes into one table; whenever one probe is due, all are recorded."""

    def __init__(self, problem: Problem, folder: RunFolder) -> None:
        scenario = problem.scenario
        probes, unit = scenario.output.probes, scenario.unit
        names = [f"{probe.name} [{unit}]" for probe in probes]
        table = CsvTable(folder.probes, ["time [s]", *names], goes_on=folder.goes_on)
        super().__init__((time for probe in probes for time in probe.times(scenario.time.last_time)), table)
        self._reader = ProbeReader(problem, probes)

    def record(self, state: State) -> None:
        """Add a row."""
        self._table.append([state.time, *self._reader.read(state)])


def make(problem: Problem, folder: RunFolder, writer: Writer) -> list[ProbeRecorder]:
    """The recorder of the probes, if there are any."""
    return [ProbeRecorder(problem, folder)] if problem.scenario.output.probes else []


def problem_probe_weights(
    problem: Problem, point: tuple[float, float, float], face: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The cells and weights from which a probe of a problem is read: see `probe_weights`."""
    seen = problem.zones.material, problem.materials.solids, problem.coefficients.periodic
    return probe_weights(problem.grid, point, *seen, face=face)


def is_on_a_face(problem: Problem, point: tuple[float, float, float]) -> bool:
    """Whether a probe there reads the temperature of the surface, by its balance."""
    return _balanced_face(problem, point) is not None


def _balanced_face(problem: Problem, point: tuple[float, float, float]) -> int | None:
    """The face of the box on which a point lies, where the balance of heat at its surface is known at once: that of a
    linear problem, at a cell that is solved. None elsewhere."""
    if problem.surfaces is not None:
        return None
    grid, solids = problem.grid, problem.materials.solids
    own = _own_cell(grid, point, lambda cell: problem.zones.material(cell) < solids)
    if problem.zones.material(own) >= solids:
        return None
    for axis, (name, place) in enumerate(zip(AXES, point, strict=True)):
        sizes = grid.sizes(name)
        for upper, end in enumerate(grid.span(name)):
            on_axis = grid.coordinates == "cylindrical" and axis == 0 and end == 0.0
            near = abs(place - end) <= _ON_A_FACE * float(sizes[-upper])
            if near and not on_axis and not problem.coefficients.periodic[axis]:
                return 2 * axis + upper
    return None


def _boundary_places(problem: Problem, face: int, cells: np.ndarray) -> np.ndarray:
    """Where among the boundary values those of some cells (n,), flat indices, beside a face stand; (n,)."""
    coefficients = problem.coefficients
    start = int(coefficients.boundary_offsets[face])
    if coefficients.boundary_per_cell:
        z, y, x = np.unravel_index(cells, coefficients.shape)
        rows, columns = ((z, y), (z, x), (y, x))[face // 2]
        return np.asarray(start + rows * coefficients.shape[(1, 2, 2)[face // 2]] + columns)
    return np.asarray(start + coefficients.classes_of(cells))


# Where a probe reads the temperature of a point: cells and their weights.


_ON_A_FACE = 1e-9  # of a cell; a place so near to a face lies on it

Cell = tuple[int, int, int]  # along x, y, z


def probe_weights(
    grid: CellGrid,
    point: tuple[float, float, float],
    material: Callable[[Cell], int] = lambda cell: 0,
    solids: int = 1,
    periodic: tuple[bool, bool, bool] = (False, False, False),
    *,
    face: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Flat indices (8,) and weights (8,) of the cells from which the temperature at a point (x, y, z), m, is read.

    material: of a cell (i, j, k) along x, y, z; from `solids` on materials are ambients. periodic: whether x, y, z
        wrap. face: that of FACES on which the point lies and whose balance is known, so that no line is drawn to it.

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
    if face is not None:
        lines[face // 2] = own[face // 2], 0.0
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
