"""`heatsim bench stencil`, in order: compile, verify, time, and what else was asked for."""

from __future__ import annotations

from itertools import product
from typing import Any

from heatsim.bench import machine
from heatsim.bench.measure import ROUNDS, Tell
from heatsim.bench.stencil import contenders, extras, problems, tiles, timing, verify
from heatsim.bench.stencil.ahead import compile_ahead
from heatsim.bench.stencil.options import Options, in_words, materials_in_words
from heatsim.bench.stencil.timing import Row, Setting

NAME = "heatsim bench stencil"


def benchmark(options: Options, tell: Tell) -> dict[str, Any]:
    """Do what was asked for, and return all that was found, fit for JSON.

    A kernel that fails the verification is not timed. Raises `HeatsimError` if a grid does not fit the device, before
    anything is allocated there.
    """
    settings = [Setting(*each) for each in product(options.sizes, options.precisions, options.materials)]
    for setting in settings:
        needed = problems.bytes_needed(*setting)
        machine.require_memory(options.device, needed, f"--size {in_words(setting.shape)} in {setting.precision}")
    described = machine.describe(options.device)  # before the load is our own
    chosen = contenders.contenders(options.kernels)
    cases = problems.all_cases(options.materials)
    if options.device == "cuda":
        compile_ahead(options, chosen, cases, tell)
    verdicts = verify.verify(chosen, options.precisions, cases, tell)
    failed = {(verdict.kernel, verdict.precision): verdict.flaw for verdict in verdicts if verdict.flaw}
    if options.tune:
        for setting in settings:
            tiles.tune(setting, options.kernels, options.seconds, tell)
    rows: list[Row] = []
    for setting in settings:
        fit = [each for each in chosen if (each.name, setting.precision) not in failed]
        tell(f"timing {in_words(setting.shape)} in {setting.precision}, {materials_in_words(setting.materials)}")
        rows += timing.time(options.device, setting, fit, options.seconds)
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


def _extras(options: Options, rows: list[Row], tell: Tell) -> list[str]:
    notes = extras.add_compile_times(options.device, rows, tell) if options.compile else []
    return notes + (extras.add_counters(options.device, rows, tell) if options.counters else [])


def _failed(setting: Setting, kernel: str) -> Row:
    nz, ny, nx = setting.shape
    return {
        "cells": [nx, ny, nz],
        "precision": setting.precision,
        "materials": setting.materials,
        "kernel": kernel,
        "failed": True,
    }
