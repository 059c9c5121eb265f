"""Temperatures at points over time, `probes.csv`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heatsim.recorders.probe_weights import probe_weights
from heatsim.store.tables import CsvTable

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.state import State
    from heatsim.store.folder import RunFolder


class ProbeRecorder:
    """All probes in one table; whenever one is due, all are recorded."""

    late = False

    def __init__(self, problem: Problem, folder: RunFolder) -> None:
        scenario = problem.scenario
        probes = scenario.output.probes
        self.times = tuple(sorted({time for probe in probes for time in probe.times(scenario.time.end)}))
        unit = scenario.temperature_unit
        self._table = CsvTable(folder.probes, ["time [s]", *(f"{probe.name} [{unit}]" for probe in probes)])
        seen = problem.zones.medium, problem.media.solids, problem.terms.periodic
        stencils = [probe_weights(problem.grid, probe.at, *seen) for probe in probes]
        self._cells = np.array([cells for cells, _ in stencils])
        self._weights = np.array([weights for _, weights in stencils])

    def record(self, state: State) -> None:
        """Add a row."""
        self._table.append([state.time, *state.sample(self._cells, self._weights).tolist()])

    def close(self, finished: bool) -> None:
        """Close the table."""
        self._table.close()
