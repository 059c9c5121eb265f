"""The initial temperature."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heatsim.grid import Grid
from heatsim.problem.painting import read_cells
from heatsim.problem.values import ABSOLUTE_ZERO, evaluate, planes, require_at_least, require_finite
from heatsim.scenario import Expression, Scenario
from heatsim.scenario.shapes import ArrayFile

_KEY = ("initial", "temperature")


class InitialField:
    """Temperatures in the scenario's unit, made plane by plane, so that no second field is held."""

    def __init__(self, scenario: Scenario, grid: Grid) -> None:
        self._scenario, self._grid = scenario, grid

    def planes(self) -> Iterator[np.ndarray]:
        """Temperature of each plane (ny, nx), z upwards, float64.

        Raises `ScenarioError` for a file that cannot be used, values that are not finite, or below absolute zero.
        """
        value = self._scenario.initial.temperature
        array = None
        if isinstance(value, ArrayFile):
            array = read_cells(self._scenario, (*_KEY, "file"), value.file, value.dataset, self._grid.shape)
        unit = self._scenario.temperature_unit
        for z, point in enumerate(planes(self._grid)):
            where = f"in the plane z = {point['z']:g} m"
            plane = self._plane(value, point) if array is None else array[z].astype(np.float64)
            require_finite(self._scenario, _KEY, plane, where)
            require_at_least(self._scenario, _KEY, plane, ABSOLUTE_ZERO[unit], f"{unit} (absolute zero)", where)
            yield plane

    def range(self) -> tuple[float, float]:
        """Least and greatest temperature."""
        ranges = [(float(plane.min()), float(plane.max())) for plane in self.planes()]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def _plane(self, value: object, point: dict[str, np.ndarray | float]) -> np.ndarray:
        assert isinstance(value, float | Expression)
        return evaluate(value, self._grid.shape[1:], **point)
