"""The numbers for which a run is made, over time, `results.csv`; and what they are at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from heatsim.output.recorders import TableRecorder
from heatsim.output.recorders.quantities import QuantityReader
from heatsim.store.tables import CsvTable, read_table

if TYPE_CHECKING:
    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.scenario import Scenario
    from heatsim.scenario.results import Result
    from heatsim.solve.state import State
    from heatsim.store.folder import RunFolder

_OVER_TIME: dict[str, Callable[[np.ndarray], np.floating]] = {
    "max": np.max,
    "max_smooth": np.max,
    "probe": np.max,
    "min": np.min,
}


class ResultRecorder(TableRecorder):
    """All results in one table; whenever one is due, all are recorded."""

    def __init__(self, problem: Problem, folder: RunFolder) -> None:
        scenario = problem.scenario
        self._reader = QuantityReader(problem, [result.subject for result in scenario.output.results])
        names = [f"{name} [{unit}]" for name, unit in result_units(scenario).items()]
        last = scenario.time.last_time
        times = (time for result in scenario.output.results for time in result.times(last))
        super().__init__((*times, last), CsvTable(folder.results, ["time [s]", *names], goes_on=folder.goes_on))

    def record(self, state: State) -> None:
        """Add a row."""
        self._table.append([state.time, *self._reader.read(state)])


def make(problem: Problem, folder: RunFolder, writer: Writer) -> list[ResultRecorder]:
    """The recorder of the results, if any are asked for."""
    return [ResultRecorder(problem, folder)] if problem.scenario.output.results else []


def result_units(scenario: Scenario) -> dict[str, str]:
    """The units of the results, by their names."""
    heat = scenario.solved.in_own_unit(scenario.time.chosen.energy_unit if scenario.time.chosen else "J")
    return {each.name: each.subject.unit(scenario.unit, heat) for each in scenario.output.results}


def found_results(scenario: Scenario, folder: RunFolder, finished: bool) -> dict[str, float | None]:
    """The results of a run by their names, in the units of `result_units`; None where the run has not come to the time
    of one, or to its end. finished: whether it has come to its end, by a stop or at `time.end`."""
    _, rows = read_table(folder.results)
    found = {}
    for column, result in enumerate(scenario.output.results, 1):
        value = _value(result, rows[:, 0], rows[:, column], finished)
        found[result.name] = float(value) if np.isfinite(value) else None
    return found


def _value(result: Result, times: np.ndarray, values: np.ndarray, finished: bool) -> float:
    if result.at is not None:
        at = np.flatnonzero(times == result.at)
        return float(values[at[0]]) if at.size else np.nan
    if not finished:
        return np.nan
    if result.over is None:
        return float(values[-1])
    if result.subject.kind == "mean":
        return float(np.trapezoid(values, times) / (times[-1] - times[0]))
    return float(_OVER_TIME[result.subject.kind](values))
