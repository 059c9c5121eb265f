"""Parts of the box of which a run keeps statistics: their cells, volumes and heat capacities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from heatsim_kernels.totals import Cells

from heatsim.errors import ScenarioError
from heatsim.grid import AXES, Grid
from heatsim.problem.painting import masks
from heatsim.scenario import Scenario


class Part(NamedTuple):
    """A part of the box, and its solid cells."""

    name: str
    cells: Cells


def make_parts(scenario: Scenario, grid: Grid, medium: np.ndarray, capacities: np.ndarray) -> tuple[Part, ...]:
    """The parts that `output.regions` names.

    medium: of each cell, an index into the scenario's materials and then its ambients, (nz, ny, nx); capacities: (n,)
    of each, J/(m3 K), 0 of ambients. Raises `ScenarioError` for a part without solid cells.
    """
    return tuple(_part(scenario, grid, number, medium, capacities) for number in range(len(scenario.output.regions)))


def _part(scenario: Scenario, grid: Grid, number: int, medium: np.ndarray, capacities: np.ndarray) -> Part:
    wanted, key = scenario.output.regions[number], ("output", "regions", number)
    inside = np.stack([mask.copy() for mask in masks(scenario, key, wanted, grid)]) & (capacities > 0)[medium]
    if wanted.material is not None:
        inside &= medium == list(scenario.materials).index(wanted.material)
    cells = np.flatnonzero(inside)
    if cells.size == 0:
        where = "material" if wanted.material is not None else (wanted.forms or ("name",))[0]
        message = "covers no centre of a solid cell" if where != "material" else "no cell is made of it"
        raise ScenarioError([scenario.problem_at((*key, where), message)])
    z, y, x = np.unravel_index(cells, grid.shape)
    along = dict(zip(AXES, (x, y, z), strict=True))
    volumes = np.prod([grid.measure(axis)[along[axis]] for axis in AXES], axis=0)
    return Part(wanted.name, Cells(cells, volumes, volumes * capacities[medium.reshape(-1)[cells]]))
