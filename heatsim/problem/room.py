"""Whether a problem fits into this machine while it is built, before anything is allocated."""

from __future__ import annotations

import os
from math import prod

from heatsim.errors import ScenarioError
from heatsim.scenario import Scenario

A_CELL, A_PLACE = 9, 300  # bytes a cell, and a cell along an axis, that building takes, about: measured


def require_room(scenario: Scenario) -> None:
    """Raise `ScenarioError` if the cells of the grid are too many for the memory of this machine."""
    cells = scenario.grid.cells
    needed = A_CELL * prod(cells) + A_PLACE * sum(cells)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        message = f"takes {needed / 1e9:.1f} GB to set up, and there are {there / 1e9:.1f} GB of memory in this machine"
        raise ScenarioError([scenario.problem_at(("grid", "cells"), message, "take fewer cells")])
