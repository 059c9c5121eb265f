"""`heatsim bench integrators`, in order: a row for each problem, integrator and tolerance."""

from __future__ import annotations

import time
from dataclasses import replace
from math import log
from typing import Any

import numpy as np

from heatsim.bench import machine
from heatsim.bench.integrators.options import IntegratorOptions
from heatsim.bench.integrators.problems import PROBLEMS, KnownProblem, scenario_of
from heatsim.bench.interleaved_timing import Tell
from heatsim.integrators import INTEGRATORS, make_field
from heatsim.problem import Problem, build_problem
from heatsim.simulation import device_selection
from heatsim.simulation.state import State
from heatsim.simulation.time_loop import Progress, Timings, simulate

NAME = "heatsim bench integrators"
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5)  # for integrators that control their error
ALLOWED = 3.0  # errors over tolerances
WARM_UP = 20.0  # stability limits that are run before, which compiles everything
TARGET_ERROR = 1e-4  # error, of the range of temperatures, at which integrators are compared

Row = dict[str, Any]


def benchmark(options: IntegratorOptions, tell: Tell) -> dict[str, Any]:
    """Do what was asked for, and return all that was found, fit for JSON. Raises `HeatsimError`."""
    described = machine.describe_machine(options.device)  # before the load is our own
    rows = [
        _row(options, PROBLEMS[name], integrator, tolerance, precision, tell)
        for name in options.problems
        for precision in options.precisions
        for integrator in options.integrators
        for tolerance in (TOLERANCES if INTEGRATORS[integrator].controls_error else (None,))
    ]
    return {
        "benchmark": NAME,
        "command": options.command(),
        "machine": described,
        "rounds": 1,
        "rows": rows,
        "notes": _compared(rows),
    }


def _row(
    options: IntegratorOptions,
    known: KnownProblem,
    integrator: str,
    tolerance: float | None,
    precision: str,
    tell: Tell,
) -> Row:
    """Run a problem to its end, or for as long as it may take."""
    tell(f"{known.name}: {integrator}{f' to {tolerance:g}' if tolerance else ''} in {precision}")
    scenario = scenario_of(known.text(options.size), integrator, tolerance, precision, options.device)
    problem, kernel = build_problem(scenario), device_selection.choose_device(scenario).kernel
    _run(problem, kernel, min(WARM_UP * problem.stability_limit, scenario.time.end), options.limit)
    state, seconds, share = _run(problem, kernel, scenario.time.end, options.limit)
    grows = INTEGRATORS[integrator].controls_error  # its steps grow: the rest of a run that was cut short is not known
    row: Row = {
        "problem": known.name,
        "cells": list(scenario.grid.cells),
        "precision": precision,
        "integrator": integrator,
        "kernel": kernel,
        "tolerance": tolerance,
        "steps": state.step,
        "rejected": state.solver_statistics.rejected,
        "sweeps": state.solver_statistics.stages or (state.step if INTEGRATORS[integrator].bounded_by_stability else 0),
        "iterations": state.solver_statistics.iterations,
        "share": share,
        "ran": seconds,
        "seconds": None if grows and share < 1.0 else seconds / share,
    }
    if share == 1.0:
        row["error"] = float(np.abs(state.temperature() - known.solution(options.size)).max()) / known.rise
        if not row["error"] <= ALLOWED * (tolerance or 1.0):
            row["failed"] = f"an error of {row['error']:.1e} for a tolerance of {tolerance}"
    return row


def _run(problem: Problem, kernel: str, end: float, limit: float) -> tuple[State, float, float]:
    """The state at a time, the seconds in the time loop, and the share of the time that was reached in `limit` s."""
    control = problem.scenario.time.model_copy(update={"end": end})
    shorter = replace(problem, scenario=problem.scenario.model_copy(update={"time": control}))
    state, timings, begun = State(shorter, make_field(shorter, kernel)), Timings(), time.perf_counter()

    def watch(progress: Progress) -> bool:
        return time.perf_counter() - begun < limit

    reached = simulate(state, [], timings, watch)
    state.field.is_finite()  # waits for the device
    seconds = max(timings.loop, time.perf_counter() - begun) if state.field.device == "cuda" else timings.loop
    return state, seconds, 1.0 if reached else state.time / end


def _compared(rows: list[Row]) -> list[str]:
    """How much sooner than the others each integrator reaches TARGET, in words."""
    told = []
    for problem, precision in dict.fromkeys((row["problem"], row["precision"]) for row in rows):
        mine = [row for row in rows if (row["problem"], row["precision"]) == (problem, precision)]
        names = dict.fromkeys(row["integrator"] for row in mine)
        seconds = {
            name: time_to_accuracy([row for row in mine if row["integrator"] == name], TARGET_ERROR) for name in names
        }
        reached = {name: value for name, value in seconds.items() if value is not None}
        if reached:
            times = ", ".join(f"{name} {value:.3g} s" for name, value in reached.items())
            told.append(f"{problem} in {precision}, to an error of {TARGET_ERROR:g}: {times}")
    return told


def time_to_accuracy(rows: list[Row], target: float) -> float | None:
    """Seconds to an error of `target`, between the two rows about it on a double logarithmic scale, or those of the
    fastest if all are more accurate. None if no row is so accurate, but for one that was cut short."""
    ordered = sorted((row["error"], row["seconds"]) for row in rows if row.get("error") and "failed" not in row)
    below = [pair for pair in ordered if pair[0] <= target]
    above = [pair for pair in ordered if pair[0] > target]
    if not below:
        return min((float(row["seconds"]) for row in rows if "error" not in row and row["seconds"]), default=None)
    if not above:
        return float(min(seconds for _, seconds in below))
    (e, s), (f, t) = below[-1], above[0]
    return float(s * (t / s) ** (log(target / e) / log(f / e)))
