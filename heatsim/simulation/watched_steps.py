"""Steps that are looked at: the condition that ends a run, and results over time, after every step.

Integrators with long steps are looked at after each of them. Steps of explicit Euler are short, and come in batches: a
batch between two looks has so many of them that the numbers stay on a straight line, to MAX_BEND of their range, so
that nothing lies between the looks that they do not show. How many depends on values alone, never on how fast a machine
is, so that all machines look at the same times.

Where a condition holds at a look and did not at the one before, or the parabola through three looks says that it held
between them, the run goes back to the state at the look before, which is kept, and takes the way again: explicit Euler
in halves of a batch, down to the step; other integrators with a step to where the condition should begin to hold,
until that is found to the tolerance. The run ends there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.output.recorders.results import QuantityReader
from heatsim.simulation.over_time import OverTime, Sample, top_of_parabola
from heatsim.solve.integrators import start_integrator

if TYPE_CHECKING:
    from heatsim.simulation.stop_criterion import StopCriterion
    from heatsim.solve.integrators.integrator import SavedState
    from heatsim.solve.state import State

MAX_BEND = 1e-4  # of the range of a number: by how much a look may be off the line through the two before it
MAX_STEPS_BETWEEN = 100  # steps of explicit Euler between two looks
FOUND_SHARE = 0.01  # of the tolerance: how near to its limit a condition is looked for
MAX_TRIALS = 60  # at the time of an event, of which bisection would take half


class Kept(NamedTuple):
    """The state at a look: time, s; step; the distance of the condition (see `StopCriterion`); all of the run and of
    its step control, and the results over time."""

    time: float
    step: int
    distance: float
    run: SavedState
    steps: SavedState | None
    over_time: SavedState


class WatchedSteps:
    """A `StepControl` that looks at the state after the steps of another.

    over_time: takes note of results; stop: the condition, which `met` when the run is to end.
    """

    def __init__(self, state: State, over_time: OverTime, stop: StopCriterion | None) -> None:
        self._state, self._over_time, self._stop = state, over_time, stop
        self._control = start_integrator(state)
        problem = state.problem
        subjects = [result.subject for result in over_time.results]
        self._results, self._conditions = len(subjects), [] if stop is None else stop.subjects
        self._reader = QuantityReader(problem, [*subjects, *self._conditions])
        self._restarts = problem.events().restarts
        self._kept: deque[Kept] = deque(maxlen=2)
        self._distances: list[Sample] = []  # of the condition at the last looks
        self._suspected_to = -np.inf  # s, up to which it has been looked for the condition between looks
        self._looks: list[tuple[int, list[float]]] = []  # the last two: step, and the values
        self._ranges: list[tuple[float, float]] = []  # of the values so far
        self._target = state.time  # s, the event to which steps go
        self._apart, self._next = 1, 0  # steps between looks, and the step of the next one

    @property
    def over(self) -> bool:
        """Whether the condition is met."""
        return self._stop is not None and self._stop.met is not None

    def look_after(self, steps: int) -> None:
        """Looks are its own."""

    def advance(self, target: float) -> Iterator[None]:
        """Bring the state to a time, or to that at which the condition is met; yields now and then on the way."""
        state, self._target = self._state, target
        if not self._looks:
            self._look(at_event=True)
        while not self.over and state.time < target:
            goal = target
            for back_to in self._take(goal):
                yield
                if back_to is not None:
                    self._go_back(back_to)
                    break

    def _take(self, goal: float) -> Iterator[float | None]:
        """Take steps to a goal with looks; yields None, or a time between the last looks at which the condition may
        have held."""
        state = self._state
        self._control.look_after(max(1, self._next - state.step))
        for _ in self._control.advance(goal):
            if state.step >= self._next or state.time >= goal:
                held_at = self._look(at_event=state.time >= goal)
                if self.over:
                    self._close_in()
                    yield None
                    return
                if held_at is not None:
                    yield held_at
                    return
            self._control.look_after(max(1, self._next - state.step))
            yield None

    def _look(self, *, at_event: bool) -> float | None:
        """Look at the state; returns a time between looks at which the condition may have held."""
        state, stop = self._state, self._stop
        values = self._reader.read(state)
        afresh = at_event and state.time in self._restarts
        self._over_time.add(state.time, values[: self._results], afresh)
        self._adapt(values, afresh)
        self._next = state.step + self._apart
        if stop is None:
            return None
        if not self._conditions:
            stop.look_at_rate(state)
            return None
        distance = stop.look(state.time, values[self._results :])
        now = Sample(state.time, distance)
        held_at = self._held_between([*self._distances, now])
        self._distances = [now] if afresh else [*self._distances[-1:], now]
        if not self.over and held_at is None:
            self._keep(distance)
        return held_at

    def _keep(self, distance: float) -> None:
        run, steps = deepcopy(self._state.state()), deepcopy(self._control.state())
        self._kept.append(Kept(self._state.time, self._state.step, distance, run, steps, self._over_time.state()))

    def _end_at(self, distance: float) -> Kept:
        """The state as it is, of which nothing need be kept to return to it."""
        return Kept(self._state.time, self._state.step, distance, {}, None, {})

    def _adapt(self, values: list[float], afresh: bool) -> None:
        """Take more steps to the next look where the values are on a straight line, fewer where not."""
        step = self._state.step
        ranges = self._ranges or [(value, value) for value in values]
        self._ranges = [(min(low, value), max(high, value)) for (low, high), value in zip(ranges, values, strict=True)]
        if len(self._looks) == 2 and step > self._looks[1][0] > self._looks[0][0]:
            (first, old), (second, last) = self._looks
            way = (step - second) / (second - first)
            resolution = 16.0 * float(np.finfo(self._state.problem.dtype).eps)
            bend = 0.0
            for a, b, now, (low, high) in zip(old, last, values, self._ranges, strict=True):
                off = abs(now - b - way * (b - a)) - resolution * max(abs(low), abs(high))
                bend = max(bend, off / max(high - low, 1e-300))
            if bend > MAX_BEND:
                self._apart = max(1, self._apart // 2)
            elif bend < MAX_BEND / 8:
                self._apart = min(2 * self._apart, MAX_STEPS_BETWEEN)
        self._looks = [*self._looks[-1:], (step, values)]
        if afresh:
            self._looks, self._apart = self._looks[-1:], 1

    def _held_between(self, looks: list[Sample]) -> float | None:
        """The time of the top of the parabola through the distances at three looks, if only that meets the
        condition."""
        if len(looks) < 3 or looks[2].value >= 0.0 or len(self._kept) < 2 or looks[2].time <= self._suspected_to:
            return None
        top = top_of_parabola(looks)
        if top is None or top.value < 0.0:
            return None
        self._suspected_to = looks[2].time
        return top.time

    def _go_back(self, time: float) -> None:
        """Return to the first of the looks about a time, and go to that time."""
        state = self._state
        self._return_to(self._kept[0])
        self._kept.pop()
        self._distances = [Sample(self._kept[0].time, self._kept[0].distance)]
        self._looks = self._looks[-1:]
        for _ in self._control.advance(time):
            self._look(at_event=False)
            if self.over:
                self._close_in()
                return
        assert state.time == time

    def _return_to(self, kept: Kept) -> None:
        self._state.restore(deepcopy(kept.run))
        self._control = start_integrator(self._state)
        if kept.steps is not None:
            self._control.restore(deepcopy(kept.steps))
        self._over_time.restore(kept.over_time)

    def _distance(self) -> float:
        assert self._stop is not None
        return self._stop.distance(self._reader.read(self._state)[self._results :])

    def _close_in(self) -> None:
        """Find where between the look before and now the condition began to hold, and end there."""
        stop, state = self._stop, self._state
        if stop is None or not self._kept or not self._conditions:
            return
        low, high = self._kept[-1], self._end_at(self._distance())
        while high.step - low.step > 1:
            low, high = self._halve(low, high)
        if low.step + 1 == high.step:
            low, high = self._bisect(low, high)
        self._over_time.add(state.time, self._reader.read(state)[: self._results], starts_afresh=False)
        elapsed, gained = high.time - low.time, high.distance - low.distance
        share = -low.distance / gained if gained > 0.0 else 1.0
        stop.end_between(low.time, low.time + share * elapsed, high.time, gained / elapsed if elapsed else 0.0)

    def _halve(self, low: Kept, high: Kept) -> tuple[Kept, Kept]:
        """Take half of the steps between two looks again; the state is at the end of what is left, or before it."""
        middle = (low.step + high.step) // 2
        self._return_to(low)
        self._step_to(middle)
        distance = self._distance()
        if distance >= 0.0:
            return low, self._end_at(distance)
        self._keep(distance)
        low = self._kept[-1]
        if high.step - low.step == 1:
            self._step_to(high.step)
        return low, high

    def _step_to(self, step: int) -> None:
        """Take steps of explicit Euler up to a number, on the way to the same event as before."""
        state = self._state
        self._control.look_after(step - state.step)
        for _ in self._control.advance(self._target):
            if state.step >= step:
                return
            self._control.look_after(step - state.step)

    def _bisect(self, low: Kept, high: Kept) -> tuple[Kept, Kept]:
        """Take shorter steps from before a long one, to where the condition should begin to hold."""
        state = self._state
        near = FOUND_SHARE * (state.problem.scenario.time.tolerance or DEFAULT_TOLERANCE)
        near *= max((high - low for low, high in self._ranges[self._results :]), default=0.0)
        least = max(state.problem.min_step, 4.0 * np.finfo(float).eps * high.time)
        for trial in range(MAX_TRIALS):
            elapsed = high.time - low.time
            if elapsed <= least or high.distance <= near:
                break
            share = -low.distance / (high.distance - low.distance) if trial % 3 < 2 else 0.5
            time = low.time + min(max(share, 0.01), 0.99) * elapsed
            self._return_to(low)
            for _ in self._control.advance(time):
                pass
            distance = self._distance()
            if distance >= 0.0:
                high = self._end_at(distance)
            else:
                self._keep(distance)
                low = self._kept[-1]
        if state.time != high.time:
            self._return_to(low)
            for _ in self._control.advance(high.time):
                pass
        return low, high

    def state(self) -> SavedState | None:
        """The state of the steps, and the values that the next looks compare with."""
        steps = self._control.state()
        if steps is None:
            return None
        return {
            "steps": steps,
            "over_time": self._over_time.state(),
            "looks": [[step, list(values)] for step, values in self._looks],
            "ranges": [list(each) for each in self._ranges],
            "distances": [list(each) for each in self._distances],
            "apart": [self._apart, self._next],
        }

    def restore(self, saved: Any) -> None:
        """Go on from what `state` gave."""
        if "over_time" not in saved:  # of a version that did not watch
            self._control.restore(saved)
            return
        self._control.restore(saved["steps"])
        self._over_time.restore(saved["over_time"])
        self._looks = [(step, list(values)) for step, values in saved["looks"]]
        self._ranges = [(low, high) for low, high in saved["ranges"]]
        self._distances = [Sample(*each) for each in saved["distances"]]
        self._apart, self._next = saved["apart"]
        if self._conditions:
            self._keep(self._distance())
