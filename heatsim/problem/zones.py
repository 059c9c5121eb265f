"""Zones: classes of cells that share medium and sources, as they are painted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heatsim.errors import ScenarioError
from heatsim.grid import Grid
from heatsim.problem.painting import masks, paint
from heatsim.scenario import Scenario

MOST_ZONES = 2**16


@dataclass(frozen=True)
class Zones:
    """ids: (nz, ny, nx) uint8 or uint16, or None for a single zone. Of each zone: its medium (see `Media`: an index
    into the scenario's materials and ambients in order) and the numbers of the sources that heat it."""

    ids: np.ndarray | None
    media: tuple[int, ...]
    sources: tuple[frozenset[int], ...]

    def __len__(self) -> int:
        return len(self.media)

    def medium(self, cell: tuple[int, int, int]) -> int:
        """The medium of a cell (i, j, k) along x, y, z."""
        return self.media[0 if self.ids is None else int(self.ids[cell[::-1]])]

    def plane(self, of_zones: np.ndarray, z: int) -> np.ndarray:
        """Values of the zones, spread over the cells of plane z, (ny, nx), or () for a single zone."""
        return np.asarray(of_zones[0] if self.ids is None else of_zones[self.ids[z]])


def paint_media(scenario: Scenario, grid: Grid) -> np.ndarray:
    """The medium of each cell, (nz, ny, nx) uint8. Raises `ScenarioError` as `paint` does, and if none is solid."""
    painted = paint(scenario, grid, [*scenario.materials, *scenario.ambients])
    if painted.min() >= len(scenario.materials):
        message = "expected a material somewhere, found ambients alone"
        raise ScenarioError([scenario.problem_at(("regions",), message, "ambients are not solved")])
    return painted


def make_zones(scenario: Scenario, grid: Grid, painted: np.ndarray, uniform: frozenset[int]) -> Zones:
    """Split the media where sources of uniform density lie; ambients have none.

    painted: as `paint_media` gives it; uniform: the numbers of those sources.
    """
    solids = len(scenario.materials)
    within = [n for n in sorted(uniform) if scenario.sources[n].region is not None]
    ids = painted.astype(np.uint16) if within else painted
    contents: list[tuple[int, frozenset[int]]] = [(i, frozenset()) for i in range(solids + len(scenario.ambients))]
    for number in within:
        _split(scenario, grid, ids, contents, number)
    used = np.flatnonzero(np.bincount(ids.reshape(-1)))
    renumber = np.zeros(len(contents), np.min_scalar_type(len(used) - 1))
    renumber[used] = np.arange(len(used))
    everywhere = uniform - frozenset(within)
    media = tuple(contents[i][0] for i in used)
    sources = tuple(contents[i][1] | everywhere if contents[i][0] < solids else frozenset() for i in used)
    return Zones(renumber[ids] if len(used) > 1 else None, media, sources)


def _split(
    scenario: Scenario, grid: Grid, ids: np.ndarray, contents: list[tuple[int, frozenset[int]]], number: int
) -> None:
    """Give the solid cells in source `number` zones of their own."""
    heated: dict[int, int] = {}
    for plane, mask in zip(
        ids, masks(scenario, ("sources", number, "region"), scenario.sources[number].region, grid), strict=True
    ):
        for old in np.unique(plane[mask]).tolist():
            medium, sources = contents[old]
            if old not in heated and medium < len(scenario.materials):
                heated[old] = len(contents)
                contents.append((medium, sources | {number}))
        if len(contents) > MOST_ZONES:
            message = f"expected at most {MOST_ZONES} combinations of material and source"
            raise ScenarioError([scenario.problem_at(("sources", number), message, "merge sources into expressions")])
        table = np.arange(len(contents), dtype=ids.dtype)
        for old, new in heated.items():
            table[old] = new
        plane[mask] = table[plane[mask]]
