"""Looks, at its times, whether a run is to end."""

from __future__ import annotations

from typing import Any

import numpy as np

from heatsim.scenario.stop import Clause, Stop
from heatsim.simulation.state import State


class StopCriterion:
    """The stop of a scenario during its run.

    Attributes:
        times: at which to look, s.
        met: what `run.json` says of the event, once the run is to end: the criterion, and the interpolated time in s.
    """

    def __init__(self, stop: Stop, end: float) -> None:
        self.times = frozenset(stop.times(end))
        self.met: dict[str, Any] | None = None
        self._stop = stop
        self._before: tuple[float, dict[Clause, float]] | None = None
        self._field: tuple[float, np.ndarray] | None = None
        self._last = ""

    def look(self, state: State) -> bool:
        """Whether the run is to end now."""
        event = self._steady(state) if self._stop.steady_rate is not None else self._condition(state)
        if event is not None:
            criterion = self._stop.when or f"no cell changes faster than {self._stop.steady_rate:g} K/s"
            self.met = {"criterion": criterion, "time": event}
        return self.met is not None

    def state(self) -> dict[str, Any]:
        """What the next look compares with."""
        before = None if self._before is None else [self._before[0], list(self._before[1].values())]
        return {"before": before, "field": None if self._field is None else list(self._field), "last": self._last}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from what `state` gave, of the same criterion."""
        if saved["before"] is not None:
            time, values = saved["before"]
            self._before = time, dict(zip(self._clauses, values, strict=True))
        self._field = None if saved["field"] is None else tuple(saved["field"])
        self._last = saved["last"]

    @property
    def _clauses(self) -> list[Clause]:
        return list(dict.fromkeys(clause for choice in self._stop.alternatives for clause in choice))

    @property
    def warning(self) -> str:
        """What is said at the end of a run in which it was never met."""
        key = "when" if self._stop.when is not None else "steady_rate"
        return f"stop.{key} was never met, so the run went on to time.end: {self._last}"

    def _condition(self, state: State) -> float | None:
        totals = {part: state.totals(state.problem.named_parts[part]) for part in self._stop.parts}
        reference, values = state.problem.reference, {}
        for clause in self._clauses:
            low, high, by_volume, _ = totals[clause.part]
            volume = float(state.problem.named_parts[clause.part].volumes.sum())
            values[clause] = reference + {"min": low, "max": high, "mean": by_volume / volume}[clause.statistic]
        self._last = " and ".join(
            f"{clause.statistic}(T{', ' + repr(clause.part) if clause.part else ''}) is {value:.6g}"
            for clause, value in values.items()
        )
        before, self._before = self._before, (state.time, values)
        events = [
            max(_crossing(clause, before, state.time, values[clause]) for clause in choice)
            for choice in self._stop.alternatives
            if all(clause.holds(values[clause]) for clause in choice)
        ]
        return min(events, default=None)

    def _steady(self, state: State) -> float | None:
        now = state.temperature()
        before, self._field = self._field, (state.time, now)
        if before is None or state.time == before[0]:
            return None
        rate = float(np.abs(now.astype(np.float64) - before[1]).max()) / (state.time - before[0])
        self._last = f"the fastest cell changes by {rate:.4g} K/s"
        return state.time if rate < (self._stop.steady_rate or 0.0) else None


def _crossing(clause: Clause, before: tuple[float, dict[Clause, float]] | None, time: float, value: float) -> float:
    """When a clause that holds began to, on a straight line from the look before."""
    if before is None or clause.holds(before[1][clause]):
        return before[0] if before else time
    earlier, old = before[0], before[1][clause]
    share = (clause.limit - old) / (value - old) if value != old else 1.0
    return earlier + share * (time - earlier)
