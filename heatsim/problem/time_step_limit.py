"""How long the steps of a problem may be, and whether it has one steady state."""

from __future__ import annotations

import numpy as np
from heatsim_kernels.explicit.coefficients import StencilCoefficients
from heatsim_kernels.explicit.enthalpy import time_step_limit as nonlinear_limits
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients, NonlinearForcing
from heatsim_kernels.explicit.time_step_limit import stable_step

from heatsim.errors import ScenarioError
from heatsim.problem.terms.boundary_faces import BoundaryFaces, SurfaceConditions
from heatsim.scenario import Scenario, find_temperature_dependence

SAFETY = 0.9  # of the stability limit, for step = "auto": at the limit itself the shortest waves do not decay
STEPS_WITHOUT_LIMIT = 100  # where no heat moves there is no limit, but sources may vary in time


def stability_limit(
    coefficients: StencilCoefficients,
    boundary_faces: BoundaryFaces,
    entries: np.ndarray | None,
    surfaces: SurfaceConditions | None,
    times: np.ndarray,
) -> float:
    """The largest stable step of explicit Euler, s."""
    if isinstance(coefficients, NonlinearCoefficients) and surfaces is not None:
        return nonlinear_limits.stable_step(coefficients, NonlinearForcing(surfaces.fastest(times)))
    least = boundary_faces.min_a()
    return stable_step(coefficients, least if entries is None else least[entries])


def largest_step(scenario: Scenario, limit: float, varies: bool, longest: float) -> float:
    """The step asked for, or 0.9 of the limit and at most `longest`. Raises `ScenarioError` if over the limit.

    Steps under error control have no limit; where inputs vary in time they are kept short enough to see it. Of "auto"
    it is the step of explicit Euler, if that is taken.
    """
    control, chosen = scenario.time, scenario.time.chosen
    explicit = chosen is not None and chosen.bounded_by_stability
    if isinstance(control.step, str):
        if (explicit or chosen is None) and np.isfinite(limit):
            return min(SAFETY * limit, longest)
        return min(control.end / STEPS_WITHOUT_LIMIT if explicit or varies else control.end, longest)
    if explicit and control.step > limit * (1 + 1e-12):
        message = (
            f"expected at most {limit:.6g} s, the stability limit of explicit Euler here, found {control.step:g} s"
        )
        hint = 'step = "auto" stays below it'
        if find_temperature_dependence(scenario) is None:
            hint += ', integrator = "implicit" has no limit'
        raise ScenarioError([scenario.issue_at(("time", "step"), message, hint)])
    return float(control.step) if chosen is not None else min(control.step, SAFETY * limit)


def require_steady_state(scenario: Scenario, varies: bool, boundary_faces: BoundaryFaces, inside: bool) -> None:
    """Raise `ScenarioError` unless no input `varies` with time and something ties the temperature to a given one:
    a boundary face, or something `inside`, an ambient or what pervades the body.

    One such tie is enough: conductivities are positive, so heat gets from every cell to every other, or, where ambients
    keep them apart, to an ambient.
    """
    key = ("time", "integrator")
    if varies:
        message = "a steady state needs boundary values, ambients and sources that do not depend on t"
        raise ScenarioError([scenario.issue_at(key, message, 'integrator = "implicit" follows them')])
    if not (inside or boundary_faces.fixes_temperature()):
        message = "no steady state, or any number of them: no face has a temperature to settle at"
        hint = "give a face a fixed temperature, or convection or radiation with a coefficient or emissivity > 0"
        raise ScenarioError([scenario.issue_at(key, message, hint)])
