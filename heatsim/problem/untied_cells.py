"""Cells of a steady state that nothing ties to a temperature, since void lies all around them.

Heat reaches every cell of a body in one piece from a face or an ambient that has a temperature. Void may cut off
islands: they have no steady state of their own, or any number of them, and are left out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from heatsim_kernels.explicit.heat_ledger import boundary_cells

from heatsim.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heatsim.problem.problem import Problem
    from heatsim.problem.terms.boundary_faces import FacePatch

START = np.zeros(1)  # s: inputs of a steady state do not depend on time


def find_untied_cells(problem: Problem) -> np.ndarray:
    """(nz, ny, nx) the solved cells that no heat reaches from a given temperature. Raises `ScenarioError` where such
    cells are heated, so that there is no steady state."""
    from heatsim_kernels.solver.cpu.network import grow  # compiled for this alone
    from heatsim_kernels.solver.network import APART

    coefficients = problem.coefficients
    solved = np.broadcast_to(coefficients.spread_over_cells(coefficients.capacity > 0), coefficients.shape)
    roots = np.flatnonzero(_tied(problem) & solved)
    faces = []
    for number in range(3):
        place = 2 - number
        conducts = (solved & np.roll(solved, -1, place)).astype(np.float32)
        if not coefficients.periodic[number]:
            np.moveaxis(conducts, place, 0)[-1] = 0.0
        faces.append(conducts)
    gx, gy, gz = faces
    untied: np.ndarray = solved & (grow((gx, gy, gz), roots).ways == APART).reshape(solved.shape)
    if (untied == solved).all():
        message = "no steady state, or any number of them: void separates all cells from all given temperatures"
        raise ScenarioError([problem.scenario.issue_at(("time", "integrator"), message)])
    if (untied & _heated(problem)).any():
        message = "no steady state: what void separates from all given temperatures is heated"
        raise ScenarioError([problem.scenario.issue_at(("time", "integrator"), message, 'integrator = "implicit"')])
    return untied


def _tied(problem: Problem) -> np.ndarray:
    """Whether each cell exchanges heat with something that has a temperature."""
    coefficients, following = problem.coefficients, problem.temperature_sources
    tied = np.zeros(coefficients.shape, bool)
    if coefficients.losses is not None:
        tied |= coefficients.spread_over_cells(coefficients.losses > 0)
    if coefficients.ambient_faces is not None:
        tied.reshape(-1)[coefficients.ambient_faces.cells] = True
    if following is not None:
        tied |= following.heated
    for patch, cells in _patches(problem):
        if patch.condition.ties_temperature(partial(problem.boundary_faces.checked, patch, times=START)):
            tied.reshape(-1)[cells] = True
    return tied


def _heated(problem: Problem) -> np.ndarray:
    """Whether a source or a given flux heats or cools each cell."""
    forcing, heated = problem.linear_forcing(START), np.zeros(problem.grid.shape, bool)
    if forcing.heat_table is not None:
        heated |= problem.coefficients.spread_over_cells(forcing.heat_table[0] != 0)
    if forcing.heat_field is not None:
        heated |= forcing.heat_field != 0
    for patch, cells in _patches(problem):
        name = patch.condition.GIVEN_FLUX
        if name and problem.boundary_faces.checked(patch, name, START).any():
            heated.reshape(-1)[cells] = True
    return heated


def _patches(problem: Problem) -> Iterator[tuple[FacePatch, np.ndarray]]:
    """The parts of the faces with the flat indices of the cells beside them."""
    faces = problem.boundary_faces
    for patch in faces:
        cells = boundary_cells(problem.grid.shape, patch.face)
        yield patch, cells[patch.cells] if faces.per_cell else cells
