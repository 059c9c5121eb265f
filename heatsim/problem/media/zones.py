"""Zones: classes of cells that share material and sources; and the parts of the box of which a run keeps statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from heatsim_kernels.explicit.cell_classes import numbers_in
from heatsim_kernels.field.region_reductions import RegionCells

from heatsim.base.grid import AXES, CellGrid
from heatsim.base.threads import made
from heatsim.errors import ScenarioError
from heatsim.problem.shapes.voxelise import (
    Window,
    block_cells,
    floorplan_blocks,
    shape_masks,
    shape_window,
    voxelise_regions,
)
from heatsim.scenario import Scenario

MAX_ZONES = 2**16


@dataclass(frozen=True)
class Zones:
    """ids: (nz, ny, nx) uint8 or uint16, or None for a single zone. Of each zone: its material (see `Materials`: an
    index into the scenario's materials and ambients in order) and the numbers of the sources that heat it."""

    ids: np.ndarray | None
    materials: tuple[int, ...]
    sources: tuple[frozenset[int], ...]

    def __len__(self) -> int:
        return len(self.materials)

    def material(self, cell: tuple[int, int, int]) -> int:
        """The material of a cell (i, j, k) along x, y, z."""
        return self.materials[0 if self.ids is None else int(self.ids[cell[::-1]])]

    def plane(self, of_zones: np.ndarray, z: int) -> np.ndarray:
        """Values of the zones, spread over the cells of plane z, (ny, nx), or () for a single zone."""
        return np.asarray(of_zones[0] if self.ids is None else of_zones[self.ids[z]])


def voxelise_materials(scenario: Scenario, grid: CellGrid) -> np.ndarray:
    """The material of each cell, (nz, ny, nx) uint8. Raises `ScenarioError` as `voxelise_regions` does, and if none is
    solid."""
    material_ids = voxelise_regions(scenario, grid, [*scenario.materials, *scenario.ambients])
    if material_ids.min() >= len(scenario.materials):
        message = "expected a material somewhere, found ambients alone"
        raise ScenarioError([scenario.issue_at(("regions",), message, "ambients are not solved")])
    return material_ids


def make_zones(scenario: Scenario, grid: CellGrid, material_ids: np.ndarray, uniform: frozenset[int]) -> Zones:
    """Split the materials where sources of uniform density lie; ambients have none.

    material_ids: as `voxelise_materials` gives it; uniform: the numbers of those sources.
    """
    solids = len(scenario.materials)
    within = [n for n in sorted(uniform) if not scenario.sources[n].everywhere]
    contents: list[tuple[int, frozenset[int]]] = [(i, frozenset()) for i in range(solids + len(scenario.ambients))]
    few = len(contents) << len(within) <= 2**8
    dtype, ids = np.uint8 if few else np.uint16, material_ids
    if within:
        ids = made(material_ids.shape, dtype, lambda z: material_ids[z])
    for number in within:
        _split(scenario, grid, material_ids, ids, contents, number)
    used = numbers_in(ids, len(contents))
    renumber = np.zeros(len(contents), np.min_scalar_type(len(used) - 1))
    renumber[used] = np.arange(len(used))
    everywhere = uniform - frozenset(within)
    materials = tuple(contents[i][0] for i in used)
    sources = tuple(contents[i][1] | everywhere if contents[i][0] < solids else frozenset() for i in used)
    if len(used) == 1:
        return Zones(None, materials, sources)
    numbers = made(ids.shape, renumber.dtype, lambda z: np.take(renumber, ids[z], mode="clip"))
    return Zones(numbers, materials, sources)


def source_masks(
    scenario: Scenario,
    grid: CellGrid,
    number: int,
    materials: Iterable[np.ndarray],
    window: Window | None = None,
) -> Iterator[np.ndarray]:
    """The cells in source `number`, plane by plane (ny, nx), z upwards; materials: those of each plane's cells; window:
    the cells that are looked at, of a source that is in a region."""
    source, key = scenario.sources[number], ("sources", number, "region")
    if source.material is None:
        return shape_masks(scenario, key, source.region, grid, window)
    index = [*scenario.materials, *scenario.ambients].index(source.material)
    return (np.broadcast_to(plane == index, grid.shape[1:]) for plane in materials)


def _split(
    scenario: Scenario,
    grid: CellGrid,
    material_ids: np.ndarray,
    ids: np.ndarray,
    contents: list[tuple[int, frozenset[int]]],
    number: int,
) -> None:
    """Give the solid cells in source `number` zones of their own."""
    heated, source = dict[int, int](), scenario.sources[number]
    shape = None if source.material is not None else source.region
    window = shape_window(scenario, ("sources", number, "region"), shape, grid)
    for plane, mask in zip(ids[window], source_masks(scenario, grid, number, material_ids, window), strict=True):
        if not mask.any():
            continue
        inside = plane[mask]
        for old in numbers_in(inside[None, None], len(contents)).tolist():
            material, sources = contents[old]
            if old not in heated and material < len(scenario.materials):
                heated[old] = len(contents)
                contents.append((material, sources | {number}))
        if len(contents) > MAX_ZONES:
            message = f"expected at most {MAX_ZONES} combinations of material and source"
            raise ScenarioError([scenario.issue_at(("sources", number), message, "merge sources into expressions")])
        table = np.arange(len(contents)).astype(ids.dtype)
        table[list(heated)] = list(heated.values())
        plane[mask] = np.take(table, inside)


# --- regions of statistics


class StatisticsRegion(NamedTuple):
    """A part of the box, and its solid cells."""

    name: str
    cells: RegionCells


def find_statistics_regions(
    scenario: Scenario, grid: CellGrid, material: np.ndarray, capacities: np.ndarray
) -> tuple[StatisticsRegion, ...]:
    """The parts that `output.regions` names.

    material: of each cell, an index into the scenario's materials and then its ambients, (nz, ny, nx); capacities: (n,)
    of each, J/(m3 K), 0 of ambients. Raises `ScenarioError` for a part without solid cells.
    """
    found = list[StatisticsRegion]()
    for number, wanted in enumerate(scenario.output.regions):
        of_region = _blocks_of_region if wanted.by_block else _statistics_region
        found += of_region(scenario, grid, number, material, capacities)
    return tuple(found)


def find_named_parts(
    scenario: Scenario,
    grid: CellGrid,
    regions: tuple[StatisticsRegion, ...],
    material: np.ndarray,
    capacities: np.ndarray,
) -> dict[str | None, RegionCells]:
    """The parts of which the stop and the results of a scenario speak, by their names; None: all solid cells."""
    found: dict[str | None, RegionCells] = {}
    wanted: dict[str | None, tuple[str | int, ...]] = {}
    for number, result in enumerate(scenario.output.results):
        if result.subject.is_of_part:
            wanted.setdefault(result.subject.name, ("output", "results", number, "of"))
    for part in scenario.stop.parts if scenario.stop else ():
        wanted.setdefault(part, ("stop", "when"))
    for part, key in wanted.items():
        named = [region.cells for region in regions if region.name == part]
        if named:
            found[part] = named[0]
            continue
        solid = (capacities > 0)[material]
        cells = np.flatnonzero(solid if part is None else material == list(scenario.materials).index(part))
        if cells.size == 0:
            raise ScenarioError([scenario.issue_at(key, f"no cell is made of {part!r}")])
        found[part] = _region_cells(grid, cells, material, capacities)
    return found


def _region_cells(grid: CellGrid, cells: np.ndarray, material: np.ndarray, capacities: np.ndarray) -> RegionCells:
    return _cells_of([grid.measure(axis) for axis in AXES], cells, material, capacities)


def _cells_of(
    measures: list[np.ndarray], cells: np.ndarray, material: np.ndarray, capacities: np.ndarray
) -> RegionCells:
    """measures: of the grid along x, y and z, for its many parts."""
    z, y, x = np.unravel_index(cells, material.shape)
    volumes = measures[0][x] * measures[1][y] * measures[2][z]
    return RegionCells(cells, volumes, volumes * capacities[material.reshape(-1)[cells]])


def _statistics_region(
    scenario: Scenario, grid: CellGrid, number: int, material: np.ndarray, capacities: np.ndarray
) -> list[StatisticsRegion]:
    wanted, key = scenario.output.regions[number], ("output", "regions", number)
    window = shape_window(scenario, key, wanted, grid)
    masks = [mask.copy() for mask in shape_masks(scenario, key, wanted, grid, window)]
    inside = np.array(masks, bool).reshape(material[window].shape) & (capacities > 0)[material[window]]
    if wanted.material is not None:
        inside &= material[window] == list(scenario.materials).index(wanted.material)
    places = [found + part.start for found, part in zip(np.nonzero(inside), window, strict=True)]
    cells = np.ravel_multi_index(tuple(places), grid.shape)
    if cells.size == 0:
        where = "material" if wanted.material is not None else (wanted.forms or ("name",))[0]
        message = "covers no centre of a solid cell" if where != "material" else "no cell is made of it"
        raise ScenarioError([scenario.issue_at((*key, where), message)])
    return [StatisticsRegion(wanted.name, _region_cells(grid, cells, material, capacities))]


def _blocks_of_region(
    scenario: Scenario, grid: CellGrid, number: int, material: np.ndarray, capacities: np.ndarray
) -> list[StatisticsRegion]:
    """The parts of a region with a floorplan, whose blocks are parts of their own."""
    wanted, key = scenario.output.regions[number], ("output", "regions", number)
    plan = wanted.floorplan
    assert plan is not None
    blocks = floorplan_blocks(scenario, key, plan)
    planes = np.flatnonzero([plan.reaches(float(height)) for height in grid.centres("z")])
    own_cells, solid = np.arange(grid.cells).reshape(grid.shape)[planes], (capacities > 0)[material[planes]]
    found = dict[str, list[np.ndarray]]()
    for block, (rows, columns) in zip(blocks, block_cells(blocks, plan.at, grid), strict=True):
        inside = own_cells[:, rows, columns][solid[:, rows, columns]]
        found.setdefault(block.name, []).append(inside)
    parts, measures = list[StatisticsRegion](), [grid.measure(axis) for axis in AXES]
    for name, pieces in found.items():
        own = np.unique(np.concatenate(pieces)) if len(pieces) > 1 else pieces[0]
        if own.size == 0:
            message = f"block {name!r} covers no centre of a solid cell"
            raise ScenarioError([scenario.issue_at((*key, "floorplan"), message)])
        parts.append(StatisticsRegion(f"{wanted.name}_{name}", _cells_of(measures, own, material, capacities)))
    return parts
