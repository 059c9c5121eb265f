"""Results over time: extremes and means of numbers that are looked at in every step, not at times of their own.

Between two looks a number may have passed its extreme: long steps, as accurate as the tolerance, would miss half a
percent of a range. So where three looks that follow one another have the middle one highest, and lie on a smooth curve,
the top of the parabola through them counts. No parabola goes across a time at which an input jumps or bends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from heatsim.scenario import Scenario
    from heatsim.scenario.results import Result

MAX_TOP = 0.01  # of the range so far, that the top of a parabola may be above the highest of its looks


class Sample(NamedTuple):
    """A value, in its unit, at a time, s."""

    time: float
    value: float


class OverTime:
    """The results over time of a run: for each of `results` its extreme and when that was, or its mean."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.results = [result for result in results if result.over is not None]
        self._best: list[Sample | None] = [None] * len(self.results)
        self._integrals = [0.0] * len(self.results)
        self._first: list[Sample] = []
        self._last: list[list[Sample]] = [[] for _ in self.results]  # up to two looks on the same smooth curve

    @classmethod
    def of(cls, scenario: Scenario) -> OverTime | None:
        """The results over time of a scenario; None where it asks for none, or seeks a steady state."""
        asked = any(result.over is not None for result in scenario.output.results)
        return cls(scenario.output.results) if asked and not scenario.time.is_steady else None

    def add(self, time: float, values: Sequence[float], starts_afresh: bool) -> None:
        """Take a look into account. starts_afresh: whether inputs jump or bend at this time."""
        if not self._first:
            self._first = [Sample(time, value) for value in values]
        for number, (result, value) in enumerate(zip(self.results, values, strict=True)):
            now, before = Sample(time, value), self._last[number]
            if before and before[-1].time == time:  # as after a step back
                continue
            if before:
                self._integrals[number] += 0.5 * (value + before[-1].value) * (time - before[-1].time)
            sign = -1.0 if result.subject.kind == "min" else 1.0
            for candidate in (now, *self._tops(number, [*before, now], sign)):
                best = self._best[number]
                if best is None or sign * candidate.value > sign * best.value:
                    self._best[number] = candidate
            self._last[number] = [now] if starts_afresh else [*before[-1:], now]

    def _tops(self, number: int, looks: Sequence[Sample], sign: float) -> list[Sample]:
        if len(looks) < 3:
            return []
        top, best, first = top_of_parabola(looks, sign), self._best[number], self._first[number].value
        if top is None or best is None:
            return []
        extent = max(abs(best.value - first), abs(looks[1].value - first), abs(looks[0].value - first))
        return [top] if abs(top.value - looks[1].value) <= MAX_TOP * extent else []

    def found(self) -> dict[str, Sample]:
        """The results so far, by name; a mean at the time of the last look."""
        found = {}
        for number, result in enumerate(self.results):
            best, last = self._best[number], self._last[number]
            if best is None:
                continue
            if result.subject.kind == "mean":
                elapsed = last[-1].time - self._first[number].time
                found[result.name] = Sample(last[-1].time, self._integrals[number] / elapsed if elapsed else best.value)
            else:
                found[result.name] = best
        return found

    def times_of_extremes(self) -> dict[str, float]:
        """When results that are extremes were what they are, s."""
        kinds = {result.name: result.subject.kind for result in self.results}
        return {name: time for name, (time, _) in self.found().items() if kinds[name] != "mean"}

    def state(self) -> dict[str, Any]:
        """The results so far and the last looks: what `restore` takes."""
        return {
            "best": [None if each is None else list(each) for each in self._best],
            "integrals": list(self._integrals),
            "first": [list(each) for each in self._first],
            "last": [[list(each) for each in looks] for looks in self._last],
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from what `state` gave, of the same results."""
        self._best = [None if each is None else Sample(*each) for each in saved["best"]]
        self._integrals = list(saved["integrals"])
        self._first = [Sample(*each) for each in saved["first"]]
        self._last = [[Sample(*each) for each in looks] for looks in saved["last"]]


def top_of_parabola(looks: Sequence[Sample], sign: float = 1.0) -> Sample | None:
    """The top of the parabola through three looks, of which the middle one is the highest (sign 1) or the lowest (-1);
    None where it is not."""
    (t0, v0), (t1, v1), (t2, v2) = looks
    rise, fall = sign * (v1 - v0), sign * (v1 - v2)
    if rise < 0.0 or fall < 0.0 or rise + fall == 0.0:
        return None
    before, after = t1 - t0, t2 - t1
    up, down = rise / before, fall / after  # the slopes of the two chords
    bend = (up + down) / (before + after)
    slope = (up * after - down * before) / (before + after)  # of the parabola at t1
    return Sample(t1 + 0.5 * slope / bend, v1 + sign * 0.25 * slope * slope / bend)
