"""What theory counts for convolution kernels, by `heatsim_kernels.field.convolution.theory`.

The elements that a kernel's threads ask global memory for, before caches, for one result, with the tile that it uses;
the accesses that this saves against `basic` (banks: `direct`); and operations over the bytes asked for.
"""

from __future__ import annotations

from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import numpy as np

from heatsim.studies.bench.convolution.problems import BANKS, LINES, PLANES, SEPARABLE, ConvolutionProblem


class ReadsPerResult(NamedTuple):
    """Elements asked of global memory for a result: of the input, and weights."""

    elements: float
    weights: float = 0.0


def theory_row(kernel: str, device: str, problem: ConvolutionProblem) -> dict[str, float]:
    """Numbers for a row of the table; the bytes that must move say the most that any kernel could reach."""
    operations = problem.operations
    if not operations:
        return {}
    results = prod(problem.output)
    found: dict[str, float] = {"intensity_least": operations * results / problem.bytes}
    asked = _asked(kernel, problem) if device == "cuda" else None
    if asked is not None:
        itemsize = np.dtype(problem.precision).itemsize
        found["accesses_saved"] = operations / 2 / asked.elements
        found["intensity_asked"] = operations / (itemsize * (asked.elements + asked.weights))
    return found


def _asked(kernel: str, problem: ConvolutionProblem) -> ReadsPerResult:
    if problem.family == BANKS:
        return _of_bank(kernel, problem)
    if problem.family == PLANES:
        height, width = problem.mask
        return _of_planes(kernel, height, width)
    parts = [_of_line(kernel, problem.mask[0], problem.axis == 0)] if problem.family == LINES else []
    if problem.family == SEPARABLE:
        parts = [_of_line(kernel, problem.mask[0], down) for down in (True, False)]
    return ReadsPerResult(sum(each.elements for each in parts), sum(each.weights for each in parts))


def _of_planes(kernel: str, height: int, width: int) -> ReadsPerResult:
    from heatsim_kernels.field.convolution import theory

    mask, module = (height, width), _module(kernel, "plane")
    if kernel in ("basic", "constant"):
        return ReadsPerResult(prod(mask), prod(mask) if kernel == "basic" else 0)
    if kernel == "register":
        return ReadsPerResult(theory.march_reads(module.rows_of_thread(*mask), module.CELLS, mask))
    if kernel == "tiled":
        return ReadsPerResult(theory.tile_reads((module.TILE + 1 - height, module.TILE + 1 - width), mask))
    columns, rows = module.BLOCK
    reads = theory.cached_reads if kernel == "cached" else theory.tile_reads
    return ReadsPerResult(reads((rows, columns), mask))


def _of_line(kernel: str, width: int, down: bool) -> ReadsPerResult:
    from heatsim_kernels.field.convolution import theory
    from heatsim_kernels.field.convolution.cuda.field_access import ConvolutionVariant, line_threads

    if kernel == "register":
        return _of_planes(kernel, *((width, 1) if down else (1, width)))
    if kernel in ("basic", "constant"):
        return ReadsPerResult(width, width if kernel == "basic" else 0)
    block = line_threads(ConvolutionVariant("float32", 0, 1, width, down=down))[down]
    reads = theory.cached_reads if kernel == "cached" else theory.tile_reads
    return ReadsPerResult(reads((1, block), (1, width)))


def _of_bank(kernel: str, problem: ConvolutionProblem) -> ReadsPerResult:
    """A block stages its input tile once a channel for all its results; weights are staged, or read by each thread."""
    from heatsim_kernels.field.filter_bank.cuda.block import BankConfiguration
    from heatsim_kernels.field.filter_bank.geometry import geometry

    depth = problem.operations / 2
    if kernel == "direct":
        return ReadsPerResult(depth, depth)
    shape = geometry(problem.shape, (problem.filters, *problem.shape[1:2], *problem.mask), 1, problem.padding, None)
    structure = BankConfiguration.of(shape, problem.precision, False)
    block: Any = _module(kernel, "bank").block(structure)
    pixels = block.rows * block.columns
    if kernel == "im2col":  # every tap of every pixel is gathered, every weight fetched, once a block
        return ReadsPerResult(depth / block.filters, depth / pixels)
    staged = shape.channels * prod(block.input_tile(structure)) / (pixels * block.filters)
    results_a_thread = block.filters * pixels / prod(block.threads)
    return ReadsPerResult(staged, depth / (pixels if kernel == "register" else results_a_thread))


def _module(kernel: str, family: str) -> Any:
    """The module of a CUDA kernel."""
    room = "filter_bank" if family == "bank" else "convolution"
    if kernel == "register":
        return import_module(f"heatsim_kernels.field.{room}.cuda.register")
    return import_module(f"heatsim_kernels.field.{room}.ladder.{kernel}")
