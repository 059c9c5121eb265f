"""What inputs that depend on time cost the host in each step: counted, for a choice that is always the same, or timed.

What an expression costs depends on the expression, the grid, and how many cells it reaches. So some inputs are found,
and the operations counted that this takes, or its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from heatsim.base.evaluations import Evaluation, counted

if TYPE_CHECKING:
    from heatsim.problem import Problem

TIMED_INPUTS, TIMED_SECONDS = 64, 0.1  # forcings that are looked at, and s after which no more are timed
COUNTED_VALUES = 2e6  # cells times forcings that are counted
# What tangents take over what the terms of their surfaces do: 3.7 of a few faces whose inputs depend on time.
TIMED_TANGENTS, TANGENTS_OVER_TERMS = 3, 3.7
# s of a forcing, of an evaluation, of one of its operations, and of that on each value: of a core of an Intel Xeon
# (Emerald Rapids), roughly. They only have to be the same each time; a dry run tells what it times.
SECONDS_A_FORCING, SECONDS_AN_EVALUATION, SECONDS_A_NODE, SECONDS_A_VALUE = 1e-4, 1e-5, 1e-6, 2e-9
SECONDS_A_WINDOW, SECONDS_A_WINDOW_VALUE = 6e-5, 2e-8  # of what beams bring to the cells under them


def seconds_of_inputs(problem: Problem) -> float:
    """What a step takes on the host for inputs that depend on time, s, timed; 0 where nothing does."""
    if not problem.varies:
        return 0.0
    times, size = _times_and_batch(problem)
    begun, taken = time.perf_counter(), 0
    if size == 1:
        problem.look_ahead(times)
    while taken < TIMED_INPUTS and (taken == 0 or time.perf_counter() - begun < TIMED_SECONDS):
        problem.linear_forcing(times[taken : taken + size])
        taken += size
    return (time.perf_counter() - begun) / taken


def typical_seconds_of_inputs(problem: Problem) -> float:
    """The same by counts, whatever else the machine computes."""
    if not problem.varies:
        return 0.0
    times, size = _times_and_batch(problem)
    most = int(min(max(COUNTED_VALUES // problem.grid.cells, 4), TIMED_INPUTS))
    with counted() as evaluations:
        if size == 1:
            problem.look_ahead(times[:most])
        forcings = [problem.linear_forcing(times[first : first + size]) for first in range(0, most, size)]
    windows = [window.rates.size for forcing in forcings for each in forcing.window_sources for window in each]
    of_windows = len(windows) * SECONDS_A_WINDOW + sum(windows) * SECONDS_A_WINDOW_VALUE
    return (len(forcings) * SECONDS_A_FORCING + _seconds(evaluations) + of_windows) / (len(forcings) * size)


def _times_and_batch(problem: Problem) -> tuple[np.ndarray, int]:
    """Times for which inputs are looked at, s, as far apart as explicit steps, and how many of them a forcing has, as
    in a run. What inputs find once is found already."""
    end, size = problem.scenario.time.end, min(problem.batch, TIMED_INPUTS)
    steps = max(1.0, end / max(problem.stability_limit, np.finfo(float).tiny))
    times = 0.5 * end + min(end / steps, 0.5 * end / TIMED_INPUTS) * np.arange(TIMED_INPUTS)
    problem.linear_forcing(times[:size] - 0.25 * end)
    return times, size


def seconds_of_tangents(problem: Problem) -> float:
    """What tangents to the flux of boundary faces take on the host each time that they are made, s, timed; 0 where
    there are none."""
    find, taken = _surface_terms(problem), []
    if find is None:
        return 0.0
    for _ in range(TIMED_TANGENTS):
        begun = time.perf_counter()
        find()
        taken.append(time.perf_counter() - begun)
    return TANGENTS_OVER_TERMS * min(taken)


def typical_seconds_of_tangents(problem: Problem) -> float:
    """The same by counts."""
    find = _surface_terms(problem)
    if find is None:
        return 0.0
    find()
    with counted() as evaluations:
        find()
    return TANGENTS_OVER_TERMS * (SECONDS_A_FORCING + _seconds(evaluations))


def _surface_terms(problem: Problem) -> Callable[[], object] | None:
    form, surfaces = problem.explicit_form, problem.surfaces
    if form is None or surfaces is None or not form.faces.entries.size:
        return None
    times = np.array([0.25, 0.5]) * problem.scenario.time.end
    return lambda: surfaces.at(times)


def _seconds(evaluations: Sequence[Evaluation]) -> float:
    return sum(
        SECONDS_AN_EVALUATION + each.nodes * (SECONDS_A_NODE + each.values * SECONDS_A_VALUE) for each in evaluations
    )
