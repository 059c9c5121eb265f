"""What is warned of before a run: fields that grow out of rounding, runs of hours, ranks that are no faster."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp
from typing import TYPE_CHECKING

import numba
import numpy as np

from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.errors import Issue
from heatsim.solve.integrators.growth import at_rest, foreseen_growth, seeds_refusal
from heatsim.solve.ranks import joined_ranks

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.solve.integrators.auto import Recommendation

MIN_DIGITS = 1e-3  # of how far a state is from rest: with fewer, it is lost
_MAX_EXPONENT = 700.0


def growth_warnings(problem: Problem) -> Iterator[Issue]:
    """A warning where a state is so near to one from which all grows that rounding is as large as what it is off, and
    where rounding, or what solvers leave, grows beyond the tolerance in the run."""
    control, following = problem.scenario.time, problem.temperature_sources
    if control.chosen is None or control.is_steady or following is None or not following.may_grow:
        return
    eps, tolerance = float(np.finfo(problem.dtype).eps), control.tolerance or DEFAULT_TOLERANCE
    if control.solves:
        if refusal := seeds_refusal(problem, tolerance):
            message = f"{control.chosen.name} {refusal} in the run, where nothing is as ahead of a front"
            yield problem.scenario.issue_at(("time", "integrator"), message, 'integrator = "euler"')
        return
    foldings = foreseen_growth(problem).start * control.end
    offset = np.stack(list(problem.initial_planes())).astype(np.float64)
    rounding = 0.5 * eps * np.abs(offset)
    T = offset + problem.reference
    distance = np.abs(following.power(T, 0.0)) / np.maximum(np.abs(following.slope(T, 0.0)), 1e-300)  # from rest, about
    grown = rounding * exp(min(foldings, _MAX_EXPONENT)) > tolerance * float(np.ptp(offset))
    lost = at_rest(problem) & grown & (rounding > MIN_DIGITS * distance) & (rounding > 0.0)
    if lost.any():
        message = (
            f"the field grows by exp({foldings:.3g}) in the run, also from states that {problem.dtype.name} rounds by "
            f"{rounding[lost].max():.2g} {problem.scenario.unit}: what is less, as ahead of a front, is lost"
        )
        yield problem.scenario.issue_at(("compute", "precision"), message, 'precision = "float64"')


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


def rank_warnings(problem: Problem, on_gpus: bool) -> Iterator[Issue]:
    """A warning where several ranks are slower than one, or no faster."""
    ranks = joined_ranks()
    if ranks is None:
        return
    if problem.scenario.time.solves:
        from heatsim_kernels.solver.slabs import plan_slabs

        grid, wraps = problem.grid, problem.coefficients.periodic[2]
        if ranks.size > 1 and plan_slabs(grid.shape, ranks.size, wraps) is None:
            message = f"the first of {ranks.size} ranks computes alone: so few cells, or planes along z, are not cut"
            yield problem.scenario.issue_at(("grid", "cells"), message, "start fewer ranks")
        return
    from heatsim.solve.ranks.field import predicted_speedup

    gpus = ranks.gpus() if on_gpus else None
    speedup = predicted_speedup(problem.coefficients, problem.dtype, ranks.size, numba.get_num_threads(), gpus)
    if speedup < 1.0:
        message = (
            f"{ranks.size} ranks are predicted to take {1 / speedup:.1f} times as long as one: a slab has so few cells "
            "that exchanging its halos takes longer than its steps"
        )
        yield problem.scenario.issue_at(("grid", "cells"), message, "start fewer ranks")
