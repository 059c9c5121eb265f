"""The only time loop: advance to the next event, hand the state to whoever is due."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan

import numpy as np

from heatsim.errors import NotConvergedError
from heatsim.integrators import start_integrator
from heatsim.integrators.step_control import require_finite
from heatsim.problem import Problem
from heatsim.recorders import Recorder
from heatsim.recorders.probes import problem_probe_weights
from heatsim.simulation.state import State


@dataclass(frozen=True)
class LiveValues:
    """The state of a run as it goes on: lowest and highest temperature of the solved cells, and that of the first probe
    (NaN where there is none), in the scenario's unit."""

    lowest: float
    highest: float
    probe: float


def _unknown() -> LiveValues:
    return LiveValues(nan, nan, nan)


@dataclass(frozen=True)
class Progress:
    """How far a run is: `time` of `end` s, `steps` done; `cells` in the grid; `sweeps` over them, which are steps or
    stages. `look` reads the field as it is now, which takes as long as reading it does; call it before returning."""

    time: float
    end: float
    steps: int
    cells: int
    sweeps: int = 0
    look: Callable[[], LiveValues] = _unknown


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
) -> bool:
    """Run from state.time to the end of the scenario, or to the steady state; returns whether it was reached.

    `on_progress` is told of progress about ten times a second and may end the run early by returning False; `timings`
    is filled in. Raises `NotFiniteError` before anything not finite is recorded, `NotConvergedError` after the last
    good state was recorded.
    """
    control, cells = state.problem.scenario.time, state.problem.grid.cells
    end = control.last_time
    begun, look = time.perf_counter(), make_look(state)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found by `require_finite`
            advance = start_integrator(state)
            for event, due in _agenda(state.problem, recorders, end):
                for _ in advance(event):
                    sweeps = state.solver_statistics.stages or state.step
                    if not on_progress(Progress(state.time, end, state.step, cells, sweeps, look)):
                        return False
                # Where nobody wants values now, a GPU is not waited for, which would leave it idle.
                if event == end or state.field.device == "cpu" or not all(recorder.late for recorder in due):
                    require_finite(state.field.is_finite(), state)
                _record(state, due, timings)
    except NotConvergedError:
        _record(state, [recorder for recorder in recorders if recorder.times], timings)
        raise
    finally:
        timings.loop = time.perf_counter() - begun
    return True


def make_look(state: State) -> Callable[[], LiveValues]:
    """A function that reads `LiveValues` of a state."""
    probes = state.problem.scenario.output.probes
    stencil: list[tuple[np.ndarray, np.ndarray]] = []  # of the first probe, found when it is first wanted

    def look() -> LiveValues:
        lowest, highest = state.extremes()
        if probes and not stencil:
            stencil.append(problem_probe_weights(state.problem, probes[0].at))
        values = [state.sample(cells[None], weights[None])[0] for cells, weights in stencil]
        return LiveValues(lowest, highest, float(values[0]) if values else nan)

    return look


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
