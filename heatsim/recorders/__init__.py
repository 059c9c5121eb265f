"""Recorders: each keeps one kind of result of a run.

A recorder has `times` (s, when it is due), `record(state)` and `close(finished)`, called in that order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.recorders.writer import Writer
    from heatsim.simulation.state import State
    from heatsim.store.folder import RunFolder


class Recorder(Protocol):
    """What `simulation` asks of a recorder."""

    times: tuple[float, ...]
    late: bool  # whether it takes values later, and then refuses what is not finite

    def record(self, state: State) -> None:
        """Keep what is wanted of the state, at one of `times`."""

    def close(self, finished: bool) -> None:
        """End the record; called once, and quick to return after a run that did not finish."""


def make_recorders(problem: Problem, folder: RunFolder, writer: Writer) -> list[Recorder]:
    """The recorders that the scenario asks for."""
    from heatsim.recorders.derived_fields import derived_fields
    from heatsim.recorders.energy import EnergyRecorder
    from heatsim.recorders.hotspots import HotspotRecorder
    from heatsim.recorders.probes import ProbeRecorder
    from heatsim.recorders.regions import RegionRecorder
    from heatsim.recorders.slices import SliceRecorder
    from heatsim.recorders.snapshots import SnapshotRecorder

    output = problem.scenario.output
    recorders: list[Recorder] = [SliceRecorder(problem, folder, writer, wanted) for wanted in output.slices]
    recorders.append(SnapshotRecorder(problem, folder, writer, *([derived_fields] if output.fields else [])))
    if output.probes:
        recorders.append(ProbeRecorder(problem, folder))
    if output.regions:
        recorders.append(RegionRecorder(problem, folder))
    if output.energy is not None:
        recorders.append(EnergyRecorder(problem, folder))
    if problem.scenario.hotspots is not None:  # after the slices, which it reads
        recorders.append(HotspotRecorder(folder, writer, problem.scenario.hotspots, problem.scenario.ambients))
    return recorders
