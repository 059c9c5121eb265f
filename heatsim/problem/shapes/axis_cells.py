"""Cells along one, two or three of the axes z, y, x: where they are, their measures, and values at their centres."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import NamedTuple

import numpy as np

from heatsim.base.threads import for_each
from heatsim.scenario import Expression

Ends = tuple[np.ndarray, np.ndarray]  # lower and upper

_CHUNK = 2**16  # points of cells evaluated at a time


def measure(low: np.ndarray, high: np.ndarray, radial: bool) -> np.ndarray:
    """The length between places, or half the difference of their squares along a radius."""
    return np.asarray((high - low) * (0.5 * (low + high) if radial else 1.0))


def volumes_of(measures: Iterable[np.ndarray]) -> np.ndarray:
    """The volumes of cells by their measures along each axis."""
    return np.asarray(reduce(np.multiply.outer, measures, np.ones(())))


class Cells(NamedTuple):
    """Cells along some of the axes z, y, x by the places of their faces, m; `radial`: x is a radius, which weighs."""

    edges: Mapping[str, np.ndarray]
    radial: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of cells along the axes."""
        return tuple(len(edges) - 1 for edges in self.edges.values())

    def ranges(self) -> dict[str, Ends]:
        """Lower and upper ends of the cells along each axis, in arrays that broadcast to the shape."""
        axes = len(self.edges)
        places = {axis: (-1,) + (1,) * (axes - 1 - number) for number, axis in enumerate(self.edges)}
        return {axis: (e[:-1].reshape(places[axis]), e[1:].reshape(places[axis])) for axis, e in self.edges.items()}

    def measures(self) -> list[np.ndarray]:
        """(n,) the lengths of cells along each axis, or half the differences of their squares along a radius."""
        return [measure(e[:-1], e[1:], self.radial and axis == "x") for axis, e in self.edges.items()]

    def volumes(self) -> np.ndarray:
        """Their measures, of the shape."""
        return volumes_of(self.measures())

    def blocks(self, size: int) -> Cells:
        """Blocks of so many cells along each axis."""
        return Cells({axis: np.append(e[:-1][::size], e[-1]) for axis, e in self.edges.items()}, self.radial)

    def part(self, chosen: slice) -> Cells:
        """Some of them along the first axis."""
        first, *others = self.edges
        rest = {axis: self.edges[axis] for axis in others}
        return Cells({first: self.edges[first][chosen.start : chosen.stop + 1], **rest}, self.radial)

    def chunks(self, points: int) -> list[tuple[slice, Cells]]:
        """Parts of them along the first axis with at most _CHUNK values, `points` a cell."""
        count = max(1, _CHUNK // (points * int(np.prod(self.shape[1:]))))
        parts = [slice(start, min(start + count, self.shape[0])) for start in range(0, self.shape[0], count)]
        return [(part, self.part(part)) for part in parts]


def centre_values(value: Expression, cells: Cells, fixed: Mapping[str, float]) -> np.ndarray:
    """Values at the centres of cells, of their shape."""
    found = np.empty(cells.shape)

    def evaluate(chunk: tuple[slice, Cells]) -> None:
        part, some = chunk
        centres = {axis: 0.5 * (low + high) for axis, (low, high) in some.ranges().items()}
        found[part] = value(**centres, **fixed)

    for_each(evaluate, cells.chunks(1), found.size)
    return found


def enclosed(value: Expression, ranges: Mapping[str, Ends], fixed: Mapping[str, float]) -> Ends:
    """Bounds of a value over ranges of some variables, the others being fixed: see `Expression.enclose`."""
    return value.enclose(**ranges, **{name: (np.asarray(at), np.asarray(at)) for name, at in fixed.items()})


def bound_widths(value: Expression, cells: Cells, fixed: Mapping[str, float]) -> np.ndarray:
    """How far apart the bounds of a value are in each cell."""
    low, high = enclosed(value, cells.ranges(), fixed)
    return np.asarray(np.broadcast_to(high - low, cells.shape))
