"""How fast what moves passes a place: the standard deviation in time, s, of what a cell sees of it.

A bell is told from its greatest value and its steepest slope over time at centres of cells. An edge that is sharper
than a cell counts by the time in which it crosses a cell: by runs, steps behind it are as long. How fast it goes is
seen from how many cells of a line, of which it has reached some before, it reaches from one time to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, inf, isfinite, prod

import numpy as np

from heatsim.base.grid import CellGrid
from heatsim.scenario import Expression

BELL = exp(-0.5)  # the greatest slope of a bell, over its height and in standard deviations
_CELLS, _TIMES = 2**16, 8  # at which slopes of bells are looked for
_LINES, _EDGE_TIMES = 12, 64  # at which edges are looked for: lines of cells along an axis, for each of the others
_BLOCKS = 8  # of these times
_SHARP = 0.5  # of the greatest value, between two cells, is an edge


def passages(space: Expression, grid: CellGrid, end: float) -> Iterator[float]:
    """The passages, s, of what an expression in space and time holds in a run until `end` s."""
    size = max(1, round((prod(grid.shape) / _CELLS) ** (1 / 3)))
    points = _points(grid, (size, size, size))
    times = end * (np.arange(_TIMES) + 0.5) / _TIMES
    ahead = 1e-6 * end * np.arange(3)
    fields = [[np.asarray(space(**points, t=time + each)) for each in ahead] for time in times]
    greatest = max(float(np.abs(first).max()) for first, _, _ in fields)
    changes = [np.abs(np.diff(each, axis=0)).min(axis=0) for each in fields]  # an edge passes in one of two moments
    steepest = max(float(each.max()) for each in changes) / ahead[1]
    if not isfinite(greatest):
        return
    if 0.0 < steepest < inf:
        yield BELL * greatest / steepest
    for number in range(3):
        yield from _passages_of_edges(space, grid, end, number, greatest)


def _passages_of_edges(space: Expression, grid: CellGrid, end: float, number: int, greatest: float) -> Iterator[float]:
    """Those of edges that move along the axis of that number."""
    steps = [1 if each == number else max(1, size // _LINES) for each, size in enumerate(grid.shape[::-1])]
    points, times = _points(grid, steps), end * np.arange(_EDGE_TIMES + 1) / _EDGE_TIMES
    shape = tuple(points[axis].size for axis in "zyx")
    fields = np.array([np.broadcast_to(space(**points, t=time), shape) for time in times])
    least, along = _SHARP * greatest, 3 - number
    went_on = (fields[:-1] > least).any(axis=along)  # on a line that lies across its way all cells are reached at once
    reached = ((np.diff(fields, axis=0) > least).sum(axis=along) * went_on).max(axis=(1, 2))
    fastest = float(reached.reshape(_BLOCKS, -1).mean(axis=1).max())  # an edge may take several times for a cell
    if fastest and float(np.abs(np.diff(fields, axis=along)).max(initial=0.0)) > least:
        yield float(times[1]) / fastest


def _points(grid: CellGrid, steps: tuple[int, ...] | list[int]) -> dict[str, np.ndarray]:
    """Centres of the cells along x, y and z, each so many cells apart, as an expression takes them."""
    x, y, z = (grid.centres(axis)[::step] for axis, step in zip("xyz", steps, strict=True))
    return {"x": x, "y": y[:, None], "z": z[:, None, None]}
