"""What is read of a field wherever it lies; as a script on the CUDA simulator:
`NUMBA_ENABLE_CUDASIM=1 python ... RESULT.npz`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from heatsim_kernels.explicit.enthalpy import NONLINEAR_STEPPERS
from heatsim_kernels.field import Field
from heatsim_kernels.field.region_reductions import RegionCells
from heatsim_kernels.field.time_statistics import StatisticsRequest
from helpers.kernel_cases import FEATURES, random_case
from nonlinear_cases import random_case as random_nonlinear_case

SHAPE = (3, 4, 5)
TIME_STEP = 0.5
REQUEST = StatisticsRequest(peak=True, above=0.2, crossing=0.0)
INDICES = np.array([[0, 7], [59, 3]])


def solver_field(case: Any, on_cuda: bool, dtype: type) -> Field:
    """A field in float64 that hands out another type, as implicit integrators have it."""
    if on_cuda:
        from heatsim_kernels.field.cuda.field import CudaField

        return CudaField(case.coefficients, np.dtype(dtype), np.dtype(np.float64))
    from heatsim_kernels.field.cpu.field import CpuField

    return CpuField(case.coefficients, np.dtype(dtype), np.dtype(np.float64))


def readings(field: Field, starts: list[np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """All that the interface gives of a field that is put in twice, with statistics from one to the other."""
    field.put(starts[0])
    field.track(REQUEST)
    field.put(starts[1])
    field.sample(TIME_STEP)
    yield "host", np.array(field.host())
    yield "planes", np.array(list(field.planes()))
    captured = {name: field.capture() for name in ("captured", "captured into an array")}
    field.put(starts[0])  # what was captured stays
    for name, fetch in captured.items():
        room = np.full(field.shape, np.nan, field.dtype) if "into" in name else None
        if fetch is None:
            field.put(starts[1])
        yield name, np.array(field.host() if fetch is None else fetch(room, lambda count: None))
    field.put(starts[1])
    yield "state", np.array(field.state())
    for axis in range(3):
        yield f"plane {axis}", field.plane(axis, 1)
    yield "cells", field.cells(INDICES)
    yield "no cells", field.cells(np.zeros((0, 2), np.int64))
    yield "melted", field.melted_fraction()
    yield "finite", np.array([field.is_finite(), field.was_finite(), field.was_finite()])
    yield "stored", np.array(field.stored())
    flat = np.arange(0, 60, 7)
    yield "totals", np.array(field.totals(RegionCells(flat, 1.0 + flat, 2.0 + flat)))
    yield from field.statistics().items()
    yield "out of range", np.array(sorted(field.out_of_range().items()))


def starts_of(case: Any) -> list[np.ndarray]:
    """Offsets about 0, and those a step later."""
    rng = np.random.default_rng(4)
    return [rng.uniform(-1.0, 1.0, SHAPE) for _ in range(2)]


def linear() -> Any:
    return random_case(SHAPE, FEATURES["materials"], seed=2)


def nonlinear() -> Any:
    return random_nonlinear_case(SHAPE, closed=(True,) * 6)


def results(on_cuda: bool) -> Iterator[tuple[str, np.ndarray]]:
    """All that CPU and CUDA have to agree upon, sums but for rounding."""
    case = linear()
    for name, values in readings(solver_field(case, on_cuda, np.float32), starts_of(case)):
        yield f"linear: {name}", values
    case = nonlinear()
    stepper = NONLINEAR_STEPPERS["basic" if on_cuda else "cpu"](case.coefficients, np.dtype(np.float64))
    for name, values in readings(stepper.field, starts_of(case)):
        yield f"nonlinear: {name}", values


def main(target: str) -> None:
    np.savez(target, allow_pickle=False, **dict(results(on_cuda=True)))


if __name__ == "__main__":
    main(sys.argv[1])
