"""Sources whose powers a file gives for each block of a floorplan: one density, constant within each block.

    power(t) = sum over rows r of hat_r(t) P_r      a file over time, linear between its rows t_r: the terms of a source
                                                    are the powers of its rows, each times a hat of its own
    .     /\\  hat_r                                 that is 1 at t_r, and 0 at the rows beside it

So a term is a field times a factor of time, as of an expression in space, and takes no zone for each block.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from heatsim.base.grid import CellGrid
from heatsim.errors import ScenarioError
from heatsim.problem.shapes.floorplans import ChipBlock
from heatsim.problem.shapes.space_means import SpaceMeans, Window
from heatsim.problem.shapes.voxelise import block_cells, floorplan_blocks, shape_window
from heatsim.problem.terms.sources.csv_columns import read_block_powers, require_increasing
from heatsim.problem.terms.sources.power_trace import PowerTrace
from heatsim.scenario import Scenario
from heatsim.scenario.language.toml.positions import Key


class BlockMap:
    """The blocks of a floorplan on a grid: which cells of a plane are in which block, `cells` and `blocks` (pairs,),
    and the volume of the solid cells of each, `volumes` (n,) m3. names: of the blocks, in their order."""

    def __init__(self, scenario: Scenario, key: Key, grid: CellGrid, solid: np.ndarray | None) -> None:
        """key: of the region. Raises `ScenarioError` as `floorplan_blocks` does."""
        region = scenario.sources[int(key[1])].region
        assert region is not None
        assert region.floorplan is not None
        plan, every = region.floorplan, floorplan_blocks(scenario, key, region.floorplan)
        self.names = list(dict.fromkeys(block.name for block in every))
        places = {name: place for place, name in enumerate(self.names)}
        self.shape, self.window = grid.shape, shape_window(scenario, key, region, grid)
        reached = np.array([plan.reaches(float(height)) for height in grid.centres("z")])
        planes = np.flatnonzero(reached)
        self.window = (slice(int(planes[0]), int(planes[-1]) + 1) if planes.size else slice(0, 0), *self.window[1:])
        heights = grid.measure("z")[self.window[0]]
        held = heights.sum() if solid is None else np.tensordot(heights, solid[self.window[0]], axes=1)
        self._areas = (held * np.outer(grid.measure("y"), grid.measure("x"))).reshape(-1)
        self.cells, self.blocks = _pairs(every, places, plan.at, grid)
        self.volumes = np.bincount(self.blocks, self._areas[self.cells], len(self.names))

    def density(self, powers: np.ndarray) -> np.ndarray:
        """(ny, nx) W/m3 of powers (n,) W, added up where blocks overlap."""
        of_blocks = np.divide(powers, self.volumes, out=np.zeros(len(powers)), where=self.volumes > 0)
        found = np.bincount(self.cells, of_blocks[self.blocks], self.shape[1] * self.shape[2])
        return found.reshape(self.shape[1:])


def _pairs(
    every: list[ChipBlock], places: dict[str, int], at: tuple[float, float], grid: CellGrid
) -> tuple[np.ndarray, np.ndarray]:
    """The cells of a plane in each block, and the number of the block."""
    numbers = np.arange(grid.shape[1] * grid.shape[2]).reshape(grid.shape[1:])
    cells = [numbers[rows, columns].reshape(-1) for rows, columns in block_cells(every, at, grid)]
    blocks = np.repeat([places[block.name] for block in every], [len(each) for each in cells])
    return np.concatenate(cells), blocks


class BlockMeans(SpaceMeans):
    """The density of the blocks of a `map` with `powers` (n,) W, made anew when it is asked for: there may be many."""

    def __init__(self, blocks: BlockMap, powers: np.ndarray) -> None:
        super().__init__(blocks.shape, [], 0.0)
        self._map, self._powers = blocks, powers

    @property
    def windows(self) -> list[Window]:
        """The layer."""
        return [(self._map.window[0], slice(0, self._shape[1]), slice(0, self._shape[2]))]

    @property
    def extremes(self) -> tuple[float, float]:
        """The least and the greatest density, or 0, W/m3."""
        density = self._map.density(self._powers)
        return min(0.0, float(density.min())), max(0.0, float(density.max()))

    def values(self) -> np.ndarray:
        """The means over all cells."""
        found = np.zeros(self._shape)
        found[self._map.window[0]] = self._map.density(self._powers)
        return found

    def plane(self, number: int) -> np.ndarray:
        """The means over the cells of a plane."""
        part = self._map.window[0]
        return self._map.density(self._powers) if part.start <= number < part.stop else np.zeros(self._shape[1:])


def powers_of_blocks(
    scenario: Scenario, number: int, path: Path, grid: CellGrid, solid: np.ndarray | None
) -> list[tuple[BlockMeans, PowerTrace | None]]:
    """The densities of source `number`, and the factor of time of each. solid: the cells that may be heated.

    Raises `ScenarioError` for a file that is no table of powers, that lacks a block or has others, and for a block with
    a power that covers no centre of a solid cell."""
    key: Key = ("sources", number, "region")
    blocks = BlockMap(scenario, key, grid, solid)
    columns = read_block_powers(scenario, ("sources", number, "powers"), path, blocks.names)
    empty = np.flatnonzero((blocks.volumes == 0.0) & columns.powers.any(axis=0))
    if empty.size:
        more = f", and {empty.size - 1} more" if empty.size > 1 else ""
        message = f"block {blocks.names[empty[0]]!r}{more}: covers no centre of a solid cell"
        raise ScenarioError([scenario.issue_at((*key, "floorplan"), message, "make it larger, or the cells smaller")])
    if columns.times is None:
        return [(BlockMeans(blocks, columns.powers[0]), None)]
    times = columns.times
    if len(times) < 2:
        raise columns.rows.refuse(0, "expected at least two rows, found one", "columns block, power [W] are constant")
    require_increasing(columns.rows, times, "a step is a short ramp: 1 and 1.001, for example")
    end = scenario.time.end
    if times[0] >= end:
        raise columns.rows.refuse(0, f"expected powers that begin before time.end = {end:g} (s), found {times[0]:g}")
    return [(BlockMeans(blocks, row), _hat(times, place)) for place, row in enumerate(columns.powers) if row.any()]


def _hat(times: np.ndarray, place: int) -> PowerTrace:
    """1 at a row, and 0 at those beside it."""
    part = slice(max(place - 1, 0), place + 2)
    return PowerTrace(times[part], (np.arange(len(times)) == place)[part].astype(np.float64))
