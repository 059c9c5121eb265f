"""Problems whose windows are heated between steps and whose field is looked at, for CPU, simulator and GPU alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from heatsim_kernels.explicit import STEPPERS, ExplicitStepper
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from heatsim_kernels.field.time_statistics import StatisticsRequest
from heatsim_kernels.field.window_source import WindowSource
from helpers.kernel_cases import FEATURES, STEP, random_case
from nonlinear_cases import random_case as random_nonlinear_case
from stage_cases import stages

SHAPE = (2, 3, 5)
WINDOWS: tuple[tuple[tuple[tuple[int, int, int], tuple[int, int, int]], ...], ...] = (
    (),  # in each step: corner and size of each window
    (((0, 0, 0), (2, 2, 3)), ((1, 1, 2), (1, 2, 3))),
    (),
    (((1, 2, 4), (1, 1, 1)),),
    (((0, 1, 0), (2, 1, 5)),),
)
STEPS = len(WINDOWS) + 2  # more than have windows
LINEAR = StatisticsRequest(peak=True, above=0.1, crossing=0.0)
NONLINEAR = StatisticsRequest(peak=True, above=150.0, crossing=120.0)


def window_sources(dtype: Any, scale: float) -> tuple[tuple[WindowSource, ...], ...]:
    rng = np.random.default_rng(5)
    return tuple(
        tuple(WindowSource(corner, rng.uniform(-scale, scale, size).astype(dtype), 0.0) for corner, size in step)
        for step in WINDOWS
    )


def linear(dtype: Any) -> Any:
    case = random_case(SHAPE, FEATURES["uniform"], rows=3)
    coefficients = replace(
        case.coefficients, closed=(True,) * 6
    )  # the ledger is slow on the simulator, and tested elsewhere
    return case._replace(
        coefficients=coefficients, forcing=replace(case.forcing, window_sources=window_sources(dtype, 10.0))
    )


def nonlinear(dtype: Any) -> Any:
    case = random_nonlinear_case(SHAPE, several=False, closed=(True,) * 6)
    return case._replace(forcing=replace(case.linear_forcing(), window_sources=window_sources(dtype, 3e5)))


def plainly_heated(sweep: ExplicitStepper, case: Any) -> np.ndarray:
    """The field after STEPS steps, with windows and without a watch, so that steps may be fused."""
    sweep.field.put_state(case.start)
    sweep.advance(STEP, STEPS, case.forcing)
    return np.array(sweep.field.state())


def statistics_request(
    sweep: ExplicitStepper, case: Any, wanted: StatisticsRequest, dt: float = STEP
) -> dict[str, np.ndarray]:
    """The field after STEPS steps, and what was seen of it."""
    sweep.field.put_state(case.start)
    sweep.field.track(wanted)
    sweep.advance(dt, STEPS, case.forcing)
    return {"field": np.array(sweep.field.state()), **sweep.field.statistics()}


def in_stages(sweep: ExplicitStepper, case: Any) -> dict[str, np.ndarray]:
    """A step of several stages with windows."""
    sweep.field.put_state(case.start)
    chosen = stages("four", sweep.dtype.type)
    sweep.take_stages(STEP, chosen, 0, case.forcing)
    defect = sweep.defect(STEP, 0.3, case.forcing.of_steps(1, 1))
    sweep.accept()
    return {"field": np.array(sweep.field.state()), "defect": np.array(defect)}


def told_of(sweep: ExplicitStepper, case: Any) -> np.ndarray:
    """Whether the field is told to be finite, without and with a bad cell between planes that a GPU looks at."""
    answers = []
    for value in (1.0, np.nan):
        field = case.start.copy()
        field[5, 0, 1] = value
        sweep.field.put_state(field)
        sweep.advance(STEP, 4, case.forcing)
        sweep.field.was_finite()  # a GPU answers at the next call
        answers.append(sweep.field.was_finite())
    return np.array(answers)


def results(on_cuda: bool) -> Iterator[tuple[str, np.ndarray]]:
    """All that CPU and CUDA have to agree upon."""
    case, double = linear(np.float64), np.dtype(np.float64)
    fused, basic = ("temporal", "basic") if on_cuda else ("cpu", "cpu")
    yield "heated", plainly_heated(STEPPERS[fused](case.coefficients, double), case)
    for key, values in statistics_request(STEPPERS[basic](case.coefficients, double), case, LINEAR).items():
        yield f"watched {key}", values
    yield "in stages", in_stages(STEPPERS[basic](case.coefficients, double), case)["field"]
    tall = random_case((17, 1, 2), FEATURES["uniform"])
    tall = tall._replace(coefficients=replace(tall.coefficients, closed=(True,) * 6))
    yield "told of", told_of(STEPPERS[basic](tall.coefficients, double), tall)
    case = nonlinear(np.float64)
    sweep = NONLINEAR_STEPPERS["basic" if on_cuda else "cpu"](case.coefficients, double)
    for key, values in statistics_request(sweep, case, NONLINEAR, 1e-4).items():
        yield f"nonlinear: watched {key}", values
