"""`heatsim bench stencil`, in order: compile, verify, time, and what else was asked for."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
from heatsim_kernels.stencil.terms import Forcing, StencilCoefficients

from heatsim.bench import machine
from heatsim.bench.interleaved_timing import ROUNDS, Tell
from heatsim.bench.stencil import agreement, compile_and_counters, kernels_under_test, problems, rates
from heatsim.bench.stencil.kernels_under_test import KernelUnderTest
from heatsim.bench.stencil.options import StencilOptions, in_words, materials_in_words
from heatsim.bench.stencil.problems import STEP, StencilCase
from heatsim.bench.stencil.rates import Row, Setting
from heatsim.bench.subprocesses import run_on_all_cores

NAME = "heatsim bench stencil"


def benchmark(options: StencilOptions, tell: Tell) -> dict[str, Any]:
    """Do what was asked for, and return all that was found, fit for JSON.

    A kernel that fails the verification is not timed. Raises `HeatsimError` if a grid does not fit the device, before
    anything is allocated there.
    """
    settings = [Setting(*each) for each in product(options.sizes, options.precisions, options.materials)]
    for setting in settings:
        needed = problems.bytes_needed(*setting)
        machine.require_memory(options.device, needed, f"--size {in_words(setting.shape)} in {setting.precision}")
    described = machine.describe_machine(options.device)  # before the load is our own
    chosen = kernels_under_test.select_kernels(options.kernels)
    cases = problems.all_cases(options.materials)
    if options.device == "cuda":
        compile_ahead(options, chosen, cases, tell)
    verdicts = agreement.verify_kernels(chosen, options.precisions, cases, tell)
    failed = {(verdict.kernel, verdict.precision): verdict.flaw for verdict in verdicts if verdict.flaw}
    if options.tune:
        for setting in settings:
            rates.tune_tiles(setting, options.kernels, options.seconds, tell)
    rows: list[Row] = []
    for setting in settings:
        fit = [each for each in chosen if (each.name, setting.precision) not in failed]
        tell(f"timing {in_words(setting.shape)} in {setting.precision}, {materials_in_words(setting.materials)}")
        rows += rates.time_kernels(options.device, setting, fit, options.seconds)
        rows += [_failed(setting, each.name) for each in chosen if each not in fit]
    return {
        "benchmark": NAME,
        "command": options.command(),
        "machine": described,
        "rounds": ROUNDS,
        "verification": [verdict._asdict() for verdict in verdicts],
        "notes": _extras(options, [row for row in rows if "operations_a_cell" in row], tell),
        "rows": rows,
    }


def _extras(options: StencilOptions, rows: list[Row], tell: Tell) -> list[str]:
    notes = compile_and_counters.add_compile_times(options.device, rows, tell) if options.compile else []
    return notes + (compile_and_counters.add_counters(options.device, rows, tell) if options.counters else [])


def _failed(setting: Setting, kernel: str) -> Row:
    nz, ny, nx = setting.shape
    return {
        "cells": [nx, ny, nz],
        "precision": setting.precision,
        "materials": setting.materials,
        "kernel": kernel,
        "failed": True,
    }


# The kernels that the verification and the timing need, compiled ahead.


MAX_COMPILE_SIDE = 256  # cells a side of fields that stand for larger ones: they take the same tiles


def compile_ahead(options: StencilOptions, chosen: list[KernelUnderTest], cases: list[StencilCase], tell: Tell) -> None:
    """Compile what these kernels need for the cases of the verification and for what is timed."""
    tell("compiling the kernels in all their variants, where they are not on the disk")
    shapes = {tuple(min(n, MAX_COMPILE_SIDE) for n in shape) for shape in options.sizes}
    timed = [problems.timed_stencil((nz, ny, nx), count) for nz, ny, nx in shapes for count in options.materials]
    needed = [(each.terms, each.drive) for each in timed] + [(each.terms, each.drive) for each in cases]
    run_on_all_cores(
        [
            partial(compile_kernel, each.name, precision, terms, drive)
            for terms, drive in needed
            for precision in options.precisions
            for each in chosen
        ]
    )


def compile_kernel(contender: str, precision: str, terms: StencilCoefficients, drive: Forcing) -> None:
    """Make a kernel ready for a problem, by a batch of no steps."""
    sweep: Any = kernels_under_test.find_kernel(contender).build(terms, np.dtype(precision))
    sweep.advance(STEP, 0, drive)
