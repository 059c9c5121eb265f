"""Temperature and energy of parts of the box over time, `regions.csv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heatsim.store.tables import CsvTable

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.problem.parts import Part
    from heatsim.state import State
    from heatsim.store.folder import RunFolder


class Statistics(NamedTuple):
    """Of the values in a part of the box: least, greatest, mean by volume, and the sum of capacity times value."""

    least: float
    greatest: float
    mean: float
    heat: float


def statistics(values: np.ndarray, volumes: np.ndarray, capacities: np.ndarray) -> Statistics:
    """What a part has, from the values, volumes (m3) and heat capacities (J/K) of its cells, (m,) each."""
    values = values.astype(np.float64)
    mean = float((volumes * values).sum() / volumes.sum())
    return Statistics(float(values.min()), float(values.max()), mean, float((capacities * values).sum()))


class RegionRecorder:
    """All parts in one table; whenever one is due, all are recorded. Energies count from t = 0."""

    def __init__(self, problem: Problem, folder: RunFolder, parts: Sequence[Part]) -> None:
        """`parts`: those that `output.regions` names, in its order."""
        scenario = problem.scenario
        wanted = scenario.output.regions
        self.times = tuple(sorted({time for each in wanted for time in each.times(scenario.time.end)}))
        self._parts, self._reference = parts, problem.reference
        initial = np.concatenate([plane.reshape(-1) for plane in problem.initial_planes()])
        self._initial = [self._of(initial[part.cells], part).heat for part in self._parts]
        unit = scenario.temperature_unit
        names = [f"{part.name} {what}" for part in self._parts for what in _columns(unit)]
        self._table = CsvTable(folder.regions, ["time [s]", *names])

    def record(self, state: State) -> None:
        """Add a row."""
        row = [state.time]
        for part, initial in zip(self._parts, self._initial, strict=True):
            found = self._of(state.sweep.cells(part.cells), part)
            temperatures = (value + self._reference for value in found[:3])
            row += [*temperatures, found.heat - initial]
        self._table.append(row)

    def close(self, finished: bool) -> None:
        """Close the table."""
        self._table.close()

    @staticmethod
    def _of(rise: np.ndarray, part: Part) -> Statistics:
        return statistics(rise, part.volumes, part.capacities)


def _columns(unit: str) -> tuple[str, ...]:
    return f"min [{unit}]", f"max [{unit}]", f"mean [{unit}]", "energy [J]"
