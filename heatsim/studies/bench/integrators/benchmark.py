"""`heatsim bench integrators`: how long each integrator takes to which accuracy, on problems with known solutions."""

from __future__ import annotations

import time
from itertools import product
from math import log
from pathlib import Path

import numpy as np
from heatsim_kernels.device import compile_watch

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
from heatsim.studies.bench.integrators.problems import PROBLEMS, scenario_of

NAMES = tuple(name for name, each in METHODS.items() if not each.to_limit)
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5)  # for integrators that control their error
ALLOWED = 3.0  # errors over tolerances
WARM_UP = 0.5  # s
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
    rows = []
    for name, precision in product(harness.chosen(asked["problem"], PROBLEMS), harness.precisions(asked)):
        for integrator in harness.chosen(asked["integrator"], NAMES):
            for tolerance in TOLERANCES if METHODS[integrator].controls_error else (None,):
                tell(f"{name}: {integrator}{f' to {tolerance:g}' if tolerance else ''} in {precision}")
                rows.append(_row(asked, name, integrator, tolerance, precision))
    return {"rows": rows, "notes": _compared(rows)}


def _row(asked: Asked, name: str, integrator: str, tolerance: float | None, precision: str) -> Row:
    """Run a problem to its end, or for as long as it may take."""
    known, method = PROBLEMS[name], METHODS[integrator]
    scenario = scenario_of(known.text(asked["size"]), integrator, tolerance, precision, asked["device"])
    problem, kernel = build_problem(scenario), device_selection.choose_device(scenario).kernel
    state, seconds, share = run_to(problem, kernel, asked["limit"])
    statistics = state.solver_statistics
    row: Row = {
        "name": integrator,
        "problem": name,
        "cells": list(scenario.grid.cells),
        "precision": precision,
        "kernel": kernel,
        "tolerance": tolerance,
        "steps": state.step,
        "rejected": statistics.rejected,
        "sweeps": statistics.stages or (state.step if method.bounded_by_stability else 0),
        "iterations": statistics.iterations,
        "share": share,
        "ran": seconds,
        # Where steps grow, the rest of a run that was cut short is not known.
        "seconds": None if method.controls_error and share < 1.0 else seconds / share,
    }
    if share == 1.0:
        off = np.abs(state.temperature() - known.solution(asked["size"])).max()
        row["error"] = float(off) / known.temperature_range
        if not row["error"] <= ALLOWED * (tolerance or 1.0):
            row["failed"] = f"an error of {row['error']:.1e} for a tolerance of {tolerance}"
    return row


def run_to(problem: Problem, kernel: str, limit: float) -> tuple[State, float, float]:
    """The state at the end, the seconds in the time loop, and the share of the time that was reached in `limit` s.

    A short run before loads the kernels. A run during which something was compiled is made again.
    """
    _run(problem, kernel, min(WARM_UP, limit))
    while True:
        compiled: list[str] = []
        with compile_watch.watch_compiling(compiled.append):
            found = _run(problem, kernel, limit)
        if not compiled:
            return found


def _run(problem: Problem, kernel: str, limit: float) -> tuple[State, float, float]:
    state, timings, begun = State(problem, make_field(problem, kernel)), Timings(), time.perf_counter()

    def on_progress(progress: Progress) -> bool:
        return progress.steps == 0 or time.perf_counter() - begun < limit

    reached = simulate(state, [], timings, on_progress)
    state.field.is_finite()  # waits for the device
    seconds = max(timings.loop, time.perf_counter() - begun) if state.field.device == "cuda" else timings.loop
    return state, seconds, 1.0 if reached else state.time / problem.scenario.time.end


def _compared(rows: list[Row]) -> list[str]:
    """How soon each integrator reaches TARGET_ERROR, in words."""
    told = []
    for case, mine in _cases(rows).items():
        seconds = {name: time_to_accuracy(found, TARGET_ERROR) for name, found in _by(mine, "name").items()}
        times = ", ".join(f"{name} {value:.3g} s" for name, value in seconds.items() if value is not None)
        if times:
            told.append(f"{case}, to an error of {TARGET_ERROR:g}: {times}")
    return told


def _by(rows: list[Row], key: str) -> dict[str, list[Row]]:
    """The rows by what they have in common."""
    return {value: [row for row in rows if row[key] == value] for value in dict.fromkeys(row[key] for row in rows)}


def _cases(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows by problem and precision, in words."""
    return _by([row | {"case": f"{row['problem']} in {row['precision']}"} for row in rows], "case")


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


def _draw(path: Path, document: Document) -> None:
    """What an accuracy costs: a panel for each problem and precision, seconds over the error, a curve for each
    integrator, or a point where there is one tolerance."""
    rows = [row for row in document["rows"] if row.get("error") and row["seconds"]]
    panels = []
    for case, mine in _cases(rows).items():
        curves = []
        for name, found in _by(mine, "name").items():
            errors, seconds = np.array(sorted((row["error"], row["seconds"]) for row in found)).T
            curves.append(Curve(name, errors, seconds, line=len(found) > 1))
        panels.append(ComparisonPanel(f"largest error, {case}", "time (s)", curves, log=True))
    if panels:
        size = " x ".join(map(str, rows[0]["cells"]))
        title = f"Time to accuracy on {document['machine']['device_name']}"
        draw_panels(path, panels, title=title, subtitle=f"{size} cells; errors over the range of temperatures")


SUITE = harness.Suite(check, measure, COLUMNS, lambda row: (row["problem"], row["precision"]), _draw)
