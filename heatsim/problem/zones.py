"""Zones: classes of cells that share material and sources, one byte a cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from heatsim_kernels.stencil.terms import MAX_ZONES

from heatsim.errors import ScenarioError
from heatsim.grid import Grid
from heatsim.problem.painting import masks, paint
from heatsim.scenario import Scenario
from heatsim.scenario.materials import Material


@dataclass(frozen=True)
class Zones:
    """ids: (nz, ny, nx) uint8, or None for a single zone. Of each zone: its material (an index into the scenario's
    materials in order) and the numbers of the sources that heat it."""

    ids: np.ndarray | None
    materials: tuple[int, ...]
    sources: tuple[frozenset[int], ...]
    cells: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.materials)


def make_zones(scenario: Scenario, grid: Grid, uniform: frozenset[int]) -> Zones:
    """Paint the materials, then split them where sources of uniform density lie.

    `uniform`: the numbers of those sources. Raises `ScenarioError` as `paint` does.
    """
    ids = paint(scenario, grid, list(scenario.materials))
    kinds: list[tuple[int, frozenset[int]]] = [(i, frozenset()) for i in range(len(scenario.materials))]
    for number, source in enumerate(scenario.sources):
        if source.region is not None and number in uniform:
            _split(scenario, grid, ids, kinds, number)
    counts = np.bincount(ids.reshape(-1), minlength=len(kinds))
    used = np.flatnonzero(counts)
    renumber = np.zeros(MAX_ZONES, np.uint8)
    renumber[used] = np.arange(len(used))
    for plane in ids:
        plane[:] = renumber[plane]
    everywhere = frozenset(n for n in uniform if scenario.sources[n].region is None)
    return Zones(
        ids if len(used) > 1 else None,
        tuple(kinds[i][0] for i in used),
        tuple(kinds[i][1] | everywhere for i in used),
        tuple(int(counts[i]) for i in used),
    )


def _split(
    scenario: Scenario, grid: Grid, ids: np.ndarray, kinds: list[tuple[int, frozenset[int]]], number: int
) -> None:
    """Give the cells in source `number` zones of their own."""
    heated: dict[int, int] = {}
    for plane, mask in zip(
        ids, masks(scenario, ("sources", number, "region"), scenario.sources[number].region, grid), strict=True
    ):
        for old in np.unique(plane[mask]).tolist():
            if old not in heated:
                material, sources = kinds[old]
                heated[old] = len(kinds)
                kinds.append((material, sources | {number}))
        if len(kinds) > MAX_ZONES:
            message = f"expected at most {MAX_ZONES} combinations of material and source"
            raise ScenarioError([scenario.problem_at(("sources", number), message, "merge sources into expressions")])
        table = np.arange(MAX_ZONES, dtype=np.uint8)
        for old, new in heated.items():
            table[old] = new
        plane[mask] = table[plane[mask]]


def conductivity(material: Material) -> tuple[float, float, float]:
    """Conductivity along x, y, z, W/(m K)."""
    k = material.conductivity
    if isinstance(k, tuple):
        return k
    if not isinstance(k, float):
        raise TypeError("tables and expressions are refused when the scenario is loaded")
    return k, k, k


def volumetric_capacity(material: Material) -> float:
    """Heat capacity of a unit volume, J/(m3 K)."""
    if not isinstance(material.heat_capacity, float):
        raise TypeError("tables and expressions are refused when the scenario is loaded")
    return material.density * material.heat_capacity
