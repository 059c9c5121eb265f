"""`heatsim bench integrators`: how long each integrator takes to which accuracy.

A row for each problem, precision, integrator and tolerance.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np

from heatsim.base.methods import METHODS
from heatsim.base.tables import Row, TableColumn, Tell, number
from heatsim.errors import RequestError
from heatsim.output.pictures.charts import draw_panels
from heatsim.output.pictures.curve import ComparisonPanel, Curve
from heatsim.problem import Problem, build_problem
from heatsim.simulation import device_selection
from heatsim.simulation.time_loop import Progress, Timings, simulate
from heatsim.solve.integrators import make_field
from heatsim.solve.state import State
from heatsim.studies.bench import harness
from heatsim.studies.bench.harness import Asked, Document
from heatsim.studies.bench.integrators.problems import PROBLEMS, KnownProblem, scenario_of

NAMES = tuple(name for name, each in METHODS.items() if not each.to_limit)
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5)  # for integrators that control their error
ALLOWED = 3.0  # errors over tolerances
WARM_UP = 20.0  # stability limits that are run before, which compiles everything
TARGET_ERROR = 1e-4  # error, of the range of temperatures, at which integrators are compared
DEFAULT_SIZE = {"cpu": 64, "cuda": 256}
MIN_SIZE = 32  # the layers of the stack are a 32nd of it


def check(asked: Asked) -> None:
    """Check a request and fill in its defaults. Raises `RequestError`."""
    cells = asked["size"] = asked["size"] or DEFAULT_SIZE[asked["device"]]
    if cells < MIN_SIZE or cells % MIN_SIZE:
        raise RequestError(f"--size {cells}: expected a multiple of {MIN_SIZE} cells")
    harness.check_time("--limit", asked["limit"])


def measure(asked: Asked, tell: Tell) -> Document:
    """Run each problem by each integrator to each tolerance."""
    rows = [
        _row(asked, PROBLEMS[name], integrator, tolerance, precision, tell)
        for name in harness.chosen(asked["problem"], PROBLEMS)
        for precision in harness.precisions(asked)
        for integrator in harness.chosen(asked["integrator"], NAMES)
        for tolerance in (TOLERANCES if METHODS[integrator].controls_error else (None,))
    ]
    return {"rows": rows, "notes": _compared(rows)}


def _row(
    asked: Asked, known: KnownProblem, integrator: str, tolerance: float | None, precision: str, tell: Tell
) -> Row:
    """Run a problem to its end, or for as long as it may take."""
    tell(f"{known.name}: {integrator}{f' to {tolerance:g}' if tolerance else ''} in {precision}")
    scenario = scenario_of(known.text(asked["size"]), integrator, tolerance, precision, asked["device"])
    problem, kernel = build_problem(scenario), device_selection.choose_device(scenario).kernel
    run_to(problem, kernel, min(WARM_UP * problem.stability_limit, scenario.time.end), asked["limit"])
    state, seconds, share = run_to(problem, kernel, scenario.time.end, asked["limit"])
    grows = METHODS[integrator].controls_error  # its steps grow: the rest of a run that was cut short is not known
    row: Row = {
        "name": integrator,
        "problem": known.name,
        "cells": list(scenario.grid.cells),
        "precision": precision,
        "kernel": kernel,
        "tolerance": tolerance,
        "steps": state.step,
        "rejected": state.solver_statistics.rejected,
        "sweeps": state.solver_statistics.stages or (state.step if METHODS[integrator].bounded_by_stability else 0),
        "iterations": state.solver_statistics.iterations,
        "share": share,
        "ran": seconds,
        "seconds": None if grows and share < 1.0 else seconds / share,
    }
    if share == 1.0:
        row["error"] = (
            float(np.abs(state.temperature() - known.solution(asked["size"])).max()) / known.temperature_range
        )
        if not row["error"] <= ALLOWED * (tolerance or 1.0):
            row["failed"] = f"an error of {row['error']:.1e} for a tolerance of {tolerance}"
    return row


def run_to(problem: Problem, kernel: str, end: float, limit: float) -> tuple[State, float, float]:
    """The state at a time, the seconds in the time loop, and the share of the time that was reached in `limit` s."""
    control = problem.scenario.time.model_copy(update={"end": end})
    shorter = replace(problem, scenario=problem.scenario.model_copy(update={"time": control}))
    state, timings, begun = State(shorter, make_field(shorter, kernel)), Timings(), time.perf_counter()

    def on_progress(progress: Progress) -> bool:
        return progress.steps == 0 or time.perf_counter() - begun < limit

    reached = simulate(state, [], timings, on_progress)
    state.field.is_finite()  # waits for the device
    seconds = max(timings.loop, time.perf_counter() - begun) if state.field.device == "cuda" else timings.loop
    return state, seconds, 1.0 if reached else state.time / end


def _compared(rows: list[Row]) -> list[str]:
    """How much sooner than the others each integrator reaches TARGET_ERROR, in words."""
    told = []
    for problem, precision in dict.fromkeys((row["problem"], row["precision"]) for row in rows):
        mine = [row for row in rows if (row["problem"], row["precision"]) == (problem, precision)]
        names = dict.fromkeys(row["name"] for row in mine)
        seconds = {name: time_to_accuracy([row for row in mine if row["name"] == name], TARGET_ERROR) for name in names}
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


# The table.


def _steps(row: Row) -> str:
    return f"{row['steps']}" + (f" + {row['rejected']}" if row["rejected"] else "")


def _seconds(row: Row) -> str:
    if row["seconds"] is None:
        return f"more than {row['ran']:.3g} ({row['share']:.1%} of the run)"
    return f"{row['seconds']:.3g}" + (f" (from {row['share']:.1%} of the run)" if row["share"] < 1 else "")


COLUMNS = (
    TableColumn("problem", lambda row: f"{row['problem']}, {' x '.join(map(str, row['cells']))}"),
    TableColumn("precision", lambda row: str(row["precision"])),
    TableColumn("integrator", lambda row: str(row["name"])),
    TableColumn("tolerance", lambda row: f"{row['tolerance']:g}" if row["tolerance"] else ""),
    TableColumn("error", number("error", ".1e")),
    TableColumn("s", _seconds),
    TableColumn("steps", _steps),
    TableColumn("sweeps", lambda row: f"{row['sweeps']}" if row["sweeps"] else ""),
    TableColumn("iterations", lambda row: f"{row['iterations']}" if row["iterations"] else ""),
    TableColumn("kernel", lambda row: str(row["kernel"])),
)


def _draw(path: Path, document: Document) -> bool:
    """What an accuracy costs: a panel for each problem and precision, seconds over the error, a curve for each
    integrator."""
    rows = [row for row in document["rows"] if row.get("error") and row["seconds"]]
    if not rows:
        return False
    cases = dict.fromkeys((row["problem"], row["precision"]) for row in rows)
    panels = [_panel(case, [row for row in rows if (row["problem"], row["precision"]) == case]) for case in cases]
    size = " x ".join(map(str, rows[0]["cells"]))
    title = f"Time to accuracy on {document['machine']['device_name']}"
    draw_panels(path, panels, title=title, subtitle=f"{size} cells; errors over the range of temperatures")
    return True


def _panel(case: tuple[str, str], rows: list[Row]) -> ComparisonPanel:
    curves = [_curve(name, rows) for name in dict.fromkeys(row["name"] for row in rows)]
    return ComparisonPanel(f"largest error, {case[0]} in {case[1]}", "time (s)", curves, log=True)


def _curve(name: str, rows: list[Row]) -> Curve:
    """A line where there are several tolerances, else a point."""
    pairs = sorted((row["error"], row["seconds"]) for row in rows if row["name"] == name)
    errors, seconds = np.array(pairs).T
    return Curve(name, errors, seconds, line=len(pairs) > 1)


SUITE = harness.Suite(
    check,
    measure,
    harness.Layout(COLUMNS, lambda row: (row["problem"], row["precision"]), draw=_draw, figure="Time to accuracy"),
    rounds=1,
)
