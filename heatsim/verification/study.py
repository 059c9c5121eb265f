"""A convergence study: one scenario on ever finer grids, or with ever shorter steps, and the order that shows.

Without an exact solution each run is compared with the next finer one, whose field is averaged over the cells of the
coarser grid: the differences fall with the same order as the errors (Roache 1998, chapter 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, log
from typing import Literal

import numpy as np

from heatsim.errors import HeatsimError
from heatsim.scenario import Expression
from heatsim.verification.finished import FinishedRun
from heatsim.verification.order import (
    extrapolate_to_limit,
    observed_order,
    restrict_field,
    rms_over_volume,
    why_no_order,
)

ROUNDING = 1e-12  # of the largest temperature; errors that small tell no order
FACTOR = 2  # from level to level

Refinement = Literal["grid", "step"]
ErrorPair = tuple[float, float]  # RMS over the volume, and largest; of a probe both are its error, with its sign


class StudyError(HeatsimError):
    """What was asked for makes no sense for this scenario."""

    exit_code = 2


@dataclass(frozen=True)
class StudyRow:
    """A run: its cells, its spacing or step in that of the coarsest, its steps, the value at the probe, RMS and largest
    error, and the order from the run before. None is what is not known, as of the finest run that has no finer one."""

    cells: tuple[int, ...]
    spacing: float
    steps: int
    value: float | None
    error: float | None
    largest: float | None
    order: float | None


@dataclass(frozen=True)
class Study:
    """Runs from coarse to fine; `order` is the slope of log error over log spacing by least squares, `limit` what the
    values at the probe go to (Richardson); `reason`: why no order can be read."""

    kind: Refinement
    rows: Sequence[StudyRow]
    order: float | None
    limit: float | None
    reason: str | None = None


def study(kind: Refinement, runs: Sequence[FinishedRun], probe: str | None, exact: Expression | None) -> Study:
    """What runs tell of the temperature at a probe, or of the field; `exact` is it in x, y, z and t."""
    values = [run.probe(probe) for run in runs] if probe else None
    errors = _errors_of_values(runs, values, str(probe), exact) if values else _errors_of_fields(runs, exact)
    least = ROUNDING * max(float(np.abs(run.temperature).max()) for run in runs)
    resolved = [error if abs(error[0]) > least else None for error in errors]
    spacings = [1.0 / (run.shortened if kind == "step" else run.refined) for run in runs]
    rows = []
    for number, run in enumerate(runs):
        error = resolved[number] if number < len(resolved) else None
        before = resolved[number - 1] if 0 < number < len(resolved) else None
        value = values[number] if values else None
        falls = before and error and not why_no_order((before[0], error[0]))
        between = log(before[0] / error[0]) / log(FACTOR) if before and error and falls else None
        rms_error, largest = map(abs, error) if error else (None, None)
        cells, steps = tuple(run.info["cells"]), int(run.info["steps"])
        rows.append(StudyRow(cells, spacings[number], steps, value, rms_error, largest, between))
    reason = _reason(resolved, "differences" if exact is None else "errors")
    order = None if reason else observed_order(spacings[: len(resolved)], [abs(error[0]) for error in errors])
    limit = extrapolate_to_limit(values, FACTOR, order) if values and order else None
    return Study(kind, rows, order, limit, reason)


def _reason(resolved: Sequence[ErrorPair | None], what: str) -> str | None:
    """Why no order can be read, if so."""
    known = [error[0] for error in resolved if error]
    if len(known) < len(resolved):
        return "an error is rounding only"
    found = why_no_order(known)
    return f"the {what} {found}" if found else None


def _errors_of_fields(runs: Sequence[FinishedRun], exact: Expression | None) -> list[ErrorPair]:
    if exact is not None:
        return [_size(run.temperature - _field(exact, run), run) for run in runs]
    found = []
    for coarse, fine in pairwise(runs):
        factor = fine.refined // coarse.refined
        on_coarse = restrict_field(fine.temperature, fine.grid, factor) if factor > 1 else fine.temperature
        found.append(_size(coarse.temperature - on_coarse, coarse))
    return found


def _errors_of_values(
    runs: Sequence[FinishedRun], values: Sequence[float], probe: str, exact: Expression | None
) -> list[ErrorPair]:
    if exact is None:
        errors = [coarse - fine for coarse, fine in pairwise(values)]
    else:
        place = next(each.at for each in runs[0].scenario.output.probes if each.name == probe)
        x, y, z = (np.array(coordinate) for coordinate in place)
        target = float(exact(x=x, y=y, z=z, t=np.array(runs[0].time)))
        if not isfinite(target):
            raise StudyError(f"--exact {exact.text!r}: not finite at the probe at the end")
        errors = [value - target for value in values]
    return [(error, error) for error in errors]


def _field(exact: Expression, run: FinishedRun) -> np.ndarray:
    x, y, z = run.points()
    values = np.broadcast_to(exact(x=x, y=y, z=z, t=np.array(run.time)), run.temperature.shape)
    if not np.isfinite(values).all():
        raise StudyError(f"--exact {exact.text!r}: not finite everywhere at the end")
    return values


def _size(error: np.ndarray, run: FinishedRun) -> ErrorPair:
    return rms_over_volume(error, run.grid), float(np.abs(error).max())
