"""The numbers for which a run is made, over time, `results.csv`; and what they are at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from heatsim.output.recorders import TableRecorder
from heatsim.output.recorders.probes import ProbeReader
from heatsim.store.tables import CsvTable, read_table

if TYPE_CHECKING:
    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.scenario import Scenario
    from heatsim.scenario.results import Result, ResultSubject
    from heatsim.solve.state import State
    from heatsim.store.folder import RunFolder

_OVER_TIME: dict[str, Callable[[np.ndarray], np.floating]] = {
    "max": np.max,
    "max_smooth": np.max,
    "probe": np.max,
    "min": np.min,
}


class ResultRecorder(TableRecorder):
    """Writes all results into one table; whenever one result is due, all are recorded."""

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


def smooth_maximum(values: np.ndarray, shares: np.ndarray, width: float) -> tuple[float, np.ndarray]:
    """A smooth maximum of values, of which each has a share of a whole of 1; and its derivatives by them.

    max + width * log(sum of shares * exp((value - max) / width)): at most the maximum, to which it goes as the width
    goes to 0. Source: G. Kreisselmeier and R. Steinhauser, Systematic control design by optimizing a vector
    performance index, IFAC Proceedings 12 (1979) 113.
    """
    highest = float(values.max())
    weights = shares * np.exp((values - highest) / width)
    total = float(weights.sum())
    return highest + width * float(np.log(total)), weights / total


class QuantityReader:
    """Reads what subjects of results name, in the scenario's unit, J, m3 or kg."""

    def __init__(self, problem: Problem, subjects: Sequence[ResultSubject]) -> None:
        scenario = problem.scenario
        self._problem, self._subjects = problem, subjects
        named = [each.name for each in subjects if each.kind == "probe"]
        probes = [probe for probe in scenario.output.probes if probe.name in named]
        self._probes = ProbeReader(problem, probes) if probes else None
        self._probe_names = [probe.name for probe in probes]
        # Means take sums over all cells of a part; extremes alone take less.
        self._summed = {each.name for each in subjects if each.kind == "mean"}
        self._searched = {each.name for each in subjects if each.kind in ("min", "max")} - self._summed
        self._sizes = {each: self._size(each) for each in subjects if each.kind in ("volume", "mass")}

    def _size(self, subject: ResultSubject) -> float:
        """The volume of the cells of a part, m3, or their mass, kg."""
        problem = self._problem
        cells = problem.named_parts[subject.name]
        if subject.kind == "volume":
            return float(cells.volumes.sum())
        densities, ids = [each.density for each in problem.scenario.materials.values()], problem.material_ids()
        if ids is None:
            return float(cells.volumes.sum() * densities[problem.zones.materials[0]])
        return float((cells.volumes * np.array(densities)[ids.reshape(-1)[cells.indices]]).sum())

    def read(self, state: State) -> list[float]:
        """The numbers, in the order of the subjects."""
        parts, reference = self._problem.named_parts, self._problem.reference
        found: dict[tuple[str | None, str], float] = {}
        for part in self._summed:
            low, high, by_volume, _ = state.totals(parts[part])
            mean = by_volume / float(parts[part].volumes.sum())
            found |= {(part, "min"): low, (part, "max"): high, (part, "mean"): mean}
        for part in self._searched:
            low, high = state.field.extremes(parts[part])
            found |= {(part, "min"): low, (part, "max"): high}
        probes = [] if self._probes is None else self._probes.read(state)
        of_probes = dict(zip(self._probe_names, probes, strict=True))
        row = []
        for each in self._subjects:
            if each.kind == "max_smooth":
                cells = parts[each.name]
                shares, values = cells.volumes / cells.volumes.sum(), state.field.cells(cells.indices)
                row.append(reference + smooth_maximum(values.astype(np.float64), shares, each.width)[0])
            elif each.is_statistic:
                row.append(reference + found[each.name, each.kind])
            elif each in self._sizes:
                row.append(self._sizes[each])
            elif each.kind == "probe":
                row.append(of_probes[str(each.name)])
            else:
                row.append((state.energy.faces | state.energy.ambients)[str(each.name)])
        return row
