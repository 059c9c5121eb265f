"""A dry run: what a run would take in steps, memory, disk and time, found without computing it."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from heatsim.simulation.memory_estimate import disk_bytes, run_bytes
from heatsim.simulation.periodic_state import EXPECTED_PERIODS
from heatsim.solve.integrators import integrator_of, make_field
from heatsim.solve.integrators.step_control import count_steps
from heatsim.solve.state import State

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.simulation.device_selection import DeviceChoice
    from heatsim.solve.integrators.auto import Recommendation


def estimate_run(problem: Problem, choice: DeviceChoice, advice: Recommendation | None) -> dict[str, Any]:
    """What a run would take: steps, memory, disk, and time, and what other integrators would take; `advice` is None for
    the steady state.

    Steps are None where error control finds them on the way; the time is estimated then.
    """
    scenario, cells = problem.scenario, problem.grid.cells
    control, chosen = scenario.time, scenario.time.chosen
    adaptive = chosen is not None and chosen.controls_error and not control.has_equal_steps
    if control.is_steady:
        steps: int | None = 1
    else:
        steps = None if adaptive else count_steps(problem, integrator_of(problem).largest_step(problem))
    seconds = _seconds_a_step(problem, choice.kernel, advice)
    whole = _foretold(control.integrator, advice) if steps is None else steps * seconds
    periods = 0.0 if control.periodic is None else EXPECTED_PERIODS * control.periodic / control.end
    return {
        "device": choice.device_name,
        "kernel": choice.kernel,
        "integrator": control.integrator,
        "cells": list(scenario.grid.cells),
        "stability_limit_seconds": problem.stability_limit if isfinite(problem.stability_limit) else None,
        "largest_step_seconds": problem.largest_step,
        "steps": steps,
        "cell_updates": None if steps is None else steps * cells,
        "memory_bytes": run_bytes(problem, choice.device),
        "disk_bytes": disk_bytes(scenario),
        "seconds_a_step": seconds,
        "seconds": None if whole is None else whole * (1.0 + periods),
        "periodic_seconds": None if whole is None or not periods else whole * periods,
        "advice": None if advice is None else asdict(advice),
    }


def _foretold(integrator: str, advice: Recommendation | None) -> float | None:
    """What the integrator is estimated at, s, where it finds its steps on the way."""
    found = [each.seconds for each in advice.estimates if each.integrator == integrator] if advice else []
    return found[0] if found else None


def _seconds_a_step(problem: Problem, kernel: str, advice: Recommendation | None) -> float:
    """Seconds of a step, or of a whole steady state: timed where the integrator solves, else as estimated."""
    measure = integrator_of(problem).measure
    if measure is not None:
        return measure(State(problem, make_field(problem, kernel)))
    name = problem.scenario.time.integrator
    found = [each for each in advice.estimates if each.integrator == name] if advice else []
    return found[0].seconds / found[0].steps if found else 0.0
