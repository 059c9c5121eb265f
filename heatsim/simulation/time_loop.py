"""The only time loop: advance to the next event, hand the state to whoever is due."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from heatsim.errors import NotConvergedError
from heatsim.integrators import start_integrator
from heatsim.integrators.step_control import require_finite
from heatsim.problem import Problem
from heatsim.recorders import Recorder
from heatsim.simulation.state import State
from heatsim.simulation.stop_criterion import StopCriterion


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
    on_progress: Callable[[Progress], bool] = lambda progress: True,
    stop: StopCriterion | None = None,
) -> bool:
    """Run from state.time to the end of the scenario, or to the steady state; returns whether it was reached.

    The run ends early where `stop` says so, and all recorders record that moment; it counts as reached.

    `on_progress` is told of progress about ten times a second and may end the run early by returning False; `timings`
    is filled in. Raises `NotFiniteError` before anything not finite is recorded, `NotConvergedError` after the last
    good state was recorded.
    """
    control, cells = state.problem.scenario.time, state.problem.grid.cells
    end = control.last_time
    begun = time.perf_counter()
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found by `require_finite`
            advance = start_integrator(state)
            for event, due in _agenda(state.problem, recorders, end):
                for _ in advance(event):
                    if not on_progress(Progress(state.time, end, state.step, cells)):
                        return False
                # Where nobody wants values now, a GPU is not waited for, which would leave it idle.
                if event == end or state.field.device == "cpu" or not all(recorder.late for recorder in due):
                    require_finite(state.field.is_finite(), state)
                _record(state, due, timings)
                if stop is not None and event in stop.times and stop.look(state):
                    _record(state, [each for each in recorders if each.times and each not in due], timings)
                    return True
    except NotConvergedError:
        _record(state, [recorder for recorder in recorders if recorder.times], timings)
        raise
    finally:
        timings.loop = time.perf_counter() - begun
    return True


def _agenda(problem: Problem, recorders: Sequence[Recorder], end: float) -> list[tuple[float, list[Recorder]]]:
    """The events of the run, each with the recorders that are due then; in a run without an end all recorders are due
    once, at the limit."""
    if end == inf:
        return [(inf, [recorder for recorder in recorders if recorder.times])]
    due = [(recorder, frozenset(recorder.times)) for recorder in recorders]
    events = problem.events(time for recorder in recorders for time in recorder.times).times
    return [(event, [recorder for recorder, times in due if event in times]) for event in events]


def _record(state: State, due: Sequence[Recorder], timings: Timings) -> None:
    begun = time.perf_counter()
    for recorder in due:
        recorder.record(state)
    timings.recording += time.perf_counter() - begun
