"""Rates of the kernels on one grid, side by side with the copy limit."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from heatsim.bench import copying, machine
from heatsim.bench.measure import Subject, Timing, Work, clock_of, interleaved
from heatsim.bench.stencil import problems, theory
from heatsim.bench.stencil.contenders import Contender
from heatsim.bench.stencil.problems import STEP, Timed

BATCH = 12  # steps come in twelves or sixties, multiples of the steps that kernels fuse

Row = dict[str, Any]


class Setting(NamedTuple):
    """What is timed on: (nz, ny, nx), precision, number of materials."""

    shape: problems.Shape
    precision: str
    materials: int


def time(device: str, setting: Setting, chosen: list[Contender], seconds: float) -> list[Row]:
    """Rows of the copies and of the kernels."""
    cells, dtype = prod(setting.shape), np.dtype(setting.precision)
    problem = problems.timed(setting.shape, setting.materials)
    subjects = copying.subjects(device, cells, dtype)
    subjects += [Subject(each.name, partial(_steps, each, problem, dtype)) for each in chosen]
    timings = interleaved(subjects, clock_of(device), seconds, BATCH)
    limit = max(2 * dtype.itemsize * cells / timing.median for name, timing in timings.items() if copying.is_copy(name))
    rows = [_row(setting, name, timing, limit) for name, timing in timings.items()]
    if device == "cuda":
        resources = {each.name: _resources(each, problem, dtype) for each in chosen}
        rows = [row | resources.get(row["kernel"], {}) for row in rows]
    return rows


def _steps(contender: Contender, problem: Timed, dtype: np.dtype) -> Work:
    sweep = contender.build(problem.terms, dtype)
    sweep.put(problem.field())
    return lambda steps: sweep.advance(STEP, steps, problem.drive)


def _row(setting: Setting, name: str, timing: Timing, limit: float) -> Row:
    cells, copied = prod(setting.shape), copying.is_copy(name)
    rate = cells / timing.median
    moved = (
        2 * np.dtype(setting.precision).itemsize if copied else theory.bytes_moved(setting.precision, setting.materials)
    )
    nz, ny, nx = setting.shape
    row: Row = {
        "cells": [nx, ny, nz],
        "precision": setting.precision,
        "materials": setting.materials,
        "kernel": name,
        "cells_per_second": rate,
        "cells_per_second_best": cells / timing.best,
        "bytes_per_second": moved * rate,
        "of_copy": moved * rate / limit,
        "seconds_a_step": list(timing.seconds),
        "steps": timing.repetitions,
    }
    if copied:
        return row
    return row | {
        "operations_a_cell": theory.operations(setting.materials),
        "intensity_least": theory.least_intensity(setting.precision, setting.materials),
        "intensity_asked": theory.asked_intensity(name, setting.precision, setting.materials),
    }


def _resources(contender: Contender, problem: Timed, dtype: np.dtype) -> Row:
    """What a CUDA kernel takes of a multiprocessor; nothing on the simulator, which compiles nothing."""
    from heatsim_kernels.cuda_api import SIMULATED

    if SIMULATED:
        return {}
    sweep: Any = contender.build(problem.terms, dtype)
    return machine.of_multiprocessor(sweep.resources(problem.drive))
