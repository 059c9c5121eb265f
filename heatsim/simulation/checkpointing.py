"""When a run is saved, and what a checkpoint holds: the state of the run, of its step control and of its recorders."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from heatsim_kernels.device.log import log

from heatsim.simulation.estimates import checkpoint_bytes
from heatsim.solve.integrators.step_control import require_finite
from heatsim.store.checkpoints import Checkpoint, write_checkpoint

if TYPE_CHECKING:
    from heatsim.output.recorders import Recorder
    from heatsim.output.recorders.writer import Writer
    from heatsim.problem import Problem
    from heatsim.scenario import Scenario
    from heatsim.simulation.stop_criterion import StopCriterion
    from heatsim.solve.integrators.integrator import StepControl
    from heatsim.solve.state import State
    from heatsim.store.folder import RunFolder

DEFAULT_SECONDS = 600.0  # of wall time between checkpoints, in runs that seem to take twice as long
# What may be another in a run that goes on.
CHANGEABLE = ("time.end", "compute.device", "compute.kernel", "output.checkpoint", "output.compression")
# At the end of a run that does not ask for checkpoints one is written if it seems to take less than either.
CHEAP_SECONDS = 0.1
CHEAP_SHARE = 0.05  # of the time since the first step
BYTES_PER_SECOND = 3e8  # packed and written by two cores


class Checkpointing:
    """Writes the checkpoints of a run, and restores the parts of one.

    saved: the state to go on from, or None at the start. stop: what ends the run early, which compares with the past.
    """

    def __init__(
        self,
        folder: RunFolder,
        problem: Problem,
        writer: Writer,
        saved: dict[str, Any] | None = None,
        stop: StopCriterion | None = None,
    ) -> None:
        self._folder, self._writer, self._stop, self.saved = folder, writer, stop, saved
        self._fits = ""  # until one is written: of many classes it takes long
        wanted = problem.scenario.output.checkpoint
        self._every = wanted.every_minutes * 60.0 if wanted else DEFAULT_SECONDS
        self._waits = wanted is None  # for a run that is long enough
        self._begun = self._last = time.perf_counter()
        self._from_share = 0.0 if saved is None else self._share(saved["run"]["time"], problem)
        self._problem = problem

    def is_due(self, time_reached: float) -> bool:
        """Whether so much wall time has gone since the last one."""
        now = time.perf_counter()
        if now - self._last < self._every:
            return False
        share = self._share(time_reached, self._problem) - self._from_share
        return not self._waits or now - self._begun > 2.0 * self._every * share

    def restore(self, control: StepControl, recorders: Sequence[Recorder]) -> None:
        """Have the step control and the recorders go on. The state of the run has been restored before."""
        if self.saved is None:
            return
        control.restore(self.saved["steps"])
        for recorder, saved in zip(recorders, self.saved["recorders"], strict=True):
            recorder.restore(saved)
        if self._stop is not None:
            self._stop.restore(self.saved["stop"])

    def is_cheap(self) -> bool:
        """Whether a checkpoint at the end is asked for, or costs little beside the run: else the run may start anew."""
        seconds = checkpoint_bytes(self._problem.scenario) / BYTES_PER_SECOND
        cheap = seconds <= max(CHEAP_SECONDS, CHEAP_SHARE * (time.perf_counter() - self._begun))
        if self._waits and not cheap:
            log.info("no checkpoint at the end, which would take long beside so short a run")
        return cheap or not self._waits

    def save(self, state: State, control: StepControl, recorders: Sequence[Recorder]) -> bool:
        """Write a checkpoint when all earlier results are written; returns whether the state could be saved now.

        Raises `NotFiniteError` in place of saving what is not finite, and OSError.
        """
        steps = control.state()
        if steps is None or state.time == inf:
            return False
        require_finite(state.field.is_finite(), state)
        self._writer.finish()
        self._fits = self._fits or fingerprint(self._problem)
        of_recorders = [recorder.state() for recorder in recorders]
        of_stop = None if self._stop is None else self._stop.state()
        content = {"run": state.state(), "steps": steps, "recorders": of_recorders, "stop": of_stop}
        write_checkpoint(self._folder, Checkpoint(self._fits, content), self._problem.scenario.output.compression)
        self._last = time.perf_counter()
        return True

    @staticmethod
    def _share(time_reached: float, problem: Problem) -> float:
        end = problem.scenario.time.last_time
        return time_reached / end if 0.0 < end < inf else 0.0


def fingerprint(problem: Problem) -> str:
    """A digest of all in a problem that a run cannot change on its way: the scenario but for CHANGEABLE, and what its
    input files gave."""
    digest = hashlib.sha256(repr(sorted(unchangeable(problem.scenario).items())).encode())
    coefficients = problem.coefficients
    tables = () if problem.tabulated is None else astuple(problem.tabulated.materials)
    digest.update(repr([problem.reference, *(each for each in tables if isinstance(each, float))]).encode())
    arrays = [each for each in tables if isinstance(each, np.ndarray)]
    classes = [coefficients.class_ids] if coefficients.several else []
    for array in (coefficients.rates, coefficients.capacity, *classes, *arrays):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def unchangeable(scenario: Scenario) -> dict[str, Any]:
    """The keys of a scenario but for CHANGEABLE."""
    changed: dict[str, Any] = scenario.model_dump(mode="json")
    for key in CHANGEABLE:
        block, name = key.split(".")
        changed[block].pop(name, None)
    return changed


def request_digest(scenario: Scenario) -> str:
    """A digest of what a scenario asks for: its keys but for those that a run may change on its way, and its data
    files, which are known by their size and the time of their last change."""
    kept = unchangeable(scenario)
    digest = hashlib.sha256(repr(sorted(kept.items())).encode())
    for name in sorted(set(_texts(kept))):
        path = Path(name)
        if path.is_absolute() and path.is_file():
            found = path.stat()
            digest.update(repr((name, found.st_size, found.st_mtime_ns)).encode())
    return digest.hexdigest()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
