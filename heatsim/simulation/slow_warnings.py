"""Warnings of runs that "auto" starts though they are foretold to take very long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from heatsim.errors import Issue

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.solve.integrators.auto import Recommendation

LONG, VERY_LONG = 3600.0, 86400.0  # s: a longer run is warned of if another way is far shorter; or always
SHORTER = 0.1  # times as long: another way that is far shorter
_UNITS = ((120.0, 1.0, "s"), (7200.0, 60.0, "min"), (172800.0, 3600.0, "h"), (6.3e7, 86400.0, "days"))


def describe_duration(seconds: float) -> str:
    """A time in words: in s, min, h, days or years."""
    for most, unit, name in _UNITS:
        if seconds < most:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 31557600.0:.3g} years"


def slow_warnings(problem: Problem, taken: Recommendation | None) -> Iterator[Issue]:
    """A warning where the integrator that "auto" takes would need more than an hour and another way minutes, or more
    than a day, with what both would take. taken: None where the scenario names an integrator."""
    if taken is None or taken.seconds < LONG:
        return
    chosen = next(each for each in taken.estimates if each.integrator == taken.integrator)
    others = [each for each in taken.estimates if each is not chosen and each.seconds < SHORTER * chosen.seconds]
    if not others and chosen.seconds < VERY_LONG:
        return
    told = f"auto takes {chosen.integrator}, which is foretold to take about {describe_duration(chosen.seconds)}"
    told += f" ({chosen.steps} steps of at most {problem.largest_step:.3g} s)"
    if chosen.seconds >= VERY_LONG:
        told = f"more than a day: {told}"
    ways = [f"{o.integrator} would take about {describe_duration(o.seconds)} but {o.refused}" for o in others]
    hint = "; ".join([*ways, *filter(None, [taken.hint])]) or "larger cells, a looser time.tolerance, or a shorter end"
    yield problem.scenario.issue_at(("time", "integrator"), told, hint)
