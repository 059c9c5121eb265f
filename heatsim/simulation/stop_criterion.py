"""Whether a run is to end, by what is looked at after its steps: see `watched_steps`."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.scenario.results import ResultSubject
from heatsim.scenario.stop import Clause, Stop
from heatsim.solve.state import State

PARTS = 16  # of the interval of `steady_rate`, in each of which no cell may change faster


class StopCriterion:
    """The stop of a scenario during its run.

    Attributes:
        subjects: what its condition compares, in the order of `values` below; empty where a rate is given.
        met: what `run.json` says of the event, once the run is to end: the criterion; the interpolated time, s;
            `between`, the two times between which it lies; `shift`, s, by which an error of the tolerance moves it.
    """

    def __init__(self, stop: Stop, end: float, tolerance: float | None = None) -> None:
        self.met: dict[str, Any] | None = None
        self._stop, self._tolerance = stop, tolerance or DEFAULT_TOLERANCE
        self._clauses: list[Clause] = list(dict.fromkeys(each for choice in stop.alternatives for each in choice))
        self.subjects = [ResultSubject(clause.statistic, clause.part) for clause in self._clauses]
        self._extent = [np.inf, -np.inf]  # of the values so far
        self._interval = stop.interval(end)  # s
        self._fields: tuple[float, np.ndarray] | None = None  # at the start of a part of the interval,
        self._whole: tuple[float, np.ndarray] | None = None  # and at that of an interval
        self._rates: deque[float] = deque()
        self._last = ""

    @property
    def criterion(self) -> str:
        """The criterion in words."""
        return self._stop.when or f"no cell changes faster than {self._stop.steady_rate:g} K/s"

    @property
    def warning(self) -> str:
        """What is said at the end of a run in which it was never met."""
        key = "when" if self._stop.when is not None else "steady_rate"
        return f"stop.{key} was never met, so the run went on to time.end: {self._last}"

    def distance(self, values: Sequence[float]) -> float:
        """How far the condition is met (0 or more) or missed (less than 0), K: by the worst clause of its best
        alternative."""
        of = dict(zip(self._clauses, values, strict=True))
        return max(min(_distance(clause, of[clause]) for clause in choice) for choice in self._stop.alternatives)

    def look(self, time: float, values: Sequence[float]) -> float:
        """`distance` of the values at a time, s, with which the run may end."""
        self._extent = [min(self._extent[0], *values), max(self._extent[1], *values)]
        self._last = " and ".join(
            f"{clause.statistic}(T{', ' + repr(clause.part) if clause.part else ''}) is {value:.6g}"
            for clause, value in zip(self._clauses, values, strict=True)
        )
        distance = self.distance(values)
        if distance >= 0.0:
            self.end_between(time, time, time, 0.0)
        return distance

    def end_between(self, before: float, at: float, after: float, rate: float) -> None:
        """The run is to end: the condition began to hold `at` a time, s, between two others, and its distance grows at
        a rate, K/s."""
        shift = self._tolerance * (self._extent[1] - self._extent[0]) / rate if rate > 0.0 else 0.0
        self.met = {"criterion": self.criterion, "time": at, "between": [before, after], "shift": shift}

    def look_at_rate(self, state: State) -> None:
        """Whether no cell changes faster than the rate over an interval, nor in any part of it: inputs that repeat may
        bring the same field again after an interval."""
        time, before = state.time, self._fields
        if before is not None and time < before[0] + self._interval / PARTS * (1 - 1e-9):
            return
        now = state.temperature()
        self._fields = time, now
        if before is None or self._whole is None:
            self._whole = self._fields
            return
        rounding = 2.0 * float(np.finfo(now.dtype).eps) * float(np.abs(now).max())  # shows in a short part only
        self._rates.append(_fastest(before[1], now, rounding) / (time - before[0]))
        start, of_start = self._whole
        if time < start + self._interval * (1 - 1e-9):
            return
        rate = max(*self._rates, _fastest(of_start, now) / (time - start))
        self._whole = self._fields
        self._rates.clear()
        self._last = f"the fastest cell changes by {rate:.4g} K/s"
        if rate < (self._stop.steady_rate or 0.0):
            self.met = {"criterion": self.criterion, "time": time, "between": [start, time], "shift": 0.0}

    def state(self) -> dict[str, Any]:
        """What the next look compares with."""
        fields = {"field": self._fields, "whole": self._whole}
        kept = {name: None if each is None else list(each) for name, each in fields.items()}
        return {**kept, "rates": list(self._rates), "extent": list(self._extent), "last": self._last}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from what `state` gave, of the same criterion."""
        self._fields, self._whole = (
            None if saved.get(name) is None else (saved[name][0], saved[name][1]) for name in ("field", "whole")
        )
        self._rates = deque(saved.get("rates", ()))
        self._extent, self._last = list(saved.get("extent", self._extent)), saved["last"]


def _fastest(before: np.ndarray, now: np.ndarray, rounding: float = 0.0) -> float:
    """The largest change of a cell, K, less what rounding makes of none."""
    change = float(np.abs(now.astype(np.float64) - before).max())
    return change if change > rounding else 0.0


def _distance(clause: Clause, value: float) -> float:
    """How far a value is beyond the limit of a clause; at the limit itself < and > miss by the least float."""
    beyond = value - clause.limit if clause.comparison.startswith(">") else clause.limit - value
    return beyond if beyond != 0.0 or clause.holds(value) else -5e-324
