"""The size of the melt pool over time, `melt_pool.csv`: what lies above an isotherm, to a part of a cell."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heatsim.base.grid import AXES, CellGrid
from heatsim.output.recorders import TableRecorder
from heatsim.store.tables import CsvTable

if TYPE_CHECKING:
    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.solve.state import State
    from heatsim.store.folder import RunFolder

_LEAST_SLOPE = 1e-3  # of the largest of the three slopes in a cell; the volume below a plane divides by each


class MeltPool(NamedTuple):
    """Extents of a pool along x, y and z, m, its volume, m3, and its highest temperature; 0 where there is none."""

    extents: tuple[float, float, float]
    volume: float
    highest: float


class MeltPoolRecorder(TableRecorder):
    """A row of the size of the pool at each time."""

    def __init__(self, problem: Problem, folder: RunFolder) -> None:
        scenario, wanted = problem.scenario, problem.scenario.output.melt_pool
        assert wanted is not None
        self._isotherm, self._grid = wanted.temperature, problem.grid
        self._order = (0, 1) if wanted.along == "x" else (1, 0)
        materials = problem.material_ids()
        self._solid = None if materials is None else materials < problem.materials.solids
        sizes = ["length [m]", "width [m]", "depth [m]", "volume [m3]", f"max [{scenario.unit}]"]
        table = CsvTable(folder.path / "melt_pool.csv", ["time [s]", *sizes], goes_on=folder.goes_on)
        super().__init__(wanted.times(scenario.time.last_time), table)

    def record(self, state: State) -> None:
        """Add a row."""
        pool = measure_pool(state.temperature(), self._isotherm, self._grid, self._solid)
        length, width = (pool.extents[axis] for axis in self._order)
        self._table.append([state.time, length, width, pool.extents[2], pool.volume, pool.highest])


def make(problem: Problem, folder: RunFolder, writer: Writer) -> list[MeltPoolRecorder]:
    """The recorder, if it is asked for."""
    return [] if problem.scenario.output.melt_pool is None else [MeltPoolRecorder(problem, folder)]


def measure_pool(temperature: np.ndarray, isotherm: float, grid: CellGrid, solid: np.ndarray | None = None) -> MeltPool:
    """Measure all that is hotter than an isotherm.

    temperature: (nz, ny, nx), in the unit of `isotherm`; solid: (nz, ny, nx) whether a cell is solved, None if all are.

    Along each line of cell centres the isotherm is found by linear interpolation; where the pool touches a face of the
    box or an ambient, that is its end. In each cell the temperature is taken as linear for the volume. Both errors are
    of second order in the cell size.
    """
    hot = temperature > isotherm
    if solid is not None:
        hot &= solid
    if not hot.any():
        return MeltPool((0.0, 0.0, 0.0), 0.0, float(temperature.max() if solid is None else temperature[solid].max()))
    places = [np.flatnonzero(hot.any(axis=tuple({0, 1, 2} - {axis}))) for axis in range(3)]
    cut = tuple(slice(max(0, int(each[0]) - 1), int(each[-1]) + 2) for each in places)  # with a cell more at each end
    over = temperature[cut].astype(np.float64) - isotherm
    known = np.ones(over.shape, bool) if solid is None else solid[cut]
    cells = dict(zip(AXES, reversed(cut), strict=True))
    extents = [_extent(over, hot[cut], known, grid, axis, cells[axis]) for axis in AXES]
    volumes = np.stack(
        [np.broadcast_to(grid.volumes(z), grid.shape[1:]) for z in range(*cut[0].indices(grid.shape[0]))]
    )
    share = _share_above(over, known, grid, cells)
    volume = float((share * volumes[:, cut[1], cut[2]])[known].sum())
    return MeltPool((extents[0], extents[1], extents[2]), volume, float(over[known].max() + isotherm))


def _extent(over: np.ndarray, hot: np.ndarray, known: np.ndarray, grid: CellGrid, axis: str, cells: slice) -> float:
    """How far the pool reaches along an axis, m. over: the temperature over the isotherm."""
    over, hot, known = (np.moveaxis(values, 2 - AXES.index(axis), -1) for values in (over, hot, known))
    faces, centres = grid.faces(axis), grid.centres(axis)[cells]
    faces = faces[cells.start : cells.start + len(centres) + 1]
    high = _upper_end(over, hot, known, centres, faces)
    low = -_upper_end(over[..., ::-1], hot[..., ::-1], known[..., ::-1], -centres[::-1], -faces[::-1])
    return high - low


def _upper_end(over: np.ndarray, hot: np.ndarray, known: np.ndarray, centres: np.ndarray, faces: np.ndarray) -> float:
    """The highest place of the pool along the last axis, m."""
    ends = hot[..., :-1] & ~hot[..., 1:]
    inside, beyond = over[..., :-1], over[..., 1:]
    way = np.where(ends & known[..., 1:], inside - beyond, 1.0)
    crossing = centres[:-1] + np.diff(centres) * np.where(ends, inside, 0.0) / way
    places = np.where(known[..., 1:], crossing, faces[1:-1])[ends]
    reached = float(faces[-1]) if hot[..., -1].any() else -np.inf
    return max(reached, float(places.max(initial=-np.inf)))


def _share_above(over: np.ndarray, known: np.ndarray, grid: CellGrid, cells: dict[str, slice]) -> np.ndarray:
    """The share of each cell above the isotherm, from the value in its centre and the slopes along the axes."""
    rises = []
    for axis in AXES:
        sizes = grid.sizes(axis)[cells[axis]]
        rises.append(np.moveaxis(_rise_in_cell(over, known, 2 - AXES.index(axis), sizes), -1, 2 - AXES.index(axis)))
    rise = np.abs(np.stack(rises))
    half = 0.5 * rise.sum(axis=0)
    share = (over > 0).astype(np.float64)
    cut = np.abs(over) < half
    share[cut] = _share_above_plane(over[cut], rise[:, cut])
    return share


def _rise_in_cell(over: np.ndarray, known: np.ndarray, number: int, sizes: np.ndarray) -> np.ndarray:
    """How much a linear field rises over each cell along an axis, which comes last: from both neighbours, or from one
    where the other is not solved or beyond the box."""
    value, there = np.moveaxis(over, number, -1), np.moveaxis(known, number, -1)
    apart = 0.5 * (sizes[:-1] + sizes[1:])
    step, both = np.diff(value), there[..., 1:] & there[..., :-1]
    edge = [(0, 0)] * (value.ndim - 1)
    way = np.pad(np.where(both, apart, 0.0), [*edge, (1, 1)])
    change = np.pad(np.where(both, step, 0.0), [*edge, (1, 1)])
    total = way[..., 1:] + way[..., :-1]
    slope = (change[..., 1:] + change[..., :-1]) / np.where(total > 0.0, total, 1.0)
    return np.asarray(slope * sizes)


def _share_above_plane(over: np.ndarray, rise: np.ndarray) -> np.ndarray:
    """(n,) the share of a unit cube in which a linear function is above 0; over (n,) in its centre, rise (3, n) >= 0.

    The volume below a plane is that of a tetrahedron, less those which stick out of the cube at its corners
    (Scardovelli and Zaleski, J. Comput. Phys. 164, 2000, 228).
    """
    rise = np.maximum(rise, _LEAST_SLOPE * rise.max(axis=0))
    rise, over = rise / rise.sum(axis=0), over / rise.sum(axis=0)
    alpha = 0.5 + over  # the function at the corner where it is greatest
    total = np.zeros_like(over)
    for corner in product((0, 1), repeat=3):
        total += (-1.0) ** sum(corner) * np.maximum(0.0, alpha - np.array(corner) @ rise) ** 3
    return np.asarray(np.clip(total / (6.0 * rise.prod(axis=0)), 0.0, 1.0))
