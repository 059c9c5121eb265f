"""The problem of a run with its integrator and its device, for which there is memory and disk."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from heatsim.base.methods import METHODS
from heatsim.errors import HeatsimError
from heatsim.problem import Problem, build_problem
from heatsim.simulation import device_selection
from heatsim.simulation.estimates import disk_bytes, state_bytes
from heatsim.simulation.free_resources import require_disk
from heatsim.solve.integrators import auto, make_field
from heatsim.solve.integrators.euler import with_explicit_steps
from heatsim.solve.integrators.integrator import StepCost
from heatsim.solve.state import State

if TYPE_CHECKING:
    from heatsim.scenario import Scenario

TEMPORAL_CLASS_BYTES = 2  # bytes a cell that `temporal` keeps of the materials and sources around it, at most
Prepared = tuple[Problem, device_selection.DeviceChoice, auto.Recommendation | None]


def resolve_auto(
    problem: Problem, choice: device_selection.DeviceChoice, *, full: bool = False
) -> tuple[Problem, device_selection.DeviceChoice, auto.Recommendation | None]:
    """The problem with an integrator in place of "auto", its device, and the recommendation that was followed.

    Where the scenario names an integrator, the problem and the device stay and there is no recommendation. `full`:
    estimate all integrators even if the first will do, by what steps take now; the choice is the same.
    """
    if problem.scenario.time.chosen is not None:
        return problem, choice, None
    taken = recommend_integrator(problem, full=full)
    tolerance = taken.tolerance if METHODS[taken.integrator].controls_error else None
    problem = problem.with_integrator(taken.integrator, tolerance, taken.step)
    return problem, device_selection.choose_device(problem.scenario), taken


def recommend_integrator(problem: Problem, *, full: bool = True) -> auto.Recommendation:
    """The recommendation for a problem, whatever integrator its scenario names, unless that finds the steady state;
    `full` as in `resolve_auto`."""
    open_problem = problem.with_integrator("auto", problem.scenario.time.tolerance)
    choice, refused = device_selection.choose_device(open_problem.scenario), {}
    for candidate in auto.CANDIDATES:
        if refusal := problem.refuses(candidate.method):
            refused[candidate.name] = refusal
            continue
        if not candidate.method.controls_error:  # explicit Euler, of which nothing takes less memory
            continue
        scenario = problem.with_integrator(candidate.name, None).scenario
        try:
            other = device_selection.choose_device(scenario)
            device_selection.require_memory(other, state_bytes(scenario, problem, other.device))
        except HeatsimError as error:
            refused[candidate.name] = f"cannot be had: {error}"

    found = auto.recommend(open_problem, choice.device, refused, full=full)
    if not full:
        return found

    def measure() -> StepCost:
        explicit = with_explicit_steps(open_problem)
        return auto.measure_step_cost(State(explicit, make_field(explicit, choice.kernel)))

    return auto.timed(found, open_problem, choice.device, measure, refused)


def prepare(
    scenario: Scenario, writes: Path | None = None, reference: float | None = None, hottest: float = 0.0
) -> Prepared:
    """The problem of a scenario with its integrator and device, for which there is memory, and disk for all its results
    in the folder that it `writes`. reference, hottest: see `build_problem`."""
    choice = device_selection.choose_device(scenario)
    classes = (
        TEMPORAL_CLASS_BYTES if choice.kernel == "temporal" and (len(scenario.materials) > 1 or scenario.sources) else 0
    )
    fused = classes * prod(scenario.grid.cells)
    device_selection.require_memory_for(scenario, choice, state_bytes(scenario, device=choice.device) + fused)
    if writes is not None:
        require_disk(writes, disk_bytes(scenario))
    problem = build_problem(scenario, reference, hottest)
    device_selection.require_memory_for(scenario, choice, state_bytes(scenario, problem, choice.device) + fused)
    return resolve_auto(problem, choice)


def for_wider_range(problem: Problem, taken: auto.Recommendation | None, hottest: float) -> Problem:
    """The problem with steps for temperatures up to `hottest`, K, by the same integrator, in steps no longer than
    recommended."""
    control = problem.scenario.time
    step = None if taken is None else taken.step
    if step is not None:
        control = control.model_copy(update={"step": "auto"})
    wider = build_problem(problem.scenario.model_copy(update={"time": control}), hottest=hottest)
    if step is None:
        return wider
    return wider.with_integrator(control.integrator, control.tolerance, min(step, wider.largest_step))
