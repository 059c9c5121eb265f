"""The initial temperature: of an expression its mean over each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from heatsim.base.grid import CellGrid
from heatsim.base.threads import share_out
from heatsim.problem.shapes.point_values import centre_planes, evaluate, require_at_least, require_finite
from heatsim.problem.shapes.space_means import SpaceMeans, grid_cells, space_means
from heatsim.problem.shapes.voxelise import last_regions, read_cells
from heatsim.problem.terms.smoothing import is_smoothed, smooth_field
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.language.toml.positions import Key
from heatsim.scenario.regions import ArrayFile

Found = TypeVar("Found")
NOISE = 0.1  # share by which means may be in doubt: what is beyond is noise, which has its values at centres
_KEY: Key = ("initial", "temperature")


class InitialField:
    """Temperatures in the scenario's unit, made plane by plane, so that no second field is held.

    Only a smoothed field is held as a whole, as the rise over its middle in the run's precision.
    """

    def __init__(self, scenario: Scenario, grid: CellGrid) -> None:
        """Raises as `planes` does where the field is to be smoothed."""
        self._scenario, self._grid = scenario, grid
        given = any(region.initial is not None for region in scenario.regions)
        self._last_regions = last_regions(scenario, grid) if given else None
        self._means: dict[Key, SpaceMeans | None] = {}
        self._doubts: dict[Key, float] = {}
        self._smoothed: np.ndarray | None = None
        self._middle = 0.0
        self._range: tuple[float, float] | None = None
        if is_smoothed(scenario, "initial"):
            self._smoothed, self._middle = self._smooth()

    def planes(self) -> Iterator[np.ndarray]:
        """Temperature of each plane (ny, nx), z upwards, float64: see `of_planes`."""
        return self.of_planes(lambda z, plane: plane)

    def of_planes(self, action: Callable[[int, np.ndarray], Found]) -> Iterator[Found]:
        """What an action, by threads, makes of each plane (ny, nx) of temperatures, float64, z upwards, and of its
        number.

        Raises `ScenarioError` for a file that cannot be used, values that are not finite, or below absolute zero.
        """
        smoothed = self._smoothed
        if smoothed is None:
            return self._of_checked_planes(action)

        def of_smoothed(z: int) -> Found:
            return action(z, smoothed[z].astype(np.float64) + self._middle)

        return share_out(of_smoothed, range(len(smoothed)), smoothed.size)

    def range(self) -> tuple[float, float]:
        """Least and greatest temperature. Raises as `of_planes` does."""
        if self._range is None:
            ranges = list(self.of_planes(lambda z, plane: (float(plane.min()), float(plane.max()))))
            self._range = min(low for low, _ in ranges), max(high for _, high in ranges)
        return self._range

    def _smooth(self) -> tuple[np.ndarray, float]:
        """The smoothed rise over the middle of the field, and that middle."""
        scenario, grid = self._scenario, self._grid
        field = np.empty(grid.shape)

        def keep(z: int, plane: np.ndarray) -> None:
            field[z] = plane

        for _ in self._of_checked_planes(keep):
            pass
        field = smooth_field(scenario, "initial", field, grid.spacing[::-1])
        self._require_physical(field, "after smoothing")
        middle = 0.5 * float(field.min() + field.max())
        return (field - middle).astype(scenario.compute.precision), middle

    def doubts(self, least: float) -> Iterator[tuple[Key, float, bool]]:
        """The keys of values whose means over cells are in doubt by more than the share `least`, of what has been
        evaluated so far; by which share, and whether values at centres are taken in their place. None of a field that
        is smoothed: it may be noise."""
        for key, doubt in () if is_smoothed(self._scenario, "initial") else self._doubts.items():
            if doubt > least:
                yield key, doubt, self._means[key] is None

    def _of_checked_planes(self, action: Callable[[int, np.ndarray], Found]) -> Iterator[Found]:
        value, last, points = self._scenario.initial.temperature, self._last_regions, list(centre_planes(self._grid))
        array = None
        if isinstance(value, ArrayFile):
            array = read_cells(self._scenario, (*_KEY, "file"), value.file, value.dataset, self._grid.shape)
        self._find_means()

        def check(z: int) -> Found:
            point = points[z]
            plane = self._plane(value, _KEY, z, point) if array is None else array[z].astype(np.float64)
            if last is not None:
                plane = self._with_regions(plane, last[z], z, point)
            self._require_physical(plane, f"in the plane z = {point['z']:g} m")
            return action(z, plane)

        return share_out(check, range(len(points)), self._grid.cells)

    def _find_means(self) -> None:
        """Find the means over cells of all values that are expressions, before threads ask for them."""
        last = self._last_regions
        given: dict[Key, object] = {_KEY: self._scenario.initial.temperature}
        regions = self._scenario.regions
        if last is not None:
            counts = sum(np.bincount(plane.reshape(-1), minlength=len(regions)) for plane in last)
            given |= {("regions", n, "initial"): regions[n].initial for n in np.flatnonzero(counts).tolist()}
        for key, value in given.items():
            if isinstance(value, Expression) and key not in self._means:
                inside = None if last is None or key == _KEY else last == key[1]
                means = space_means(value, grid_cells(self._grid), {}, inside, by_distance=True)
                self._means[key] = None if means.doubt > NOISE else means
                self._doubts[key] = means.doubt

    def _require_physical(self, temperatures: np.ndarray, where: str, key: Key = _KEY) -> None:
        scenario = self._scenario
        if temperatures.size:
            low, high = temperatures.min(), temperatures.max()  # NaN if one is
            if scenario.zero <= low and high <= np.finfo(scenario.compute.precision).max:
                return
        require_finite(scenario, key, temperatures, where)
        require_at_least(scenario, key, temperatures, scenario.zero, f"{scenario.unit} (absolute zero)", where)

    def _with_regions(
        self, plane: np.ndarray, last: np.ndarray, z: int, point: dict[str, np.ndarray | float]
    ) -> np.ndarray:
        """A plane with the temperatures of those regions that have their own; last: the region of each cell."""
        for number in np.unique(last).tolist():
            own = self._scenario.regions[number].initial
            if own is not None:
                key: Key = ("regions", number, "initial")
                values = self._plane(own, key, z, point)
                self._require_physical(values[last == number], f"in the plane z = {point['z']:g} m", key)
                plane = np.where(last == number, values, plane)
        return plane

    def _plane(self, value: object, key: Key, z: int, point: dict[str, np.ndarray | float]) -> np.ndarray:
        """Means over the cells of plane z of the value at `key`."""
        assert isinstance(value, float | Expression)
        known = self._means.get(key)
        return evaluate(value, self._grid.shape[1:], **point) if known is None else known.plane(z)
