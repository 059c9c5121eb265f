"""Summaries for people: of a run, of what a run would take, of this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heatsim.integrators import SOLVING
from heatsim.integrators.auto import CONTROLLED, count_steps

if TYPE_CHECKING:
    from heatsim.integrators.auto import Recommendation
    from heatsim.problem import Problem
    from heatsim.store.folder import RunFolder
    from heatsim.store.tables import HotSpot

COMPRESSION = 0.6  # of a snapshot, typical
STEADY_ITERATIONS = 15  # of the steady solver, typically; strong contrasts take twice as many
STEP_ITERATIONS = 6  # of all solves of an implicit step, typically


def format_table(rows: Iterable[tuple[str, str]]) -> str:
    """Two aligned columns."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def format_run(path: Path, info: dict[str, Any]) -> str:
    """The closing summary of a run."""
    timings, steady = info["timings"], info["integrator"] == "steady"
    reached = "the steady state" if info["time"] is None else f"t = {info['time']:g} s"
    rows = [
        ("state", f"{info['state']} at {reached}"),
        ("device", f"{info['device_name']}, {info['precision']}"),
        ("kernel", f"{info['kernel']} ({info['kernel_reason']})"),
        ("grid", " x ".join(map(str, info["cells"])) + " cells"),
        ("integrator", f"{info['integrator']} ({info['integrator_reason']})"),
        *([] if steady else [("steps", _format_steps(info))]),
        *([("stages", f"{info['stages']}, with those of steps rejected")] if info["integrator"] == "rkl2" else []),
        *([("solver", _format_solver(info))] if info["integrator"] in SOLVING else []),
        ("wall time", f"{timings['total_seconds']:.2f} s, of this {timings['loop_seconds']:.2f} s in the time loop"),
        *([] if steady else [("rate", f"{info['cell_updates_per_second'] / 1e9:.3f} G cell updates/s")]),
        (
            "energy residual",
            f"{info['energy']['residual']:.3g} {'W' if steady else 'J'}, "
            f"{info['energy']['relative_residual']:.1e} of the energy moved",
        ),
        *([("hot spots", _format_hottest(info))] if "hotspots" in info else []),
        *(("caution", caution) for caution in info.get("cautions", ())),
        ("results", f"{path}{os.sep}"),
    ]
    return format_table(rows)


def _format_steps(info: dict[str, Any]) -> str:
    steps = info["steps"]
    mean = info["time"] / steps if steps else 0.0
    rejected = f" and {info['rejected_steps']} rejected" if info.get("rejected_steps") else ""
    limit = info["stability_limit_seconds"] or float("inf")
    of = "" if info["integrator"] == "euler" else "of explicit Euler "
    return f"{steps}{rejected}, mean {mean:.4g} s (stability limit {of}{limit:.4g} s)"


def _format_solver(info: dict[str, Any]) -> str:
    iterations, residuals = info["iterations"], info["residuals"]
    last = f", relative residual {residuals[-1]:.1e}" if residuals else ""
    return f"{info['integrator']}, {iterations} iterations{last}"


def _format_hottest(info: dict[str, Any]) -> str:
    spots = info["hotspots"]
    if not spots:
        return "none"
    top = max(spots, key=lambda spot: spot["temperature"])
    place = ", ".join(f"{top[axis]:.4g}" for axis in "xyz")
    return f"{len(spots)}, the hottest {top['temperature']:.5g} {info['temperature_unit']} at ({place}) m"


def format_hotspots(spots: Sequence[HotSpot], unit: str) -> str:
    """The table of hot spots."""
    if not spots:
        return "no hot spots"
    head = ("slice", "time [s]", "x [m]", "y [m]", "z [m]", "scale [m]", f"temperature [{unit}]", "rise [K]")
    cells = [head] + [(spot.slice, *(f"{value:.5g}" for value in spot[1:])) for spot in spots]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        [row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))]
        for row in cells
    )
    return "\n".join("  ".join(line) for line in lines)


def format_folder(folder: RunFolder, info: dict[str, Any]) -> str:
    """What a run folder holds."""
    frames = {name: len(folder.slice_frame_paths(name)) for name in folder.slice_names()}
    rows = [
        ("title", str(info.get("title") or "none")),
        ("state", str(info.get("state", "unknown"))),
        ("snapshots", f"{len(folder.snapshot_paths())} in {folder.series.name}"),
        ("fields", ", ".join(["temperature", *info.get("fields", ())])),
        ("slices", ", ".join(f"{name} ({count} frames)" for name, count in frames.items()) or "none"),
        ("probes", folder.probes.name if folder.probes.is_file() else "none"),
        ("regions", folder.regions.name if folder.regions.is_file() else "none"),
        ("hot spots", folder.hotspots.name if folder.hotspots.is_file() else "none"),
        ("energy ledger", folder.energy.name if folder.energy.is_file() else "none"),
    ]
    return format_table(rows)


