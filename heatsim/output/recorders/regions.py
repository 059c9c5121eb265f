"""Temperature and energy of parts of the box over time, `regions.csv`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatsim.output.recorders import TableRecorder
from heatsim.store.tables import CsvTable

if TYPE_CHECKING:
    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.solve.state import State
    from heatsim.store.folder import RunFolder


class RegionRecorder(TableRecorder):
    """Writes all parts into one table; whenever one part is due, all are recorded. Energies count from t = 0."""

    def __init__(self, problem: Problem, folder: RunFolder) -> None:
        scenario = problem.scenario
        wanted = scenario.output.regions
        self._regions, self._reference = problem.statistics_regions, problem.reference
        self._volumes = [float(part.cells.volumes.sum()) for part in self._regions]
        solved = scenario.solved
        columns = [f"{name} [{solved.unit}]" for name in ("min", "max", "mean")]
        columns.append(f"{solved.stored} [{solved.in_own_unit('J')}]")
        names = [f"{part.name} {column}" for part in self._regions for column in columns]
        times = (time for each in wanted for time in each.times(scenario.time.last_time))
        super().__init__(times, CsvTable(folder.regions, ["time [s]", *names], goes_on=folder.goes_on))

    def record(self, state: State) -> None:
        """Add a row."""
        row = [state.time]
        for part, volume, initial in zip(self._regions, self._volumes, state.region_heat_at_start, strict=True):
            low, high, by_volume, heat = state.totals(part.cells)
            values = low, high, by_volume / volume
            row += [*(value + self._reference for value in values), heat - initial]
        self._table.append(row)


def make(problem: Problem, folder: RunFolder, writer: Writer) -> list[RegionRecorder]:
    """The recorder of the statistics of regions, if any are asked for."""
    return [RegionRecorder(problem, folder)] if problem.scenario.output.regions else []
