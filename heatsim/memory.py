"""Bytes that a run takes: of the state on its device, of fields that are watched, of snapshots on their way to disk."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from heatsim_kernels.totals import CELL_BYTES
from heatsim_kernels.watch import bytes_a_cell

from heatsim.integrators import SOLVING
from heatsim.scenario.output import PAST, VECTORS

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.scenario import Scenario

BASE = 250e6  # bytes of Python, NumPy, Numba and compiled kernels
STAGE_FIELDS = 5  # of super time stepping, at most
BOTH_VECTORS = 48  # bytes a cell of heat flux and gradient while they are found, in float64
MEDIA_OF_CELLS = 57  # bytes a cell more, at most, where conductivity differs from cell to cell


def state_bytes(scenario: Scenario, problem: Problem | None = None) -> int:
    """Bytes on the device: the two copies of the state and the kinds of the cells, or all that a solver needs, and the
    fields that are watched. How many kinds there are, the problem tells; until it is built, a byte a cell is counted.
    """
    cells, integrator = prod(scenario.grid.cells), scenario.time.integrator
    itemsize = np.dtype(scenario.compute.precision).itemsize
    peak, times, coolings = (name in scenario.output.fields for name in PAST)
    if integrator in SOLVING:
        return cells * (SOLVING[integrator] + bytes_a_cell(peak, times, coolings, 8)) + _part_bytes(problem)
    fields = STAGE_FIELDS if integrator == "rkl2" else 2
    ids = cells if problem is None else problem.kind_bytes
    return cells * (fields * itemsize + bytes_a_cell(peak, times, coolings, itemsize)) + ids + _part_bytes(problem)


def _part_bytes(problem: Problem | None) -> int:
    """Bytes of what is known of the parts of which statistics are kept."""
    return 0 if problem is None else sum(CELL_BYTES * part.cells.indices.size for part in problem.parts)


def run_bytes(problem: Problem) -> float:
    """Bytes of a whole run, on its device and beside it."""
    cells, itemsize = problem.grid.cells, problem.dtype.itemsize
    if problem.scenario.time.integrator in SOLVING:
        beside = problem.kind_bytes
    else:
        beside = cells * itemsize * (2 + problem.heating.holds_field)  # a snapshot and its image; a source
    return BASE + state_bytes(problem.scenario, problem) + beside + _deriving_bytes(problem)


def derived_bytes(scenario: Scenario) -> int:
    """Bytes of the fields that a snapshot holds beside the temperature."""
    components = 2 if scenario.grid.coordinates == "cylindrical" else 3
    values = sum(components if name in VECTORS else 1 for name in scenario.output.fields)
    return prod(scenario.grid.cells) * values * np.dtype(scenario.compute.precision).itemsize


def _deriving_bytes(problem: Problem) -> int:
    """Bytes that these take: when they are found, or with their compressed image when they are written."""
    cells, kept = problem.grid.cells, derived_bytes(problem.scenario)
    if not set(VECTORS) & set(problem.scenario.output.fields):
        return 2 * kept
    differs = problem.zones.ids is not None or problem.follows_temperature
    return max(cells * BOTH_VECTORS + (cells * MEDIA_OF_CELLS if differs else kept), 2 * kept)
