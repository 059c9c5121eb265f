"""Slices: a plane of the field at each time, kept as data and drawn with one colour range over all times."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from heatsim.base.grid import cell_index
from heatsim.output.pictures.options import picture_options
from heatsim.store.slice_frames import frame_of_plane, write_slice_frame

if TYPE_CHECKING:
    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.scenario.output import Slice
    from heatsim.solve.state import State
    from heatsim.store.folder import RunFolder

MAX_FRAMES_OF_STOPPED_RUN = 20  # frames, drawn in two seconds


class SliceRecorder:
    """Keeps the frames of one slice as they come and draws them at the end, when their common range is known."""

    checks_finite_itself = False

    def __init__(self, problem: Problem, folder: RunFolder, writer: Writer, wanted: Slice) -> None:
        self.times = wanted.times(problem.scenario.time.last_time)
        self._problem, self._folder, self._writer, self._wanted = problem, folder, writer, wanted
        self._options = picture_options(problem.scenario)
        self._index = cell_index(problem.grid, wanted.axis, wanted.at)
        self._count = 0
        with writer.room() as submit:  # matplotlib takes its time; now is when it is free
            submit(lambda: import_module("heatsim.output.pictures.frames"))

    def record(self, state: State) -> None:
        """Copy the plane and have it written."""
        with self._writer.room() as submit:
            problem, axis = self._problem, self._wanted.axis
            field, solved = problem.smoothed_slice(axis, state.plane(axis, self._index)), problem.scenario.solved
            title = problem.scenario.title
            frame = frame_of_plane(problem.grid, axis, self._index, field, state.time, state.step, solved, title)
            path = self._folder.slice_frame(self._wanted.name, self._count)
            self._count += 1
            submit(lambda: write_slice_frame(path, frame, problem.scenario.output.compression))

    def state(self) -> dict[str, int]:
        """How many frames there are."""
        return {"frames": self._count}

    def restore(self, saved: dict[str, int]) -> None:
        """Remove later frames."""
        self._count = saved["frames"]
        self._folder.cut_slice(self._wanted.name, self._count)

    def close(self, finished: bool) -> None:
        """Have the frames drawn, unless they are many and the run was cut short: `heatsim plot` draws them then."""
        if self._count and (finished or self._count <= MAX_FRAMES_OF_STOPPED_RUN):
            with self._writer.room() as submit:
                submit(self._draw)

    def _draw(self) -> None:
        from heatsim.output.pictures.frames import draw_frames

        draw_frames(self._folder, self._wanted.name, self._options)


def make(problem: Problem, folder: RunFolder, writer: Writer) -> list[SliceRecorder]:
    """A recorder for each slice."""
    return [SliceRecorder(problem, folder, writer, wanted) for wanted in problem.scenario.output.slices]
