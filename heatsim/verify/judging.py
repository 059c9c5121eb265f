"""Ways to judge runs that several problems share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from heatsim.verify.finished import Finished
from heatsim.verify.order import observed_order, rms
from heatsim.verify.problem import Check, Curve, Judge, Judgement, Panel

Field = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]  # of x, y, z in m and t in s


def field_judge(exact: Field, tolerance: float, unit: str = "K", order: float | None = 2.0) -> Judge:
    """Judge the field at the end against `exact`: RMS error on the finest level, and the order in which it falls."""

    def judge(runs: Sequence[Finished]) -> Judgement:
        errors = [rms(run.temperature - _exact_field(exact, run), run.grid) for run in runs]
        by_step = len({run.shortened for run in runs}) > 1
        spacings = [1.0 / (run.shortened if by_step else run.refined) for run in runs]
        found = observed_order(spacings, errors)
        wanted = order if len(runs) > 1 else None
        check = Check("RMS error of the field", 0.0, errors[-1], tolerance, unit, found, wanted)
        what = "step" if by_step else "cell size"
        panels = error_panels(spacings, errors, unit, order or 2.0, what)
        return Judgement([check], [_profile(exact, runs[-1]), *panels])

    return judge


def probe_judge(targets: Mapping[str, float], tolerance: float, unit: str = "degC") -> Judge:
    """Judge temperatures at probes at the end; each is checked on the finest level."""

    def judge(runs: Sequence[Finished]) -> Judgement:
        checks = [Check(name, target, runs[-1].probe(name), tolerance, unit) for name, target in targets.items()]
        return Judgement(checks, [beside(list(targets.values()), [check.result for check in checks], unit)])

    return judge


def _exact_field(exact: Field, run: Finished) -> np.ndarray:
    x, y, z = run.points()
    return np.broadcast_to(exact(x, y, z, run.time), run.temperature.shape)


def _profile(exact: Field, run: Finished) -> Panel:
    """The field along the longest axis, through the cell of the largest exact value, beside the exact one."""
    expected, found = _exact_field(exact, run), run.temperature
    axis = int(np.argmax(found.shape))
    place: list[int | slice] = list(map(int, np.unravel_index(np.argmax(np.abs(expected)), found.shape)))
    place[axis] = slice(None)
    line = tuple(place)
    name = "zyx"[axis]
    where = run.grid.centres(name)
    return Panel(
        f"{name} (m)",
        _label("temperature", run.scenario.temperature_unit),
        [Curve("exact", where, expected[line]), Curve("heatsim", where, found[line], line=False)],
    )


def error_panels(
    spacings: Sequence[float], errors: Sequence[float], unit: str, order: float, what: str, measure: str = "error"
) -> list[Panel]:
    """Errors over spacings, where there are several, with a line of the slope that they should have."""
    if len(errors) < 2:
        return []
    x, y = np.array(spacings), np.array(errors)
    expected = Curve(f"order {order:g}", x, y[0] * (x / x[0]) ** order)
    label = f"{what}, in that of the coarsest run"
    return [Panel(label, _label(measure, unit), [expected, Curve("heatsim", x, y, line=False)], log=True)]


def beside(targets: Sequence[float], results: Sequence[float], unit: str) -> Panel:
    """Results over targets, which lie on the diagonal where all is well."""
    ends = np.array([min(targets), max(targets)], dtype=np.float64)
    return Panel(
        _label("target", unit),
        _label("result", unit),
        [Curve("target", ends, ends), Curve("heatsim", np.array(targets), np.array(results), line=False)],
    )


def value_errors(values: Sequence[float], target: float) -> list[float]:
    """Distances from a target."""
    return [abs(value - target) for value in values]


def limit_judge(
    quantity: str,
    value: Callable[[Finished], float],
    published: float,
    allowed: float,
    exact: float,
    tolerance: float,
    unit: str,
    order: float | None = None,
) -> Judge:
    """Judge one value of the finest run against a published one, within `allowed`, and the exact one."""

    def judge(runs: Sequence[Finished]) -> Judgement:
        found = [value(run) for run in runs]
        spacings = [1.0 / run.refined for run in runs]
        errors = value_errors(found, exact)
        checks = [
            Check(f"{quantity}, published", published, found[-1], allowed, unit),
            Check(f"{quantity}, exact", exact, found[-1], tolerance, unit, observed_order(spacings, errors), order),
        ]
        panels = error_panels(spacings, errors, unit, order or 2.0, "cell size")
        return Judgement(checks, panels or [beside([published, exact], [found[-1]] * 2, unit)])

    return judge


def _label(what: str, unit: str) -> str:
    return f"{what} ({unit.replace('degC', '°C')})"
