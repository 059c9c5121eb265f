"""What run.json says of a run: what ran, how far it got, and what it found."""

from __future__ import annotations

import platform
import time
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from heatsim.base.version import __version__
from heatsim.output.recorders.results import found_results, result_units
from heatsim.output.recorders.timings import Timings
from heatsim.problem import Problem
from heatsim.simulation import device_selection
from heatsim.simulation.over_time import OverTime
from heatsim.solve.integrators import auto
from heatsim.solve.ranks import joined_ranks
from heatsim.solve.state import State
from heatsim.store.folder import RunFolder
from heatsim.store.tables import read_hotspots, read_last_row

if TYPE_CHECKING:
    from heatsim.scenario import Scenario


def describe_run(
    problem: Problem, choice: device_selection.DeviceChoice, taken: auto.Recommendation | None
) -> dict[str, Any]:
    """What is known before the first step."""
    scenario = problem.scenario
    return {
        "title": scenario.title,
        "versions": list_versions(),
        "device": choice.device,
        "device_name": choice.device_name,
        "kernel": choice.kernel,
        "kernel_reason": choice.reason,
        "ranks": 1 if (ranks := joined_ranks()) is None else ranks.size,
        "integrator": scenario.time.integrator,
        "integrator_reason": taken.reason if taken else "named by the scenario",
        "precision": scenario.compute.precision,
        "cells": list(scenario.grid.cells),
        "fields": list(scenario.output.fields),
        "quantity": {"name": scenario.solved.name, "unit": scenario.unit},
        "temperature_unit": scenario.unit,
        "reference_temperature": problem.reference,
        "stability_limit_seconds": problem.stability_limit if np.isfinite(problem.stability_limit) else None,
        "largest_step_seconds": problem.largest_step,
    }


def describe_outcome(state: State, timings: Timings, started: float) -> dict[str, Any]:
    """How far a run got, in which time."""
    energy = state.energy
    updates = (state.solver_statistics.stages or state.step) * state.problem.grid.cells
    return {
        "time": state.time if np.isfinite(state.time) else None,
        "steps": state.step,
        "rejected_steps": state.solver_statistics.rejected,
        "stages": state.solver_statistics.stages,
        "iterations": state.solver_statistics.iterations,
        "residuals": state.solver_statistics.residuals,
        "warnings": [state.problem.scenario.solved.in_own_words(warning) for warning in state.warnings],
        "cell_updates": updates,
        "cell_updates_per_second": updates / timings.loop if timings.loop > 0 else 0.0,
        "energy": {
            "stored": energy.stored,
            "sources": energy.sources,
            "faces": energy.faces,
            "ambients": energy.ambients,
            "residual": energy.residual,
            "relative_residual": energy.relative_residual,
        },
        "timings": seconds_of(timings, started),
    }


def seconds_of(timings: Timings, started: float) -> dict[str, float]:
    """Wall seconds of a run so far, and of its parts."""
    return {"total_seconds": time.perf_counter() - started, **timings.seconds()}


def found_values(
    folder: RunFolder, scenario: Scenario, finished: bool, over_time: OverTime | None = None
) -> dict[str, Any]:
    """The hot spots, the last statistics of regions and the results, where they were asked for."""
    found: dict[str, Any] = {"hotspots": describe_hotspots(folder)} if folder.hotspots.is_file() else {}
    if folder.regions.is_file():
        last = read_last_row(folder.regions)
        found["regions"] = {name: value for name, value in last.items() if np.isfinite(value)}  # JSON has no infinity
    if folder.results.is_file():
        found["results"] = found_results(scenario, folder, finished)
        found["result_units"] = result_units(scenario)
        if over_time is not None and finished:
            found["results"] |= {name: value for name, (_, value) in over_time.found().items()}
            found["result_times"] = over_time.times_of_extremes()
    return found


def describe_hotspots(folder: RunFolder) -> list[dict[str, Any]]:
    """The table of hot spots as it stands in run.json."""
    return [spot._asdict() for spot in read_hotspots(folder.hotspots)]


def list_versions() -> dict[str, str]:
    """Versions of heatsim and of what its results depend on."""
    found = {"heatsim": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for name in ("numpy", "numba", "numba-cuda", "h5py"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
