"""Runs of the scenario that was imported as chip.toml, in memory."""

from __future__ import annotations

from helpers import in_memory

import heatsim
from heatsim.solve.state import State


def run(*overrides: str) -> State:
    """The state at the end."""
    scenario = heatsim.load("chip.toml", ["compute.precision=float64", "compute.device=cpu", *overrides])
    return in_memory.run(scenario.to_toml()).state


def mean_of_block(state: State, number: int) -> float:
    """The mean temperature of a region of statistics, K."""
    cells = state.problem.statistics_regions[number].cells
    return state.totals(cells).by_volume / float(cells.volumes.sum()) + state.problem.reference
