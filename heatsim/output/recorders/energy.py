"""The energy ledger over time, `energy.csv`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatsim.base.grid import FACES
from heatsim.output.recorders import TableRecorder
from heatsim.store.tables import CsvTable

if TYPE_CHECKING:
    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.solve.state import State
    from heatsim.store.folder import RunFolder


class EnergyRecorder(TableRecorder):
    """Stored energy, heat released and heat that entered through each face and from each ambient, all since t = 0, and
    what is left over.

    Of a steady state these are rates, in W.
    """

    def __init__(self, problem: Problem, folder: RunFolder) -> None:
        schedule = problem.scenario.output.energy
        chosen = problem.scenario.time.chosen
        unit = problem.scenario.solved.in_own_unit(chosen.energy_unit if chosen else "J")
        parts = ["stored", "sources", *FACES, *problem.scenario.exchanging_ambients, "residual"]
        header = ["time [s]", *(f"{part} [{unit}]" for part in parts), "residual / moved [1]"]
        times = schedule.times(problem.scenario.time.last_time) if schedule else ()
        super().__init__(times, CsvTable(folder.energy, header, goes_on=folder.goes_on))

    def record(self, state: State) -> None:
        """Add a row."""
        e = state.energy
        entered = [*(e.faces[name] for name in FACES), *e.ambients.values()]
        self._table.append([state.time, e.stored, e.sources, *entered, e.residual, e.relative_residual])


def make(problem: Problem, folder: RunFolder, writer: Writer) -> list[EnergyRecorder]:
    """The recorder of the energy ledger, if it is asked for."""
    return [] if problem.scenario.output.energy is None else [EnergyRecorder(problem, folder)]
