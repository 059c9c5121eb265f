"""Recorders: each keeps one kind of result of a run.

A recorder has `times` (s, when it is due), `record(state)` and `close(finished)`, called in that order. A new one takes
three files: its own, with a function `make`; its line in RECORDERS; and its key in `scenario/output.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.solve.state import State
    from heatsim.store.folder import RunFolder
    from heatsim.store.tables import CsvTable


class Recorder(Protocol):
    """What `simulation` asks of a recorder."""

    times: tuple[float, ...]
    checks_finite_itself: bool  # whether it takes values later, and then refuses those that are not finite

    def record(self, state: State) -> None:
        """Keep what is wanted of the state, at one of `times`."""

    def state(self) -> dict[str, int]:
        """How much has been kept, as soon as the writer has written it."""

    def restore(self, saved: dict[str, int]) -> None:
        """Cut what was kept back to what there was at `state`; called before the first `record`, in a run folder that
        goes on."""

    def close(self, finished: bool) -> None:
        """End the record; called once, and quick to return after a run that did not finish."""


class TableRecorder:
    """What recorders that add a row to one table at each of their times have in common."""

    checks_finite_itself = False

    def __init__(self, times: Iterable[float], table: CsvTable) -> None:
        """times: when a row is due, s, in any order."""
        self.times, self._table = tuple(sorted(set(times))), table

    def state(self) -> dict[str, int]:
        """How far the table is."""
        return {"table_bytes": self._table.saved_size()}

    def restore(self, saved: dict[str, int]) -> None:
        """Cut the table back."""
        self._table.cut_back(saved["table_bytes"])

    def close(self, finished: bool) -> None:
        """Close the table."""
        self._table.close()


class Silent:
    """Keeps nothing at some times, at which steps end all the same: so that a run of which only numbers are wanted has
    the bits of the whole run."""

    checks_finite_itself = True

    def __init__(self, times: tuple[float, ...]) -> None:
        self.times = times

    def record(self, state: State) -> None:
        """Nothing."""

    def state(self) -> dict[str, int]:
        """Nothing."""
        return {}

    def restore(self, saved: dict[str, int]) -> None:
        """Nothing."""

    def close(self, finished: bool) -> None:
        """Nothing."""


class RecorderEntry(NamedTuple):
    """A kind of recorder.

    module: whose `make(problem, folder, writer)` gives the recorders that a scenario asks for, in a list; table: the
    file that they write in the run folder, or "" if they write where the folder has places of its own; label: of that
    file in what `heatsim info` prints; numbers: whether what they keep is a few numbers, and no fields or pictures.
    """

    module: str
    table: str = ""
    label: str = ""
    numbers: bool = True


# In the order in which they record and end: hot spots are searched for on slices, so these come before.
RECORDERS = {
    "slices": RecorderEntry("heatsim.output.recorders.slices", numbers=False),
    "snapshots": RecorderEntry("heatsim.output.recorders.snapshots", numbers=False),
    "probes": RecorderEntry("heatsim.output.recorders.probes", "probes.csv", "probes"),
    "regions": RecorderEntry("heatsim.output.recorders.regions", "regions.csv", "regions"),
    "melt_pool": RecorderEntry("heatsim.output.recorders.melt_pool", "melt_pool.csv", "melt pool"),
    "hotspots": RecorderEntry("heatsim.output.recorders.hotspots", "hotspots.csv", "hot spots", numbers=False),
    "results": RecorderEntry("heatsim.output.recorders.results", "results.csv", "results"),
    "energy": RecorderEntry("heatsim.output.recorders.energy", "energy.csv", "energy ledger"),
}
TABLES = tuple(entry.table for entry in RECORDERS.values() if entry.table)


def make_recorders(
    problem: Problem, folder: RunFolder, writer: Writer, *, numbers_only: bool = False
) -> list[Recorder]:
    """The recorders that the scenario asks for. numbers_only: without fields and pictures, though steps end as if these
    were kept."""
    recorders: list[Recorder] = []
    if numbers_only:
        output, end = problem.scenario.output, problem.scenario.time.last_time
        recorders += [Silent(tuple(each.times(end))) for each in (output.snapshots, *output.slices)]
    for entry in RECORDERS.values():
        if entry.numbers or not numbers_only:
            recorders += import_module(entry.module).make(problem, folder, writer)
    return recorders
