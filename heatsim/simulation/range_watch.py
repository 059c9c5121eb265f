"""Whether a body stays between the temperatures for which its steps are stable, looked at where outputs are due.

Before a run, bounds of temperature follow from its inputs (`problem.temperature_bounds`). Where they have no end, as
where heat flows in through a face, one is taken, far above what most bodies reach. A run that goes beyond starts anew,
with steps that are stable up to twice as high, or a power of two: what was reached when it was looked at does not
enter, so its bits depend neither on that time, which is a matter of the machine, nor on whether it was stopped.
"""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING

from heatsim.scenario.model import find_material_dependence

if TYPE_CHECKING:
    from heatsim.solve.state import State

MAX_SHARE = 0.02  # of the time of a run, for looks
OVERSHOOT = 0.1  # of a range that is sure, by which solvers may pass it for a while: the last values go on there
GROWTH = 2.0  # of the highest temperature of its steps, in kelvin, by which, or a power of it, a run starts anew


class RangeLeft(Exception):
    """A body is warmer than its steps are made for. wanted: the highest temperature to make them for, K."""

    def __init__(self, message: str, wanted: float) -> None:
        super().__init__(message)
        self.wanted = wanted


class RangeWatch:
    """Looks at the temperatures of a run, at no more than a share of its time, and at its end."""

    def __init__(self, state: State) -> None:
        problem = state.problem
        self._state, self._spent, self._last = state, 0.0, -inf
        by_face = any(patch.condition.temperature_dependent for patch in problem.boundary_faces)
        matters = by_face or find_material_dependence(problem.scenario) is not None
        self._wanted = problem.tabulated is not None and matters and not problem.scenario.time.is_steady

    def look(self, *, at_end: bool) -> None:
        """Raise `RangeLeft` where the body is warmer than its steps and its tables are made for."""
        begun = time.perf_counter()
        if not self._wanted or not (at_end or begun - self._last > self._spent / MAX_SHARE):
            return
        _require_within_range(self._state)
        self._last = time.perf_counter()
        self._spent = self._last - begun


def _require_within_range(state: State) -> None:
    problem = state.problem
    if problem.tabulated is None:
        return
    bounds, zero = problem.tabulated.bounds, problem.scenario.zero
    low, high = bounds.possible
    hottest = state.extremes()[1] - zero
    if hottest > high + (0.0 if bounds.open_above else OVERSHOOT * (high - low)):
        unit = problem.scenario.unit
        least, most = bounds.reached
        margin, wanted = (high - most) / (most - least) if most > least else 0.0, GROWTH * most
        while wanted + margin * (wanted - least) < hottest:
            wanted *= GROWTH
        message = (
            f"the body reached {hottest + zero:.6g} {unit} at t = {state.time:g} s, and its steps are stable up to "
            f"{high + zero:.6g} {unit}: the run starts anew, with steps for {wanted + zero:.6g} {unit}"
        )
        raise RangeLeft(message, wanted)
