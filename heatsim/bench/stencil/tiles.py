"""Tiles of the CUDA kernels, timed side by side; the fastest is kept for later runs on this kind of GPU."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from heatsim_kernels.stencil import MOVEMENTS

from heatsim.bench.measure import Subject, Tell, Work, clock_of, interleaved
from heatsim.bench.stencil import problems
from heatsim.bench.stencil.problems import STEP, Timed
from heatsim.bench.stencil.timing import BATCH, Setting

ROUNDS = 3


def tune(setting: Setting, kernels: tuple[str, ...], seconds: float, tell: Tell) -> None:
    """Time all tiles of each kernel that takes single steps, and remember the fastest of each."""
    from heatsim_kernels.cuda_api import device_name
    from heatsim_kernels.stencil import tuning
    from heatsim_kernels.stencil.structure import Structure

    problem, dtype = problems.timed(setting.shape, setting.materials), np.dtype(setting.precision)
    structure = Structure.of(problem.terms, problem.drive, dtype)
    for kernel in kernels:
        if kernel not in MOVEMENTS:
            continue
        movement = import_module(f"heatsim_kernels.stencil.{kernel}")
        tiles = {str(tuple(tile)): tile for tile in movement.TILES}
        subjects = [Subject(name, partial(_steps, movement, tile, problem, dtype)) for name, tile in tiles.items()]
        timings = interleaved(subjects, clock_of("cuda"), seconds, BATCH, ROUNDS)
        name = min(timings, key=lambda each: timings[each].median)
        tuning.remember(movement, structure, device_name(), tiles[name])
        rate = np.prod(setting.shape) / timings[name].median / 1e9
        tell(f"{kernel}, {setting.precision}, {setting.materials} materials: tile {name}, {rate:.1f} G cells/s")


def _steps(movement: ModuleType, tile: Any, problem: Timed, dtype: np.dtype) -> Work:
    from heatsim_kernels.stencil.cuda_sweep import CudaSweep

    sweep = CudaSweep(problem.terms, dtype, movement, tile)
    sweep.put(problem.field())
    return lambda steps: sweep.advance(STEP, steps, problem.drive)
