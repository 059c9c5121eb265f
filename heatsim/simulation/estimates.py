"""What a run would take in steps, memory, disk and time, found without computing it."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from heatsim_kernels.field.region_reductions import CELL_BYTES
from heatsim_kernels.field.time_statistics import bytes_a_cell

from heatsim.base.methods import EULER
from heatsim.base.threads import thread_count
from heatsim.output.recorders.derived_fields import DERIVED_FIELDS
from heatsim.scenario import find_material_dependence, find_temperature_dependence
from heatsim.scenario.output import HISTORY_FIELDS
from heatsim.simulation.periodic_state import EXPECTED_PERIODS
from heatsim.solve.integrators import integrator_of, make_field
from heatsim.solve.integrators.step_control import count_steps
from heatsim.solve.state import State

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.scenario import Scenario
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
    # What the integrator is estimated at: it may find its steps on the way.
    own = next((each for each in advice.estimates if each.integrator == control.integrator), None) if advice else None
    foreseen = steps or (own.steps if own else 1)
    measure = integrator_of(problem).measure
    if measure is not None:  # a step, or a whole steady state, where the integrator solves
        seconds = measure(State(problem, make_field(problem, choice.kernel)), control.end / foreseen)
    else:
        seconds = own.seconds / own.steps if own else 0.0
    whole = foreseen * seconds if steps is not None or own else None
    if advice is not None and own is not None and measure is not None:
        measured = replace(own, seconds=foreseen * seconds)
        advice = replace(advice, estimates=tuple(measured if each is own else each for each in advice.estimates))
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


BASE_BYTES = 225e6  # bytes of Python, NumPy, Numba and compiled kernels,
SOURCE_BYTES = 40e6  # and of those with sources
PACKING_BYTES = 8e6  # of each thread that packs chunks of files
COMPRESSION = 0.6  # share that packing leaves of a snapshot, typically
SOLVER_CHECKPOINT_BYTES_A_CELL = 16  # the state and its slope; with what depends on temperature, 16 more
# Of sources that depend on temperature, while their power is found; and its slope where steps are solved for.
SOURCE_BYTES_A_CELL = {False: 72, True: 150}
LOSS_BYTES_A_CELL = 24  # of the couplings of cells that lose to what pervades them, where steps are solved for
VECTOR_BYTES_A_CELL = 48  # bytes a cell of heat flux and gradient while they are found, in float64
# Bytes a cell more where conductivity differs from cell to cell, without contacts and with them, and values of the
# run's precision.
MATERIAL_BYTES_A_CELL, MATERIAL_VALUES_A_CELL = {False: 22, True: 47}, 4


def state_bytes(scenario: Scenario, problem: Problem | None = None, device: str = "cpu") -> int:
    """Bytes on the device: the fields of the state and the classes of the cells, or all that a solver needs, and the
    fields of statistics over time. Until the problem is built, which finds the number of classes, they count a byte a
    cell."""
    cells, chosen = prod(scenario.grid.cells), scenario.time.chosen or EULER
    itemsize = np.dtype(scenario.compute.precision).itemsize
    peak, times, coolings = (name in scenario.output.fields for name in HISTORY_FIELDS)
    if chosen.solves:
        needs = chosen.bytes_a_cell[device]
        solver = needs.double if itemsize == 8 else needs.single
        solver = solver if find_temperature_dependence(scenario) is None else needs.nonlinear
        return cells * (solver + bytes_a_cell(peak, times, coolings, 8)) + _region_bytes(problem)
    ids = cells if problem is None else problem.class_bytes
    return (
        cells * (chosen.fields * itemsize + bytes_a_cell(peak, times, coolings, itemsize))
        + ids
        + _region_bytes(problem)
    )


def _region_bytes(problem: Problem | None) -> int:
    """Bytes of the cells of regions of which statistics are kept."""
    return 0 if problem is None else sum(CELL_BYTES * part.cells.indices.size for part in problem.statistics_regions)


def run_bytes(problem: Problem, device: str = "cpu") -> float:
    """Bytes of a whole run, on its device and beside it."""
    cells, itemsize, solves = problem.grid.cells, problem.dtype.itemsize, problem.scenario.time.solves
    if solves:  # the array in which snapshots are written stays
        beside = problem.class_bytes + (0 if problem.scenario.time.is_steady else cells * itemsize)
    else:
        # A snapshot; a source; a field of enthalpies as temperatures, and while they are looked up.
        enthalpies = 2 if problem.tabulated is not None and find_material_dependence(problem.scenario) else 0
        beside = cells * itemsize * (1 + problem.volume_sources.holds_field + enthalpies)
    following = 0 if problem.temperature_sources is None else cells * SOURCE_BYTES_A_CELL[solves]
    following += cells * LOSS_BYTES_A_CELL if solves and problem.coefficients.losses is not None else 0
    base = BASE_BYTES + PACKING_BYTES * thread_count() + (SOURCE_BYTES if problem.scenario.sources else 0)
    return base + state_bytes(problem.scenario, problem, device) + beside + following + _deriving_bytes(problem)


def disk_bytes(scenario: Scenario) -> float:
    """Bytes of the snapshots of a run on the disk, typically, and of its two checkpoints, packed or not."""
    cells, itemsize = prod(scenario.grid.cells), np.dtype(scenario.compute.precision).itemsize
    snapshots = len(scenario.output.snapshots.times(scenario.time.last_time))
    share = 1.0 if scenario.output.compression == "none" else COMPRESSION
    return share * (snapshots * (cells * itemsize + derived_bytes(scenario)) + 2 * checkpoint_bytes(scenario))


def checkpoint_bytes(scenario: Scenario) -> int:
    """Bytes of a checkpoint before it is packed: of the state, of statistics over time, and of what an integrator and
    a stop remember."""
    chosen, itemsize = scenario.time.chosen or EULER, np.dtype(scenario.compute.precision).itemsize
    if chosen.to_limit:
        return 0
    peak, times, coolings = (name in scenario.output.fields for name in HISTORY_FIELDS)
    a_cell = SOLVER_CHECKPOINT_BYTES_A_CELL if chosen.solves else itemsize
    statistics = bytes_a_cell(peak, times, coolings, 8 if chosen.solves else itemsize)
    watched = itemsize if scenario.stop is not None and scenario.stop.steady_rate is not None else 0
    return prod(scenario.grid.cells) * (a_cell + statistics + watched)


def derived_bytes(scenario: Scenario) -> int:
    """Bytes of the derived fields of a snapshot."""
    components = 2 if scenario.grid.coordinates == "cylindrical" else 3
    values = sum(components if DERIVED_FIELDS[name].is_vector else 1 for name in scenario.output.fields)
    return prod(scenario.grid.cells) * values * np.dtype(scenario.compute.precision).itemsize


def _deriving_bytes(problem: Problem) -> int:
    """Bytes that deriving these fields takes, or having them written."""
    cells, kept = problem.grid.cells, derived_bytes(problem.scenario)
    if not any(DERIVED_FIELDS[name].is_vector for name in problem.scenario.output.fields):
        return kept
    of_materials = MATERIAL_BYTES_A_CELL[bool(problem.scenario.contacts)]
    of_materials += MATERIAL_VALUES_A_CELL * problem.dtype.itemsize
    differs = problem.zones.ids is not None or problem.temperature_dependent
    return max(cells * VECTOR_BYTES_A_CELL + (cells * of_materials if differs else kept), kept)
