"""The power density of a source that depends on temperature, as means over cells of what depends on space.

A density is split into products of a factor in space and time and one in temperature. Each factor in space has its
means over the cells, as a source that does not depend on temperature has. What mixes space and temperature, as in
exp(-x*T), is taken at the centres of cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heatsim.base.grid import CellGrid
from heatsim.problem.shapes.means_in_time import MeansInTime
from heatsim.problem.shapes.space_means import SpaceMeans, grid_cells, space_means
from heatsim.scenario import Expression

MOVING_POINTS = 2**17  # at which an expression that moves is evaluated in a step, about, beyond those of the cells

_ONE = Expression.parse("1", frozenset())


class _Term(NamedTuple):
    """A product of factors, of which None is 1: the means in space, or the value in space and time if it moves; of
    time; of temperature."""

    means: SpaceMeans | MeansInTime
    time: Expression | None
    temperature: Expression | None


class DensityMeans:
    """A density as means over cells, at any time and temperature."""

    def __init__(self, terms: list[_Term], doubt: float) -> None:
        self._terms, self.doubt = terms, doubt
        self._moved: tuple[float, list[SpaceMeans]] | None = None

    def plane(self, z: int, time: float, T: np.ndarray) -> np.ndarray:
        """The density in the cells of plane z, (ny, nx), at temperatures T."""
        return self._sum([means.plane(z) for means in self._means(time)], time, T)

    def at(self, cells: tuple[np.ndarray, ...], time: float, T: np.ndarray) -> np.ndarray:
        """The density in some cells, by their indices (n, 1) along z, y, x, at temperatures T (n, k)."""
        return self._sum([means.at(*cells) for means in self._means(time)], time, T)

    def _means(self, time: float) -> list[SpaceMeans]:
        if self._moved is None or self._moved[0] != time:
            found = [term.means if isinstance(term.means, SpaceMeans) else term.means.at(time) for term in self._terms]
            self._moved = time, found
        return self._moved[1]

    def _sum(self, means: list[np.ndarray], time: float, T: np.ndarray) -> np.ndarray:
        total = np.zeros(())
        with np.errstate(all="ignore"):  # outside of the cells that count
            for term, mean in zip(self._terms, means, strict=True):
                in_time = 1.0 if term.time is None else float(term.time(t=time))
                total = total + mean * in_time * (1.0 if term.temperature is None else term.temperature(T=T))
        return total


def density_means(density: Expression, grid: CellGrid, inside: np.ndarray, end: float) -> DensityMeans | None:
    """The means of a density over cells, of which those `inside` count, in a run to `end` s; None if it does not depend
    on space, or mixes space and temperature: see `mixes`."""
    split = None if density.names.isdisjoint("xyz") else density.split_terms("T")
    if split is None:
        return None
    cells, terms = grid_cells(grid), []
    for place, of_temperature in split:
        for space, time in [(None, None)] if place is None else place.split_time() or [(place, None)]:
            means: SpaceMeans | MeansInTime
            if space is not None and "t" in space.names:
                means = MeansInTime(space, cells, inside, MOVING_POINTS, end, windowed=False)
            else:
                means = space_means(space or _ONE, cells, {}, inside)
            terms.append(_Term(means, time, of_temperature))
    doubt = max([0.0, *(term.means.doubt for term in terms if isinstance(term.means, SpaceMeans))])
    return DensityMeans(terms, doubt)


def mixes(density: Expression) -> bool:
    """Whether a density mixes space and temperature, so that it is taken at the centres of cells."""
    return not density.names.isdisjoint("xyz") and density.split_terms("T") is None
