"""Means over the faces of cells, at a side of the box, of the inputs of boundary conditions that are expressions.

A flux that is narrower than a cell brings its whole heat.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim.base.grid import FACE_AXES, CellGrid
from heatsim.problem.shapes.axis_cells import Cells
from heatsim.problem.shapes.means_in_time import MeansInTime
from heatsim.problem.shapes.space_means import space_means
from heatsim.scenario import Expression
from heatsim.scenario.boundary import FACES

MOVING_POINTS = 2**15  # at which an expression that moves is evaluated in a step, about, beyond those of the cells
_KEPT = 16  # times of which the means of what moves are kept

_ONE = Expression.parse("1", frozenset())


class _Term(NamedTuple):
    """The means (n,) over the faces of a part's cells, or (1,) for all of them, and a factor of time, None being 1."""

    means: np.ndarray
    time: Expression | None


class FaceMeans:
    """An input on a part of face number `face`, as means over the faces of cells at any time."""

    def __init__(
        self,
        value: Expression,
        grid: CellGrid,
        face: int,
        chosen: np.ndarray | slice,
        per_cell: bool,
        by_distance: bool,
        end: float,
    ) -> None:
        """chosen: which cells of the face are the part's; per_cell: whether there is a value for each, or one for all;
        by_distance: see `cell_means`; end: of the run, s."""
        normal, upper = FACES[face][0], face % 2
        edges = {axis: grid.faces(axis) for axis in FACE_AXES[normal]}
        if not per_cell:  # then the value does not depend on axes of several cells
            edges = {axis: places[:2] for axis, places in edges.items()}
        cells = Cells(edges, grid.coordinates == "cylindrical" and normal != "x")
        self._chosen, self._fixed = chosen, {normal: grid.span(normal)[upper]}
        self._terms: list[_Term] = []
        self._moving: MeansInTime | None = None
        self._doubt = 0.0
        self._known: dict[float, np.ndarray] = {}
        inside = None
        if isinstance(chosen, np.ndarray) and per_cell:
            inside = np.zeros(cells.shape, bool)
            inside.reshape(-1)[chosen] = True
        products = value.split_time()
        if products is None:
            self._moving = MeansInTime(value, cells, inside, MOVING_POINTS, end, windowed=False)
            return
        for space, time in products:
            means = space_means(space or _ONE, cells, self._fixed, inside, by_distance)
            self._doubt = max(self._doubt, means.doubt)
            self._terms.append(_Term(self._of_part(means.values()), time))

    def doubt(self, time: float) -> float:
        """By which share of the whole they may be off at a time, s, about."""
        if self._moving is not None:
            return self._moving.at(time, **self._fixed).doubt
        return self._doubt

    def at(self, times: np.ndarray) -> np.ndarray:
        """(k, n) values at k times, of the part's cells, or one for all of them."""
        if self._moving is not None:
            self._moving.look_ahead(times)
            return np.array([self._moved(time) for time in times.tolist()])
        found = np.zeros((len(times), 1))
        for term in self._terms:
            factors = np.ones(len(times)) if term.time is None else np.broadcast_to(term.time(t=times), len(times))
            found = found + np.outer(factors, term.means)
        return found

    def _moved(self, time: float) -> np.ndarray:
        if time not in self._known:
            assert self._moving is not None
            if len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[time] = self._of_part(self._moving.at(time, **self._fixed).values())
        return self._known[time]

    def _of_part(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(-1)[self._chosen] if values.size > 1 else values.reshape(-1)
