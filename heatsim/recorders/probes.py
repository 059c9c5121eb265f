"""Temperatures at points over time, `probes.csv`."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from heatsim.grid import AXES, Grid
from heatsim.store.tables import CsvTable

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.state import State
    from heatsim.store.folder import RunFolder


class ProbeRecorder:
    """All probes in one table; whenever one is due, all are recorded."""

    def __init__(self, problem: Problem, folder: RunFolder) -> None:
        scenario = problem.scenario
        probes = scenario.output.probes
        self.times = tuple(sorted({time for probe in probes for time in probe.times(scenario.time.end)}))
        unit = scenario.temperature_unit
        self._table = CsvTable(folder.probes, ["time [s]", *(f"{probe.name} [{unit}]" for probe in probes)])
        stencils = [interpolation(problem.grid, probe.at) for probe in probes]
        self._cells = np.array([cells for cells, _ in stencils])
        self._weights = np.array([weights for _, weights in stencils])

    def record(self, state: State) -> None:
        """Add a row."""
        self._table.append([state.time, *state.sample(self._cells, self._weights).tolist()])

    def close(self, finished: bool) -> None:
        """Close the table."""
        self._table.close()


def interpolation(grid: Grid, point: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Flat indices (8,) and weights (8,) of the cells whose centres surround a point (x, y, z), m.

    Linear between centres along each axis; within half a cell of a face of the box the nearest centres serve.
    """
    per_axis = []
    for axis, place in zip(AXES, point, strict=True):
        count = grid.shape[2 - AXES.index(axis)]
        position = min(max(_position(grid, axis, place), 0.0), count - 1.0)
        low = min(int(position), max(count - 2, 0))
        share = position - low
        per_axis.append([(low, 1.0 - share), (min(low + 1, count - 1), share)])
    corners = list(product(*per_axis))
    _, ny, nx = grid.shape
    cells = [(z[0] * ny + y[0]) * nx + x[0] for x, y, z in corners]
    weights = [x[1] * y[1] * z[1] for x, y, z in corners]
    return np.array(cells), np.array(weights)


def _position(grid: Grid, axis: str, place: float) -> float:
    """A place on an axis in numbers of cell centres: 1.25 is a quarter of the way from centre 1 to centre 2."""
    i = AXES.index(axis)
    if grid.edges[i] is None:
        return (place - grid.origin[i]) / grid.spacing[i] - 0.5
    centres = grid.centres(axis)
    return float(np.interp(place, centres, np.arange(len(centres))))
