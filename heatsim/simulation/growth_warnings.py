"""Warnings of fields that grow from states which their precision does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp
from typing import TYPE_CHECKING

import numpy as np

from heatsim.base.methods import DEFAULT_TOLERANCE
from heatsim.solve.integrators.growth import at_rest, foreseen_growth, seeds_refusal

if TYPE_CHECKING:
    from heatsim.errors import Issue
    from heatsim.problem import Problem

MIN_DIGITS = 1e-3  # of how far a state is from rest: with fewer, it is lost
MAX_EXPONENT = 700.0


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
    grown = rounding * exp(min(foldings, MAX_EXPONENT)) > tolerance * float(np.ptp(offset))
    lost = at_rest(problem) & grown & (rounding > MIN_DIGITS * distance) & (rounding > 0.0)
    if lost.any():
        message = (
            f"the field grows by exp({foldings:.3g}) in the run, also from states that {problem.dtype.name} rounds by "
            f"{rounding[lost].max():.2g} {problem.scenario.unit}: what is less, as ahead of a front, is lost"
        )
        yield problem.scenario.issue_at(("compute", "precision"), message, 'precision = "float64"')
