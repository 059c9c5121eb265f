"""The only time loop: advance to the next event, hand the state to whoever is due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from heatsim.errors import NotConvergedError
from heatsim.output.recorders import Recorder
from heatsim.output.recorders.probes import problem_probe_weights
from heatsim.output.recorders.timings import Timings as Timings
from heatsim.problem import Problem
from heatsim.simulation.over_time import OverTime
from heatsim.simulation.range_watch import RangeWatch
from heatsim.simulation.stop_criterion import StopCriterion
from heatsim.simulation.watched_steps import WatchedSteps
from heatsim.solve.integrators import start_integrator
from heatsim.solve.integrators.step_control import require_finite
from heatsim.solve.ledger import require_energy
from heatsim.solve.state import State
from heatsim.solve.state_checks import require_steady_state

if TYPE_CHECKING:
    from heatsim.simulation.checkpointing import Checkpointing
    from heatsim.solve.integrators.integrator import StepControl


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
    stages; `phase`: in words, what is done before the first step. `look` reads the field as it is now, which takes as
    long as reading it does; call it before returning. A copy for another process leaves `look` behind: it gives NaN."""

    time: float
    end: float
    steps: int
    cells: int
    sweeps: int = 0
    look: Callable[[], LiveValues] = field(default=_unknown, repr=False, compare=False)
    phase: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return Progress, (self.time, self.end, self.steps, self.cells, self.sweeps, _unknown, self.phase)


# What a callback asks for: False, save the run and stop; CHECKPOINT, save it and go on; anything else, go on.
Request: TypeAlias = object
CHECKPOINT, END = "checkpoint", "end"
ProgressCallback: TypeAlias = Callable[[Progress], Request]


def stops(request: Request) -> bool:
    """Whether a callback asks to stop: only False does, Python's or NumPy's, and not None of a function that returns
    nothing, or 0."""
    return isinstance(request, bool | np.bool_) and not request


def simulate(
    state: State,
    recorders: Sequence[Recorder],
    timings: Timings,
    on_progress: ProgressCallback = lambda progress: True,
    checkpointing: Checkpointing | None = None,
    stop: StopCriterion | None = None,
    over_time: OverTime | None = None,
    *,
    watches_range: bool = False,
) -> bool:
    """Run from state.time to the end of the scenario, or to the steady state; returns whether it was reached.

    The run ends early where `stop` is met, and all recorders record that moment; it counts as reached. `over_time`
    takes note of results over time. watches_range: whether to raise `RangeLeft` where the body gets warmer than its
    steps are made for.

    `on_progress` is called with the progress about ten times a second, see `ProgressCallback`. `timings` gets the
    seconds of steps, of recorders and of checkpoints; what the writer of recorders is waited for it counts itself.
    checkpointing: writes checkpoints, and has the run go on from one. Raises `NotFiniteError` before anything not
    finite is recorded, `NoSteadyStateError` before a state that cannot be is, `NotConvergedError` after the last good
    state was recorded, and `EnergyLostError` after all was.
    """
    end = state.problem.scenario.time.last_time
    try:
        # What is not finite is found by `require_finite`.
        with timings.counted("loop"), np.errstate(over="ignore", invalid="ignore"):
            steps = (
                start_integrator(state)
                if stop is None and over_time is None
                else (WatchedSteps(state, over_time or OverTime(()), stop))
            )
            watch = RangeWatch(state)
            agenda = _agenda(state.problem, recorders, end)
            if checkpointing is not None and checkpointing.saved is not None:
                checkpointing.restore(steps, recorders)
                agenda = [(event, due) for event, due in agenda if event > state.time]
            save = _saver(checkpointing, state, steps, recorders, timings)
            look = make_look(state)

            def progress() -> Progress:
                sweeps = state.solver_statistics.stages or state.step
                return Progress(state.time, end, state.step, state.problem.grid.cells, sweeps, look)

            go_on = on_progress(progress())
            if stops(go_on):
                return False
            for event, due in agenda:
                for _ in steps.advance(event):
                    go_on = on_progress(progress())
                    if state.time < event and not save(go_on):
                        return False
                # Where nobody wants values now, a GPU is not waited for, which would leave it idle.
                met = stop is not None and stop.met is not None
                nobody_waits = state.field.device != "cpu" and all(recorder.checks_finite_itself for recorder in due)
                if met or event == end or not nobody_waits:
                    require_finite(state.field.is_finite(), state)
                if watches_range:
                    watch.look(at_end=event == end)
                if event == inf:
                    require_steady_state(state)
                _record(state, [each for each in recorders if each.times] if met else due, timings)
                if met:
                    require_energy(state.problem, state.energy, state.time, state.field.planes)
                    save(END)
                    return True
                if event == end:
                    require_energy(state.problem, state.energy, state.time, state.field.planes)
                if not save(go_on if event < end else END):
                    return event == end
    except NotConvergedError:
        _record(state, [recorder for recorder in recorders if recorder.times], timings)
        raise
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


def _saver(
    checkpointing: Checkpointing | None,
    state: State,
    steps: StepControl,
    recorders: Sequence[Recorder],
    timings: Timings,
) -> Callable[[Request], bool]:
    """What writes a checkpoint if one is requested or due, and returns whether the run goes on."""

    def save(request: Request) -> bool:
        at_end = isinstance(request, str) and request == END
        ends = stops(request) or at_end
        if checkpointing is None:
            return not ends
        asked = ends or (isinstance(request, str) and request == CHECKPOINT)
        wanted = checkpointing.is_cheap() if at_end else asked
        if wanted or checkpointing.is_due(state.time):
            with timings.counted("checkpoints"):
                checkpointing.save(state, steps, recorders)
        return not ends

    return save


def _agenda(problem: Problem, recorders: Sequence[Recorder], end: float) -> list[tuple[float, list[Recorder]]]:
    """The events of the run, each with the recorders that are due then; in a run without an end all recorders are due
    once, at the limit."""
    if end == inf:
        return [(inf, [recorder for recorder in recorders if recorder.times])]
    due = [(recorder, frozenset(recorder.times)) for recorder in recorders]
    events = problem.events(time for recorder in recorders for time in recorder.times).times
    return [(event, [recorder for recorder, times in due if event in times]) for event in events]


def _record(state: State, due: Sequence[Recorder], timings: Timings) -> None:
    with timings.counted("recording"):
        for recorder in due:
            recorder.record(state)
