"""A convergence study: one scenario on ever finer grids, or with ever shorter steps, and the order that shows.

Without an exact solution each run is compared with the next finer one, whose field is averaged over the cells of the
coarser grid: the differences fall with the same order as the errors (Roache 1998, chapter 5). Of a body in an ambient
only those cells count that are solid on both grids, all through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, log
from typing import Literal, NamedTuple

import numpy as np

from heatsim.errors import HeatsimError
from heatsim.scenario import Expression
from heatsim.studies.verification.finished import FinishedRun
from heatsim.studies.verification.order import (
    extrapolate_to_limit,
    observed_order,
    restrict_field,
    rms_over_volume,
    volumes,
    why_no_order,
)

ROUNDING = 1e-12  # of the largest temperature; errors that small tell no order
FACTOR = 2  # from level to level
UNLIKE = 1.5  # orders from run to run that differ by more are none: the coarsest grid shows another body, say

Refinement = Literal["grid", "step"]
ErrorPair = tuple[float, float]  # RMS over the volume, and largest; of a number both are its error, with its sign


class Sought(NamedTuple):
    """The subject of a study: the "field", or a "probe" or "result" of this name."""

    kind: Literal["field", "probe", "result"]
    name: str = ""

    def value(self, run: FinishedRun) -> float:
        """The value in a run. Raises StudyError where a result has none."""
        found = run.probe(self.name) if self.kind == "probe" else run.info["results"][self.name]
        if found is None:
            raise StudyError(f"--quantity {self.name}: the run in {run.path} has not come to it")
        return float(found)


class StudyError(HeatsimError):
    """The study that was asked for makes no sense for this scenario."""

    exit_code = 2


@dataclass(frozen=True)
class StudyRow:
    """A run: its cells, its spacing or step in that of the coarsest, its steps, the value of a probe or result, RMS and
    largest error, and the order from the run before; `compared`: the share of its body's volume that was compared. None
    is what is not known, as of the finest run that has no finer one."""

    cells: tuple[int, ...]
    spacing: float
    steps: int
    value: float | None
    error: float | None
    largest: float | None
    order: float | None
    compared: float | None = None


@dataclass(frozen=True)
class Study:
    """Runs from coarse to fine; `order` is the slope of log error over log spacing by least squares, `limit` what the
    values go to (Richardson); `reason`: why no order can be read."""

    kind: Refinement
    rows: Sequence[StudyRow]
    order: float | None
    limit: float | None
    reason: str | None = None


def study(kind: Refinement, runs: Sequence[FinishedRun], sought: Sought, exact: Expression | None) -> Study:
    """Make the study of what is sought in runs; `exact`: the solution in x, y, z and t."""
    values = None if sought.kind == "field" else [sought.value(run) for run in runs]
    parts = [_part_compared(run, finer, exact) for run, finer in zip(runs, [*runs[1:], None], strict=True)]
    errors = _errors_of_fields(runs, exact, parts) if values is None else _errors_of_values(runs, values, sought, exact)
    largest = max(float(np.abs(run.temperature[run.solid]).max()) for run in runs)
    least = ROUNDING * (max(map(abs, values)) if values and sought.kind == "result" else largest)
    resolved = [error if abs(error[0]) > least else None for error in errors]
    spacings = [1.0 / (run.shortened if kind == "step" else run.refined) for run in runs]
    rows = []
    for number, run in enumerate(runs):
        error = resolved[number] if number < len(resolved) else None
        before = resolved[number - 1] if 0 < number < len(resolved) else None
        value = values[number] if values else None
        falls = before and error and not why_no_order((before[0], error[0]))
        order = log(before[0] / error[0]) / log(FACTOR) if before and error and falls else None
        rms_error, worst = map(abs, error) if error else (None, None)
        cells, steps, part = tuple(run.info["cells"]), int(run.info["steps"]), parts[number]
        volume = volumes(run.grid)
        share = None if part is None or values else float(volume[part].sum() / volume[run.solid].sum())
        rows.append(StudyRow(cells, spacings[number], steps, value, rms_error, worst, order, share))
    between = [row.order for row in rows if row.order is not None]
    reason = _reason(resolved, "differences" if exact is None else "errors")
    if reason is None and max(between, default=0.0) - min(between, default=0.0) > UNLIKE:
        reason = f"from run to run it is {', '.join(f'{each:.2f}' for each in between)}; begin with a finer one"
    slope = None if reason else observed_order(spacings[: len(resolved)], [abs(error[0]) for error in errors])
    limit = extrapolate_to_limit(values, FACTOR, slope) if values and slope else None
    return Study(kind, rows, slope, limit, reason)


def _reason(resolved: Sequence[ErrorPair | None], what: str) -> str | None:
    """Why no order can be read, if so."""
    known = [error[0] for error in resolved if error]
    if len(known) < len(resolved):
        return "an error is rounding only"
    found = why_no_order(known)
    return f"the {what} {found}" if found else None


def _part_compared(run: FinishedRun, finer: FinishedRun | None, exact: Expression | None) -> np.ndarray | None:
    """(nz, ny, nx) which cells of a run count: the solid ones, and, where it is compared with a finer run, of these
    those in which all of that is solid; None for the last run that is compared with nothing."""
    if exact is not None:
        return run.solid
    if finer is None:
        return None
    factor = finer.refined // run.refined
    shares = restrict_field(finer.solid, finer.grid, factor) if factor > 1 else finer.solid
    part = np.asarray(run.solid & (shares > 1.0 - 1e-9))
    if not part.any():
        raise StudyError("no cell is solid on two grids: the body is thinner than the cells; begin with a finer grid")
    return part


def _errors_of_fields(
    runs: Sequence[FinishedRun], exact: Expression | None, parts: Sequence[np.ndarray | None]
) -> list[ErrorPair]:
    if exact is not None:
        return [_size(run.temperature - _field(exact, run), run, run.solid) for run in runs]
    found = []
    for (coarse, fine), part in zip(pairwise(runs), parts, strict=False):
        factor = fine.refined // coarse.refined
        on_coarse = restrict_field(fine.temperature, fine.grid, factor) if factor > 1 else fine.temperature
        assert part is not None
        found.append(_size(coarse.temperature - on_coarse, coarse, part))
    return found


def _errors_of_values(
    runs: Sequence[FinishedRun], values: Sequence[float], sought: Sought, exact: Expression | None
) -> list[ErrorPair]:
    if exact is None:
        errors = [coarse - fine for coarse, fine in pairwise(values)]
    else:
        place: Sequence[float] = (np.nan, np.nan, np.nan)  # a result has none
        if sought.kind == "probe":
            place = next(each.at for each in runs[0].scenario.output.probes if each.name == sought.name)
        x, y, z = (np.array(coordinate) for coordinate in place)
        target = float(exact(x=x, y=y, z=z, t=np.array(runs[0].time)))
        if not isfinite(target):
            what = "at the probe at the end" if sought.kind == "probe" else "of a result, which has no x, y, z"
            raise StudyError(f"--exact {exact.text!r}: not finite {what}")
        errors = [value - target for value in values]
    return [(error, error) for error in errors]


def _field(exact: Expression, run: FinishedRun) -> np.ndarray:
    x, y, z = run.points()
    values = np.broadcast_to(exact(x=x, y=y, z=z, t=np.array(run.time)), run.temperature.shape)
    if not np.isfinite(values[run.solid]).all():
        raise StudyError(f"--exact {exact.text!r}: not finite everywhere at the end")
    return values


def _size(error: np.ndarray, run: FinishedRun, part: np.ndarray) -> ErrorPair:
    return rms_over_volume(error, run.grid, part), float(np.abs(error[part]).max())
