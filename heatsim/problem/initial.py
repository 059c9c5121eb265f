"""The initial temperature."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from heatsim.grid import Grid
from heatsim.problem.painting import read_cells
from heatsim.problem.values import evaluate, planes, require_at_least, require_finite
from heatsim.scenario import Scenario
from heatsim.scenario.shapes import ArrayFile

ABSOLUTE_ZERO = {"K": 0.0, "degC": -273.15}
_KEY = ("initial", "temperature")
_SAMPLES = 32


class InitialField:
    """Temperatures in the scenario's unit, made plane by plane so that no second field is held."""

    def __init__(self, scenario: Scenario, grid: Grid) -> None:
        self._scenario, self._grid = scenario, grid
        value = scenario.initial.temperature
        self._array: np.ndarray | None = None
        if isinstance(value, ArrayFile):
            self._array = read_cells(scenario, (*_KEY, "file"), value.file, value.dataset, grid.shape)

    def planes(self) -> Iterator[np.ndarray]:
        """Temperature of each plane (ny, nx), z upwards, float64. Raises `ScenarioError` if not finite."""
        for z, point in enumerate(planes(self._grid)):
            yield self._plane(z, point)

    def range(self) -> tuple[float, float]:
        """Least and greatest temperature on some planes spread over the grid."""
        chosen = set(np.linspace(0, self._grid.shape[0] - 1, _SAMPLES).astype(int).tolist())
        found = [self._plane(z, point) for z, point in enumerate(planes(self._grid)) if z in chosen]
        return min(float(plane.min()) for plane in found), max(float(plane.max()) for plane in found)

    def _plane(self, z: int, point: dict[str, np.ndarray | float]) -> np.ndarray:
        value = self._scenario.initial.temperature
        plane: np.ndarray
        if self._array is not None:
            plane = self._array[z].astype(np.float64)
        else:
            assert not isinstance(value, ArrayFile)
            plane = evaluate(value, self._grid.shape[1:], **point)
        where = f"in the plane z = {point['z']:g} m"
        require_finite(self._scenario, _KEY, plane, where)
        unit = self._scenario.temperature_unit
        require_at_least(self._scenario, _KEY, plane, ABSOLUTE_ZERO[unit], f"{unit} (absolute zero)", where)
        return plane
