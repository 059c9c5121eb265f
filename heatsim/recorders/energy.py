"""The energy ledger over time, `energy.csv`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatsim.grid import FACES
from heatsim.store.tables import CsvTable

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.state import State
    from heatsim.store.folder import RunFolder

HEADER = (
    "time [s]",
    "stored [J]",
    "sources [J]",
    *(f"{face} [J]" for face in FACES),
    "residual [J]",
    "residual / moved [1]",
)


class EnergyRecorder:
    """Stored energy, heat released and heat that entered through each face, all since t = 0, and what is left over."""

    def __init__(self, problem: Problem, folder: RunFolder) -> None:
        schedule = problem.scenario.output.energy
        self.times = schedule.times(problem.scenario.time.end) if schedule else ()
        self._table = CsvTable(folder.energy, HEADER)

    def record(self, state: State) -> None:
        """Add a row."""
        e = state.energy
        faces = [e.faces[name] for name in FACES]
        self._table.append([state.time, e.stored, e.sources, *faces, e.residual, e.relative_residual])

    def close(self, finished: bool) -> None:
        """Close the table."""
        self._table.close()
