"""Summaries for people: of a run, of what a run would take, of this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heatsim.simulation import steps_between

if TYPE_CHECKING:
    from heatsim.problem import Problem
    from heatsim.store.folder import RunFolder
    from heatsim.store.hotspots import HotSpot

COMPRESSION = 0.6  # of a snapshot, typical
BASE_MEMORY = 250e6  # bytes of Python, NumPy, Numba and compiled kernels


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Two aligned columns."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def of_run(path: Path, info: dict[str, Any]) -> str:
    """The closing summary of a run."""
    steps, timings = info["steps"], info["timings"]
    mean = info["time"] / steps if steps else 0.0
    rows = [
        ("state", f"{info['state']} at t = {info['time']:g} s"),
        ("device", f"{info['device_name']}, {info['precision']}"),
        ("kernel", f"{info['kernel']} ({info['kernel_reason']})"),
        ("grid", " x ".join(map(str, info["cells"])) + " cells"),
        (
            "steps",
            f"{steps}, mean {mean:.4g} s (stability limit {info['stability_limit_seconds'] or float('inf'):.4g} s)",
        ),
        ("wall time", f"{timings['total_seconds']:.2f} s, of this {timings['loop_seconds']:.2f} s in the time loop"),
        ("rate", f"{info['cell_updates_per_second'] / 1e9:.3f} G cell updates/s"),
        (
            "energy residual",
            f"{info['energy']['residual']:.3g} J, {info['energy']['relative_residual']:.1e} of the energy moved",
        ),
        *([("hot spots", _hottest(info))] if "hotspots" in info else []),
        ("results", f"{path}{os.sep}"),
    ]
    return table(rows)


def _hottest(info: dict[str, Any]) -> str:
    spots = info["hotspots"]
    if not spots:
        return "none"
    top = max(spots, key=lambda spot: spot["temperature"])
    place = ", ".join(f"{top[axis]:.4g}" for axis in "xyz")
    return f"{len(spots)}, the hottest {top['temperature']:.5g} {info['temperature_unit']} at ({place}) m"


def of_hotspots(spots: Sequence[HotSpot], unit: str) -> str:
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


def of_folder(folder: RunFolder, info: dict[str, Any]) -> str:
    """What a run folder holds."""
    frames = {name: len(folder.slice_frame_paths(name)) for name in folder.slice_names()}
    rows = [
        ("title", str(info.get("title") or "none")),
        ("state", str(info.get("state", "unknown"))),
        ("snapshots", f"{len(folder.snapshot_paths())} in {folder.series.name}"),
        ("slices", ", ".join(f"{name} ({count} frames)" for name, count in frames.items()) or "none"),
        ("probes", folder.probes.name if folder.probes.is_file() else "none"),
        ("hot spots", folder.hotspots.name if folder.hotspots.is_file() else "none"),
        ("energy ledger", folder.energy.name if folder.energy.is_file() else "none"),
    ]
    return table(rows)


def step_count(problem: Problem) -> int:
    """Number of steps that a run will take: between any two events an equal division of the time."""
    scenario = problem.scenario
    end, output = scenario.time.end, scenario.output
    schedules = [recorded.schedule for recorded in (*output.slices, *output.probes)]
    schedules += [output.snapshots, *([output.energy] if output.energy else [])]
    events = sorted({0.0, end}.union(*(schedule.times(end) for schedule in schedules)))
    return sum(steps_between(start, target, problem.largest_step) for start, target in pairwise(events))


def estimate(problem: Problem, device: str, kernel: str) -> dict[str, Any]:
    """What a run would take: steps, memory, disk, and time by timing a few steps."""
    steps, cells = step_count(problem), problem.grid.cells
    state_bytes = cells * problem.dtype.itemsize
    scenario = problem.scenario
    snapshots = len(scenario.output.snapshots.times(scenario.time.end))
    return {
        "device": device,
        "kernel": kernel,
        "cells": list(scenario.grid.cells),
        "stability_limit_seconds": problem.stability_limit if isfinite(problem.stability_limit) else None,
        "largest_step_seconds": problem.largest_step,
        "steps": steps,
        "cell_updates": steps * cells,
        "memory_bytes": (4 + problem.heating.holds_field) * state_bytes
        + cells * (problem.zones.ids is not None)
        + BASE_MEMORY,
        "disk_bytes": snapshots * state_bytes * COMPRESSION,
        "seconds": steps * _seconds_a_step(problem, kernel),
    }


def _seconds_a_step(problem: Problem, kernel: str) -> float:
    from heatsim_kernels.stencil import SWEEPS

    from heatsim.integrators import euler
    from heatsim.state import State

    state = State(problem, SWEEPS[kernel](problem.terms, problem.dtype))
    euler.advance(state, 0.0, problem.largest_step, 0, 1)  # compiles
    state.sweep.is_finite()
    count, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < 0.3:
        euler.advance(state, 0.0, problem.largest_step, 0, 1)
        state.sweep.is_finite()  # waits for the device
        count += 1
    return (time.perf_counter() - begun) / count


def of_estimate(numbers: dict[str, Any]) -> str:
    """An estimate for people."""
    limit = numbers["stability_limit_seconds"]
    return table(
        [
            ("device", f"{numbers['device']}, kernel {numbers['kernel']}"),
            ("stability limit", f"{limit:.6g} s" if limit else "none"),
            ("step", f"at most {numbers['largest_step_seconds']:.6g} s"),
            ("steps", f"{numbers['steps']}, {numbers['cell_updates']:.3g} cell updates"),
            ("memory", f"about {numbers['memory_bytes'] / 1e6:.0f} MB"),
            ("disk", f"about {numbers['disk_bytes'] / 1e6:.1f} MB of snapshots"),
            ("time", f"about {numbers['seconds']:.3g} s"),
        ]
    )
