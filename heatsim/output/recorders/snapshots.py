"""Snapshots of the whole field, and the series that joins them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from heatsim.base.arriving import ArrivingArray
from heatsim.base.threads import made, parts, share_out
from heatsim.errors import NotFiniteError
from heatsim.output.recorders.writer import MAX_TASKS
from heatsim.store.series import Series
from heatsim.store.snapshots import Snapshot, SnapshotField, write_geometry, write_snapshot

if TYPE_CHECKING:
    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.solve.state import State
    from heatsim.store.folder import RunFolder
    from heatsim.store.slab_files import SlabFile

Extra = Callable[["State"], Mapping[str, SnapshotField]]


def _nothing(state: State) -> Mapping[str, SnapshotField]:
    return {}


class SnapshotRecorder:
    """Writes `snapshots/`, `run.vtkhdf` and, where there are several materials, `geometry.h5`."""

    def __init__(self, problem: Problem, folder: RunFolder, writer: Writer, extra: Extra = _nothing) -> None:
        """`extra`: further fields of a state that each snapshot is to hold."""
        scenario = problem.scenario
        self.times = scenario.output.snapshots.times(scenario.time.last_time)
        self._problem, self._folder, self._writer, self._extra = problem, folder, writer, extra
        self.checks_finite_itself = extra is _nothing
        self._series = Series(folder, read=not folder.goes_on)
        self._count = 0
        self._room: np.ndarray | None = None
        materials = problem.material_ids()
        if materials is not None:
            names = (*scenario.materials, *scenario.ambients)
            write_geometry(folder.geometry, problem.grid, materials, names, scenario.title, scenario.output.compression)

    def record(self, state: State) -> None:
        """Copy the fields and have them written; a copy on a GPU waits there until its turn comes."""
        slabs = state.write_slabs(self._folder.snapshot(self._count)) if self._extra is _nothing else None
        if slabs is not None:
            with self._writer.room(0) as submit:
                nothing = np.empty(0, self._problem.dtype)
                submit(self._write_later(state, lambda: nothing, slabs))
            return
        # On the host, a copy fills all the room there is; derived fields are always there.
        capture = state.capture(checked=self.checks_finite_itself)
        share = 0 if capture and self._extra is _nothing else MAX_TASKS
        with self._writer.room(share) as submit:
            if capture is not None:
                submit(self._write_later(state, lambda: capture(self._field_room())))
            else:  # of a GPU captures may be on their way through the room
                field = state.temperature(self._field_room() if state.field.device == "cpu" else None)
                submit(self._write_later(state, lambda: field))

    def _field_room(self) -> np.ndarray:
        """Where the field that is written lies. It is taken from the system once."""
        if self._room is None:
            self._room = made(self._problem.grid.shape, self._problem.dtype, lambda z: 0.0)
        return self._room

    def _write_later(
        self, state: State, field: Callable[[], np.ndarray | ArrivingArray], slabs: Sequence[SlabFile] = ()
    ) -> Callable[[], None]:
        """The task that writes a snapshot of the state as it is now; slabs: see `write_snapshot`."""
        path, time, step = self._folder.snapshot(self._count), state.time, state.step
        not_looked_at = self.checks_finite_itself and state.field.device == "cuda" and not slabs
        self._count += 1
        scenario, fields = self._problem.scenario, self._extra(state)

        def write() -> None:
            quantity, title, values = scenario.solved, scenario.title, field()
            arriving = values if isinstance(values, ArrivingArray) else None
            if isinstance(values, ArrivingArray):
                values = np.empty(0, values.dtype)
            elif not_looked_at:
                finite = share_out(lambda z: bool(np.isfinite(values[z]).all()), parts(values.shape), values.size)
                if not all(finite):
                    raise NotFiniteError.at(step, time)
            snapshot = Snapshot(self._problem.grid, time, step, values, quantity, title, fields)
            with nullcontext() if arriving is None else arriving.on_its_way():
                write_snapshot(path, snapshot, slabs, scenario.output.compression, arriving)
            self._series.add(path)

        return write

    def state(self) -> dict[str, int]:
        """How many snapshots there are."""
        return {"snapshots": self._count}

    def restore(self, saved: dict[str, int]) -> None:
        """Remove later snapshots."""
        self._count = saved["snapshots"]
        self._folder.cut_snapshots(self._count)
        self._series = Series(self._folder)
        self._series.write()

    def close(self, finished: bool) -> None:
        """Have the series take in what it has not yet."""
        if self._count:
            with self._writer.room(0) as submit:
                submit(self._series.catch_up)


def make(problem: Problem, folder: RunFolder, writer: Writer) -> list[SnapshotRecorder]:
    """The recorder of the snapshots, with the derived fields that are asked for."""
    from heatsim.output.recorders.derived_fields import derived_fields

    return [SnapshotRecorder(problem, folder, writer, *([derived_fields] if problem.scenario.output.fields else []))]
