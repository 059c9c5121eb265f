"""Problems with known answers, the checks that judging their runs gives, and judges that several problems share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from heatsim.output.pictures.curve import ComparisonPanel, Curve
from heatsim.studies.verification.finished import FinishedRun, grid_spacings
from heatsim.studies.verification.order import observed_order, rms_over_volume
from heatsim.studies.verification.refinement import RefinementLevel


class ValueCheck(NamedTuple):
    """A value found beside its target, in `unit`; `order` is the observed order of convergence, where one was found.

    Passed if |result - target| <= tolerance and, where an order is asked for, |order - asked| <= order_tolerance.
    """

    quantity: str
    target: float
    result: float
    tolerance: float
    unit: str = ""
    order: float | None = None
    order_asked: float | None = None
    order_tolerance: float = 0.1

    @property
    def error(self) -> float:
        """Result less target."""
        return self.result - self.target

    @property
    def passed(self) -> bool:
        """Whether all is within its tolerance; what is not a number is not."""
        near = bool(abs(self.error) <= self.tolerance)
        if self.order_asked is None or not near:
            return near
        return self.order is not None and abs(self.order - self.order_asked) <= self.order_tolerance


@dataclass(frozen=True)
class Judgement:
    """The checks of a problem, and what its figure shows."""

    checks: Sequence[ValueCheck]
    panels: Sequence[ComparisonPanel] = ()


Judge = Callable[[Sequence[FinishedRun]], Judgement]


@dataclass(frozen=True)
class VerificationProblem:
    """A scenario scenarios/verify/<name>.toml with a known answer.

    source: where the answer is from; judge: given the finished runs, one a level; levels: how the scenario is refined;
    quick: a few seconds on two cores; exact: asks for more digits than float32 has.
    """

    name: str
    source: str
    judge: Judge
    levels: Sequence[RefinementLevel] = field(default=(RefinementLevel(),))
    quick: bool = True
    exact: bool = False


ExactField = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]  # of x, y, z in m and t in s


def field_judge(
    exact: ExactField, tolerance: float, unit: str = "K", order: float | None = 2.0, *, means: bool = False
) -> Judge:
    """Judge the field at the end against `exact`: RMS error on the finest level, and the order in which it falls.

    means: whether cells are judged by the means of `exact` over them, as runs start from means; else by its values at
    their centres.
    """

    def judge(runs: Sequence[FinishedRun]) -> Judgement:
        errors = [rms_over_volume(run.temperature - _at_cells(exact, run, means), run.grid) for run in runs]
        by_step = len({run.shortened for run in runs}) > 1
        spacings = [1.0 / run.shortened for run in runs] if by_step else grid_spacings(runs)
        found = observed_order(spacings, errors)
        wanted = order if len(runs) > 1 else None
        check = ValueCheck("RMS error of the field", 0.0, errors[-1], tolerance, unit, found, wanted)
        what = "step" if by_step else "cell size"
        panels = error_panels(spacings, errors, unit, order or 2.0, what)
        return Judgement([check], [_profile(_at_cells(exact, runs[-1], means), runs[-1]), *panels])

    return judge


def _at_cells(exact: ExactField, run: FinishedRun, means: bool) -> np.ndarray:
    """The values at the centres of cells; or their means, by three points of Gauss along each axis, on a grid in
    Cartesian coordinates."""
    if not means:
        return np.broadcast_to(exact(*run.points(), run.time), run.temperature.shape)
    nodes, weights = np.polynomial.legendre.leggauss(3)
    mean = np.zeros(run.temperature.shape)
    halves = [np.diff(run.grid.faces(name)).reshape((-1, *(1,) * at)) / 2.0 for at, name in enumerate("xyz")]
    for picked in product(range(3), repeat=3):
        x, y, z = (c + nodes[n] * half for c, n, half in zip(run.points(), picked, halves, strict=True))
        mean += np.prod(weights[list(picked)] / 2.0) * exact(x, y, z, run.time)
    return mean


def _profile(expected: np.ndarray, run: FinishedRun) -> ComparisonPanel:
    """The field along the longest axis, through the cell of the largest exact value, beside the exact one."""
    found = run.temperature
    axis = int(np.argmax(found.shape))
    place: list[int | slice] = list(map(int, np.unravel_index(np.argmax(np.abs(expected)), found.shape)))
    place[axis] = slice(None)
    line = tuple(place)
    name = "zyx"[axis]
    where = run.grid.centres(name)
    return ComparisonPanel(
        f"{name} (m)",
        _label(run.scenario.solved.name, run.scenario.unit),
        [Curve("exact", where, expected[line]), Curve("heatsim", where, found[line], line=False)],
    )


def error_panels(
    spacings: Sequence[float], errors: Sequence[float], unit: str, order: float, what: str, measure: str = "error"
) -> list[ComparisonPanel]:
    """Errors over spacings, where there are several, with a line of the slope that they should have."""
    if len(errors) < 2:
        return []
    x, y = np.array(spacings), np.array(errors)
    expected = Curve(f"order {order:g}", x, y[0] * (x / x[0]) ** order)
    label = f"{what}, in that of the coarsest run"
    return [ComparisonPanel(label, _label(measure, unit), [expected, Curve("heatsim", x, y, line=False)], log=True)]


def results_against_targets(targets: Sequence[float], results: Sequence[float], unit: str) -> ComparisonPanel:
    """Results over targets, which lie on the diagonal where all is well."""
    ends = np.array([min(targets), max(targets)], dtype=np.float64)
    return ComparisonPanel(
        _label("target", unit),
        _label("result", unit),
        [Curve("target", ends, ends), Curve("heatsim", np.array(targets), np.array(results), line=False)],
    )


def limit_judge(
    quantity: str,
    value: Callable[[FinishedRun], float],
    published: float,
    allowed: float,
    exact: float,
    tolerance: float,
    unit: str,
    order: float | None = None,
) -> Judge:
    """Judge one value of the finest run against a published one, within `allowed`, and the exact one."""

    def judge(runs: Sequence[FinishedRun]) -> Judgement:
        found = [value(run) for run in runs]
        spacings = grid_spacings(runs)
        errors = [abs(each - exact) for each in found]
        checks = [
            ValueCheck(f"{quantity}, published", published, found[-1], allowed, unit),
            ValueCheck(
                f"{quantity}, exact", exact, found[-1], tolerance, unit, observed_order(spacings, errors), order
            ),
        ]
        panels = error_panels(spacings, errors, unit, order or 2.0, "cell size")
        return Judgement(checks, panels or [results_against_targets([published, exact], [found[-1]] * 2, unit)])

    return judge


def _label(what: str, unit: str) -> str:
    return f"{what} ({unit.replace('degC', '°C')})"
