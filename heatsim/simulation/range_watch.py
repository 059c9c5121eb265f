"""Whether a body stays between the temperatures for which its steps are stable, looked at whenever a step has to end.

Before a run, bounds of temperature follow from its inputs (`problem.temperature_bounds`). Where they have no end, as
where heat flows in through a face, one is taken, far above what most bodies reach. A run that goes beyond starts anew,
with steps that are stable up to twice as high: so its bits depend neither on when it was looked at nor on whether it
was stopped on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.simulation.state import State

GROWTH = 2.0  # of the highest temperature, in kelvin, with which a run starts anew


class RangeLeft(Exception):
    """A body is warmer than its steps are made for. wanted: the highest temperature to make them for, K."""

    def __init__(self, message: str, wanted: float) -> None:
        super().__init__(message)
        self.wanted = wanted


def has_open_range(problem: Problem) -> bool:
    """Whether a body may leave the range that its steps are made for, and that matters."""
    tables, chosen = problem.tabulated, problem.scenario.time.chosen
    if tables is None or not tables.bounds.open_above or problem.scenario.time.is_steady:
        return False
    factors = getattr(problem.coefficients, "factors", None) is not None
    return factors or (chosen is not None and not chosen.solves)


def require_within_range(state: State) -> None:
    """Raise `RangeLeft` where the body is warmer than its steps are made for."""
    problem = state.problem
    if problem.tabulated is None:
        return
    zero, (_, high) = problem.scenario.zero, problem.tabulated.bounds.possible
    hottest = state.extremes()[1] - zero
    if hottest > high:
        unit = problem.scenario.unit
        message = (
            f"the body reached {hottest + zero:.6g} {unit} at t = {state.time:g} s, and its steps are stable up to "
            f"{high + zero:.6g} {unit}: the run starts anew, with steps for {GROWTH * hottest + zero:.6g} {unit}"
        )
        raise RangeLeft(message, GROWTH * hottest)
