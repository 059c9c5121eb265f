"""The only time loop: advance to the next event, hand the state to whoever is due."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from heatsim.errors import NotFiniteError, ScenarioError
from heatsim.integrators import euler
from heatsim.recorders import Recorder
from heatsim.state import State

CHECK_EVERY = {"cpu": 100, "cuda": 50}  # steps between looks for values that are not finite; a GPU answers one late
RESPONSE = 0.1  # s of computing between looks at the clock and at signals


@dataclass(frozen=True)
class Progress:
    """How far a run is: `time` of `end` s, `steps` done; `cells` in the grid."""

    time: float
    end: float
    steps: int
    cells: int


@dataclass
class Timings:
    """Wall seconds in the time loop, and of these in recorders."""

    loop: float = 0.0
    recording: float = 0.0


def simulate(
    state: State,
    recorders: Sequence[Recorder],
    timings: Timings,
    watch: Callable[[Progress], bool] = lambda progress: True,
) -> bool:
    """Run from state.time to the end of the scenario; returns whether the end was reached.

    `watch` is told of progress about ten times a second and may end the run early by returning False; `timings` is
    filled in. Raises `NotFiniteError` before anything not finite is recorded.
    """
    end, cells = state.problem.scenario.time.end, state.problem.grid.cells
    due = [(recorder, frozenset(recorder.times)) for recorder in recorders]
    begun = time.perf_counter()
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found by `_require`
            for event in _events(recorders, end):
                for _ in _advance_to(state, event):
                    if not watch(Progress(state.time, end, state.step, cells)):
                        return False
                _require(state.sweep.is_finite(), state)
                recording = time.perf_counter()
                for recorder, times in due:
                    if event in times:
                        recorder.record(state)
                timings.recording += time.perf_counter() - recording
    finally:
        timings.loop = time.perf_counter() - begun
    return True


def _events(recorders: Sequence[Recorder], end: float) -> list[float]:
    """All times at which something is due, and the end."""
    return sorted({end}.union(*(recorder.times for recorder in recorders)))


def steps_between(start: float, target: float, largest_step: float) -> int:
    """Number of equal steps, none larger than allowed, from one event to the next."""
    return max(1, ceil((target - start) / largest_step * (1 - 1e-12)))


def _advance_to(state: State, target: float) -> Iterator[None]:
    """Advance to a time exactly, in equal steps no larger than allowed; yields after each batch of steps."""
    start = state.time
    if target <= start:
        return
    total = steps_between(start, target, state.problem.largest_step)
    dt = (target - start) / total
    check_every = CHECK_EVERY[state.sweep.device]
    most = min(check_every, state.problem.batch)
    done, batch, unchecked = 0, 1, 0
    while done < total:
        count = min(batch, total - done)
        begun = time.perf_counter()
        try:
            euler.advance(state, start, dt, done, count)
        except ScenarioError as error:  # a value of the scenario that was finite at t = 0
            raise NotFiniteError(f"the run is no longer finite; earlier results are kept. {error}") from None
        batch = _next_batch(count, time.perf_counter() - begun, most)
        done += count
        unchecked += count
        if unchecked + batch > check_every:
            _require(state.sweep.was_finite(), state)
            unchecked = 0
        yield
    state.time = target


def _next_batch(count: int, seconds: float, most: int) -> int:
    """As many steps as take about RESPONSE s, at most twice as many as last time."""
    fitting = int(count * RESPONSE / max(seconds, 1e-6))
    return max(1, min(fitting, 2 * count, most))


def _require(finite: bool, state: State) -> None:
    if not finite:
        raise NotFiniteError(
            f"the temperature is no longer finite at step {state.step}, t = {state.time:g} s; "
            "earlier results are kept. A source or boundary value may grow without bound"
        )
