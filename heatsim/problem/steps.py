"""How long the steps of a problem may be."""

from __future__ import annotations

import numpy as np
from heatsim_kernels.stencil.limits import stable_step
from heatsim_kernels.stencil.nonlinear import limits as nonlinear_limits
from heatsim_kernels.stencil.nonlinear.terms import NonlinearDrive, NonlinearTerms
from heatsim_kernels.stencil.terms import Terms

from heatsim.errors import ScenarioError
from heatsim.problem.surfaces import Surfaces
from heatsim.problem.walls import Walls
from heatsim.scenario import Scenario, what_follows_temperature

SAFETY = 0.9  # of the stability limit, for step = "auto": at the limit itself the shortest waves do not decay
STEPS_WITHOUT_LIMIT = 100  # where no heat moves there is no limit, but sources may vary in time


def stability_limit(
    terms: Terms, walls: Walls, spread: np.ndarray | None, surfaces: Surfaces | None, times: np.ndarray
) -> float:
    """The largest stable step of explicit Euler, s."""
    if isinstance(terms, NonlinearTerms) and surfaces is not None:
        return nonlinear_limits.stable_step(terms, NonlinearDrive(surfaces.fastest(times)))
    least = walls.least_a()
    return stable_step(terms, least if spread is None else least[spread])


def largest_step(scenario: Scenario, limit: float, varies: bool, longest: float) -> float:
    """The step asked for, or 0.9 of the limit and at most `longest`. Raises `ScenarioError` if over the limit.

    Steps under error control have no limit; where inputs vary in time they are kept short enough to see it. Of "auto"
    it is the step of explicit Euler, if that is taken.
    """
    control = scenario.time
    explicit = control.integrator == "euler"
    if isinstance(control.step, str):
        if control.integrator in ("euler", "auto") and np.isfinite(limit):
            return min(SAFETY * limit, longest)
        return min(control.end / STEPS_WITHOUT_LIMIT if explicit or varies else control.end, longest)
    if explicit and control.step > limit * (1 + 1e-12):
        message = (
            f"expected at most {limit:.6g} s, the stability limit of explicit Euler here, found {control.step:g} s"
        )
        hint = 'step = "auto" stays below it'
        if what_follows_temperature(scenario) is None:
            hint += ', integrator = "implicit" has no limit'
        raise ScenarioError([scenario.problem_at(("time", "step"), message, hint)])
    return float(control.step) if control.integrator != "auto" else min(control.step, SAFETY * limit)
