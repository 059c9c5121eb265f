"""Inputs of the stages of a step, such that their mean is that of the inputs over the step.

Stages take the mean of an input that bends with an error of dt^2 times its curvature: `rkl2` with three stages has only
half of it. Errors of the two halves of a wave are of opposite sign, but of another size if the steps or the heat
capacity are. Where a body forgets little, as an insulated one, they add up from wave to wave: 10 times the tolerance in
100 waves. So what the mean lacks is added to the inputs of all stages.

Heat that is given is put right so, and the ambient of a face whose coefficient stands still, if cells follow it slowly:
those that follow at once take an input as it is at the end of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from heatsim_kernels.explicit.coefficients import Forcing

    from heatsim.problem import Problem

_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(4)
NODES = 0.5 + 0.5 * _GAUSS_NODES  # (4,) shares of a step, at which its inputs are looked at
WEIGHTS = 0.5 * _GAUSS_WEIGHTS
LEAST_A = -1.0  # of faces that are put right: as much resistance outside as in half the cell
GIVEN_TERMS, STRENGTHS = ("ambient", "flux"), ("coefficient", "emissivity")  # of a surface


def lacking_weights(c: Sequence[float], weights: np.ndarray) -> np.ndarray:
    """(4,) by which inputs at NODES are summed to what their mean lacks: the weights of Gauss, less those by which
    stages at c (s,), shares of a step, with their weights (s,), take the polynomial through the nodes."""
    taken = np.vander(np.asarray(c), NODES.size).T @ weights
    return np.asarray(WEIGHTS - np.linalg.solve(np.vander(NODES).T, taken))


class MeanInputs:
    """What the inputs of one step lack."""

    def __init__(self, problem: Problem, start: float, dt: float, lacking: np.ndarray) -> None:
        """The step is of `dt` s, from `start` on, s; lacking: see `lacking_weights`."""
        self._problem, self._times, self._lacking = problem, start + dt * NODES, lacking
        self._nodes = problem.steady_inputs(self._times)
        a = self._nodes.boundary_a
        self._faces = np.all(a == a[:1], axis=0) & (a[0] > LEAST_A)

    def added(self, forcing: Forcing) -> Forcing:
        """The forcing of some stages with what it lacks."""
        nodes = self._nodes
        b = np.where(self._faces, self._rows(forcing.boundary_b, nodes.boundary_b), forcing.boundary_b)
        table = forcing.heat_table
        if table is not None and nodes.heat_table is not None:
            table = self._rows(table, nodes.heat_table)
        return replace(
            forcing, boundary_b=b, heat_table=table, heat_scale=self._rows(forcing.heat_scale, nodes.heat_scale)
        )

    def added_to_surfaces(self, terms: np.ndarray) -> np.ndarray:
        """The terms (k, terms, boundary_size) of the surface balance at some stages with what they lack."""
        from heatsim_kernels.explicit.enthalpy.surface_balance import (
            SURFACE_TERMS,  # with Numba, which scenarios do without
        )

        assert self._problem.surfaces is not None
        given, strengths = ([SURFACE_TERMS.index(name) for name in names] for names in (GIVEN_TERMS, STRENGTHS))
        nodes, found = self._problem.surfaces.at(self._times), terms.copy()
        still = np.all(nodes[:, strengths] == nodes[:1, strengths], axis=(0, 1)) & self._faces
        for term in given:
            found[:, term] = np.where(still, self._rows(terms[:, term], nodes[:, term]), terms[:, term])
        return found

    def ambient_heat(self, dt: float) -> np.ndarray | float:
        """(m,) what is added to the heat of each ambient in the step, J; 0 where none is."""
        heat = self._problem.ambient_heat(self._times, dt)
        return 0.0 if heat is None else self._sum(heat)

    def _rows(self, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        return rows if len(nodes) == 1 else rows + self._sum(nodes)

    def _sum(self, nodes: np.ndarray) -> np.ndarray:
        """One after the other, so that bits do not depend on how many values there are."""
        return np.asarray(reduce(np.add, (weight * row for weight, row in zip(self._lacking, nodes, strict=True))))