def estimate_run(problem: Problem, device: str, kernel: str, advice: Recommendation | None) -> dict[str, Any]:
    """What a run would take: steps, memory, disk, and time, and what other integrators would take; `advice` is None for
    the steady state.

    Steps and time are None where error control finds the steps on the way.
    """
    from heatsim.simulation.memory_estimate import derived_bytes, run_bytes

    scenario, cells = problem.scenario, problem.grid.cells
    integrator = scenario.time.integrator
    adaptive = integrator in CONTROLLED and (scenario.time.step == "auto" or scenario.time.tolerance is not None)
    steps = None if adaptive else 1 if integrator == "steady" else count_steps(problem)
    snapshots = 1 if integrator == "steady" else len(scenario.output.snapshots.times(scenario.time.end))
    seconds = _seconds_to_solve(problem, kernel) if integrator in SOLVING else _seconds_a_step(integrator, advice)
    snapshot = cells * problem.dtype.itemsize + derived_bytes(scenario)
    return {
        "device": device,
        "kernel": kernel,
        "integrator": integrator,
        "cells": list(scenario.grid.cells),
        "stability_limit_seconds": problem.stability_limit if isfinite(problem.stability_limit) else None,
        "largest_step_seconds": problem.largest_step,
        "steps": steps,
        "cell_updates": None if steps is None else steps * cells,
        "memory_bytes": run_bytes(problem),
        "disk_bytes": snapshots * snapshot * COMPRESSION,
        "seconds_a_step": seconds,
        "seconds": None if steps is None else steps * seconds,
        "advice": None if advice is None else asdict(advice),
    }


def _seconds_a_step(integrator: str, advice: Recommendation | None) -> float:
    """Seconds that a step is estimated to take."""
    found = [each for each in advice.estimates if each.integrator == integrator] if advice else []
    return found[0].seconds / found[0].steps if found else 0.0


def _seconds_to_solve(problem: Problem, kernel: str) -> float:
    """Seconds that a step of an integrator that solves will take, or a whole steady state, from one short solve."""
    from heatsim.integrators import make_field
    from heatsim.integrators.balance import Balance

    steady = problem.scenario.time.integrator == "steady"
    if problem.temperature_dependent:
        return _seconds_to_iterate(problem, kernel)
    balance = Balance(problem, make_field(problem, kernel).field)
    inputs, rhs = balance.inputs(0.0), balance.values + 1.0
    balance.prepare(inputs, inf if steady else 0.01 * problem.largest_step)
    balance.solve(rhs, None, tolerance=0.0, accuracy=0.0, iterations=1)  # compiles
    begun = time.perf_counter()
    balance.solve(rhs, None, tolerance=0.0, accuracy=0.0, iterations=3)
    seconds = (time.perf_counter() - begun) / 3
    return seconds * (STEADY_ITERATIONS if steady else STEP_ITERATIONS)


def _seconds_to_iterate(problem: Problem, kernel: str) -> float:
    """Those of a steady state in which something follows temperature, from its second iteration."""
    from heatsim.integrators import make_field, nonlinear_steady
    from heatsim.simulation.state import State

    iterations = nonlinear_steady.solve(State(problem, make_field(problem, kernel)), 1e-10)
    next(iterations)  # compiles
    begun = time.perf_counter()
    next(iterations, None)
    return (time.perf_counter() - begun) * STEADY_ITERATIONS


def format_estimate(numbers: dict[str, Any]) -> str:
    """An estimate for people."""
    limit, steps = numbers["stability_limit_seconds"], numbers["steps"]
    steady = numbers["integrator"] == "steady"
    found = f"found on the way; about {numbers['seconds_a_step']:.3g} s of computing each"
    rows = [
        ("device", f"{numbers['device']}, kernel {numbers['kernel']}"),
        ("stability limit", f"{limit:.6g} s" if limit else "none"),
        ("step", f"at most {numbers['largest_step_seconds']:.6g} s"),
        ("steps", found if steps is None else f"{steps}, {numbers['cell_updates']:.3g} cell updates"),
        ("memory", f"about {numbers['memory_bytes'] / 1e6:.0f} MB"),
        ("disk", f"about {numbers['disk_bytes'] / 1e6:.1f} MB of snapshots"),
        ("time", "depends on the number of steps" if steps is None else f"about {numbers['seconds']:.3g} s"),
    ]
    shown = format_table([row for row in rows if not (steady and row[0] in ("stability limit", "step", "steps"))])
    return shown if numbers["advice"] is None else f"{shown}\n\n{_format_recommendation(numbers['advice'])}"


def _format_recommendation(advice: dict[str, Any]) -> str:
    """The table of all integrators, and which to take."""
    head = ("integrator", "steps", "sweeps", "seconds", "")
    rows = [
        (each["integrator"], f"{each['steps']}", f"{each['sweeps'] or '-'}", f"{each['seconds']:.2g}", each["refused"])
        for each in advice["estimates"]
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(4)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in (1, 2, 3)), row[4]]).rstrip()
        for row in [head, *rows]
    ]
    advised = f"advised for an error of {advice['tolerance']:g} of the range of temperatures: {advice['integrator']}"
    return "\n".join([*lines, advised, *filter(None, [advice["hint"]])])
