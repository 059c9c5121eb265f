"""Heat that passes from cell to cell by the face terms of a scenario: see `heatsim.scenario.face_terms`.

NumPy evaluates it at the field in each explicit step, and it heats cells as a source does. What leaves one cell enters
the next; what enters through a side of the box is in that side's account of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from heatsim_kernels.explicit.face_sets import NEIGHBOUR, SIDES, FaceSet, joined
from heatsim_kernels.explicit.heat_ledger import boundary_cells, boundary_faces

from heatsim.base.grid import AXES, FACES
from heatsim.scenario import Scenario
from heatsim.scenario.face_terms.face_term import FaceTerm
from heatsim.scenario.language.expressions.expression import Value, depends_on

if TYPE_CHECKING:
    from heatsim.problem.media.cell_classes import CellClasses

SLOPE_STEP = 1e-4  # K, and of the temperature, over which a slope is taken


class _Flow(NamedTuple):
    """The faces of a term along an axis, (n,): between cells each is that of the lower one. beyond: flat indices of
    the cells there; areas: m2."""

    term: FaceTerm
    axis: int
    faces: FaceSet
    beyond: np.ndarray
    areas: np.ndarray


class FaceFlows:
    """What the face terms of a scenario move. Temperatures T are in its unit, (nz, ny, nx)."""

    def __init__(
        self,
        scenario: Scenario,
        shape: tuple[int, int, int],
        cell_classes: CellClasses,
        periodic: tuple[bool, bool, bool],
    ) -> None:
        self._terms = tuple(scenario.face_terms.values())
        capacity, ids = cell_classes.capacity, cell_classes.ids
        solved = np.broadcast_to((capacity > 0)[ids], shape).reshape(-1)
        self._flows = []
        for axis in range(len(AXES)):
            faces = _faces_along(axis, shape, solved, periodic[axis])
            beyond, areas = faces.beyond(shape), faces.values(cell_classes.faces.area, ids)
            self._flows += [_Flow(term, axis, faces, beyond, areas) for term in self._terms if AXES[axis] in term.axes]
        self.faces = joined([flow.faces for flow in self._flows], SIDES)
        self.beyond = self.faces.beyond(shape)

    @property
    def inputs(self) -> list[Value]:
        """What the terms are given as numbers and expressions."""
        return [value for term in self._terms for value in term.inputs]

    @property
    def varies(self) -> bool:
        """Whether one depends on time."""
        return any(depends_on(value, "t") for value in self.inputs)

    def heat(self, T: np.ndarray, time: float) -> np.ndarray:
        """(n,) heat that enters the cell of each of `faces` at a time, s, W."""
        found = [np.zeros(0)]
        for flow in self._flows:
            own = T.reshape(-1)[flow.faces.cells].astype(np.float64)
            beyond = T.reshape(-1)[flow.beyond].astype(np.float64)
            for side in (2 * flow.axis, 2 * flow.axis + 1):
                here = flow.faces.accounts == side
                beyond[here] = flow.term.outside(FACES[side], own[here], time)
            found.append(_into(flow, own, beyond, time))
        return np.concatenate(found)

    def of_sides(self, heat: np.ndarray) -> np.ndarray:
        """(6,) what of the heat of `faces` (n,) enters through each side of the box, W."""
        outside = self.faces.accounts != NEIGHBOUR
        return np.bincount(self.faces.accounts[outside], heat[outside], SIDES)

    def exchange_rate(self, low: float, high: float, times: np.ndarray, heat_capacity: np.ndarray) -> float:
        """The fastest rate at which a cell gives off heat between two temperatures, 1/s, by samples; heat_capacity:
        (nz, ny, nx), J/K."""
        held, fastest = heat_capacity.reshape(-1), np.zeros(heat_capacity.size)
        inside = self.faces.accounts == NEIGHBOUR
        for one, other in product(np.linspace(low, high, 3).tolist(), repeat=2):
            for time in times.tolist() if self.varies else times[:1].tolist():
                own, theirs = self._slopes(one, other, time)
                of_cells = np.bincount(self.faces.cells, -own, held.size)
                of_cells += np.bincount(self.beyond[inside], theirs[inside], held.size)
                fastest = np.maximum(fastest, of_cells)
        return float((fastest[held > 0] / held[held > 0]).max(initial=0.0))

    def _slopes(self, one: float, other: float, time: float) -> Iterator[np.ndarray]:
        """(n,) how the heat into the cell of each face changes with its temperature, and with that beyond, W/K."""
        step = SLOPE_STEP * (1.0 + max(abs(one), abs(other)))
        for own, beyond in ((step, 0.0), (0.0, step)):
            found = [np.zeros(0)]
            for flow in self._flows:
                count = np.ones(len(flow.areas))
                more = _into(flow, (one + own) * count, (other + beyond) * count, time)
                less = _into(flow, (one - own) * count, (other - beyond) * count, time)
                found.append((more - less) / (2.0 * step))
            yield np.concatenate(found)


def _into(flow: _Flow, own: np.ndarray, beyond: np.ndarray, time: float) -> np.ndarray:
    """(n,) heat that enters the cell of each face from that at the temperature `beyond`, W."""
    upwards = flow.faces.faces % 2 == 1  # the cell is on the lower side
    flux = flow.term.flux(AXES[flow.axis], np.where(upwards, own, beyond), np.where(upwards, beyond, own), time)
    return np.asarray(np.where(upwards, -flux, flux) * flow.areas)


def _faces_along(axis: int, shape: tuple[int, int, int], solved: np.ndarray, wraps: bool) -> FaceSet:
    """The faces normal to an axis beside solved cells, those between two of them once; solved: of all cells, flat."""
    cells = np.arange(solved.size)
    if not wraps:
        cells = np.setdiff1d(cells, boundary_cells(shape, 2 * axis + 1))
    inside = FaceSet(cells, np.full(len(cells), 2 * axis + 1, np.uint8), np.full(len(cells), NEIGHBOUR))
    inside = inside.chosen(solved[cells] & solved[inside.beyond(shape)])
    sides = [] if wraps else [boundary_faces(shape, 2 * axis + end) for end in (0, 1)]
    return joined([inside, *(side.chosen(solved[side.cells]) for side in sides)], SIDES)
