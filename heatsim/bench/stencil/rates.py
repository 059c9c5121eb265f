"""Rates of the kernels on one grid, side by side with the copy limit."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from math import prod
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from heatsim_kernels.stencil import ONE_STEP_KERNELS
from heatsim_kernels.stencil.ladder import load_kernel

from heatsim.bench import device_limits, machine
from heatsim.bench.interleaved_timing import Subject, Timing, Work, clock_of, time_interleaved
from heatsim.bench.stencil import problems
from heatsim.bench.stencil.kernels_under_test import KernelUnderTest
from heatsim.bench.stencil.problems import STEP, TimedStencil
from heatsim.tables import Row, Tell

BATCH = 12  # steps come in twelves or sixties, multiples of the steps that kernels fuse


class Setting(NamedTuple):
    """What is timed on: (nz, ny, nx), precision, number of materials; the layers that these lie in, 0 for cubes."""

    shape: problems.ShapeZYX
    precision: str
    materials: int
    layers: int = 0


def time_kernels(device: str, setting: Setting, chosen: list[KernelUnderTest], seconds: float) -> list[Row]:
    """Rows of the copies and of the kernels."""
    dtype = np.dtype(setting.precision)
    problem = problems.timed_stencil(setting.shape, setting.materials, setting.layers)
    subjects = [Subject(each.name, partial(_prepare_kernel, each, problem, dtype)) for each in chosen]
    moved = 2 * dtype.itemsize * prod(setting.shape)
    timings, copy = device_limits.time_beside_copies(device, dtype, moved, subjects, seconds, BATCH)
    rows = [_row(setting, name, timing, copy) for name, timing in timings.items()]
    if device == "cuda":
        resources = {each.name: _resources(each, problem, dtype) for each in chosen}
        rows = [row | resources.get(row["kernel"], {}) for row in rows]
    return rows


def _prepare_kernel(contender: KernelUnderTest, problem: TimedStencil, dtype: np.dtype) -> Work:
    sweep = contender.build(problem.coefficients, dtype)
    sweep.field.put(problem.field())
    return lambda steps: sweep.advance(STEP, steps, problem.forcing)


def _row(setting: Setting, name: str, timing: Timing, copy: Timing) -> Row:
    cells, copied = prod(setting.shape), device_limits.is_copy(name)
    rate = cells / timing.median
    named = 0 if copied or setting.layers else setting.materials
    moved = bytes_per_cell(setting.precision, named)
    nz, ny, nx = setting.shape
    row: Row = {
        "cells": [nx, ny, nz],
        "precision": setting.precision,
        "materials": setting.materials,
        "layers": setting.layers,
        "kernel": name,
        "cells_per_second": rate,
        "cells_per_second_best": cells / timing.best,
        "bytes_per_second": moved * rate,
        "of_copy": moved * rate / (2 * np.dtype(setting.precision).itemsize * cells / copy.median),
        "doubt": timing.doubt or copy.doubt,
        "seconds_a_step": list(timing.seconds),
        "steps": timing.repetitions,
    }
    if copied:
        return row
    operations = operations_per_cell(setting.materials, setting.layers)
    return row | {
        "operations_a_cell": operations,
        "intensity_least": operations / moved,
        "intensity_asked": asked_intensity(name, *setting[1:]),
    }


def _resources(contender: KernelUnderTest, problem: TimedStencil, dtype: np.dtype) -> Row:
    """What a CUDA kernel takes of a multiprocessor."""

    def read() -> Any:
        sweep: Any = contender.build(problem.coefficients, dtype)
        return sweep.resources(problem.forcing)

    return machine.multiprocessor_use(read)


# What theory counts: operations and bytes of a cell and step.
#
# An arithmetic intensity is operations over bytes (Williams, Waterman and Patterson, Roofline: an insightful visual
# performance model for multicore architectures, CACM 52(4), 2009). Two counts of bytes are told apart:
#
# - bytes *asked for*: what the threads of a kernel ask global memory to read, before caches; 13 / 28 = 0.46 OP/B for
# `basic` in float32 (Kirk and Hwu, Programming Massively Parallel Processors, stencil chapter);
# - bytes that *must move*: each cell read once and written once, and the byte that names its material read once. Over
# time they give the effective memory throughput T_eff, which no single sweep can raise above the copy limit (Raess,
# Utkin, Duretz, Omlin and Podladchikov, Assessing the robustness and scalability of the accelerated pseudo-transient
# method, Geosci. Model Dev. 15, 2022); several steps a sweep can.


def operations_per_cell(materials: int, layers: int = 0) -> int:
    """Additions and multiplications a cell and step: see `heatsim_kernels.stencil.physics`, an fma counts as two.

    In one material 1 for 2c, 6 for three second differences, 3 fma; in several 6 differences and 6 fma; in layers 1 for
    2c, 4 for two second differences, 2 differences and 4 fma.
    """
    if materials == 1:
        return 13
    return 15 if layers else 18


def bytes_per_cell(precision: str, materials: int) -> int:
    """Bytes that must move for a cell and step; times cells a second this is T_eff. Where materials lie in layers,
    cells need no byte that names theirs: as many bytes as in one."""
    return 2 * np.dtype(precision).itemsize + (materials > 1)


def asked_intensity(kernel: str, precision: str, materials: int, layers: int = 0) -> float | None:
    """Operations over the bytes that a CUDA kernel asks global memory to read, OP/B; None where not worked out.

    With the first of the kernel's tiles, which is what a sweep takes unless told.
    """
    if kernel not in ONE_STEP_KERNELS:
        return None
    itemsize, module = np.dtype(precision).itemsize, load_kernel(kernel)
    reads = module.field_reads(module.TILES[0], itemsize)
    kind = 1 if materials > 1 else 0  # a byte of the cell; those of its neighbours are not asked for
    return operations_per_cell(materials, layers) / (reads * itemsize + kind)


# Tiles of the CUDA kernels, timed side by side; the fastest is kept for later runs on this kind of GPU.


TUNING_ROUNDS = 3


def tune_tiles(setting: Setting, kernels: tuple[str, ...], seconds: float, tell: Tell) -> None:
    """Time all tiles of each kernel that takes single steps, and remember the fastest of each."""
    from heatsim_kernels.runtime.cuda.api import device_name
    from heatsim_kernels.stencil.cuda import tile_tuning
    from heatsim_kernels.stencil.cuda.configuration import StencilConfiguration

    problem = problems.timed_stencil(setting.shape, setting.materials, setting.layers)
    dtype = np.dtype(setting.precision)
    structure = StencilConfiguration.of(problem.coefficients, problem.forcing, dtype)
    for kernel in kernels:
        if kernel not in ONE_STEP_KERNELS:
            continue
        movement = import_module(f"heatsim_kernels.stencil.ladder.{kernel}")
        tiles = {str(tuple(tile)): tile for tile in movement.TILES}
        subjects = [
            Subject(name, partial(_prepare_tile, movement, tile, problem, dtype)) for name, tile in tiles.items()
        ]
        timings = time_interleaved(subjects, clock_of("cuda"), seconds, BATCH, TUNING_ROUNDS)
        name = min(timings, key=lambda each: timings[each].median)
        tile_tuning.save_tile(movement, structure, device_name(), tiles[name])
        rate = np.prod(setting.shape) / timings[name].median / 1e9
        tell(f"{kernel}, {setting.precision}, {setting.materials} materials: tile {name}, {rate:.1f} G cells/s")


def _prepare_tile(movement: ModuleType, tile: Any, problem: TimedStencil, dtype: np.dtype) -> Work:
    from heatsim_kernels.stencil.cuda.linear_pass import LinearCudaPass
    from heatsim_kernels.stencil.cuda.stepper import CudaStepper

    coefficients = problem.coefficients
    sweep = CudaStepper(coefficients, dtype, LinearCudaPass(coefficients, dtype, movement, tile))
    sweep.field.put(problem.field())
    return lambda steps: sweep.advance(STEP, steps, problem.forcing)
