"""Rates of heatsim's kernels and of their peers on one problem, side by side with the copy limit."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import numpy as np

from heatsim.bench import device_limits
from heatsim.bench.convolution import kernels_under_test
from heatsim.bench.convolution.peers import PeerError, PeerProcess
from heatsim.bench.convolution.problems import BANKS, LINES, PLANES, SEPARABLE, ConvolutionProblem, data
from heatsim.bench.interleaved_timing import Subject, Timing, Work
from heatsim.tables import Row

PATIENCE = 20.0  # times the seconds asked for: what is so slow is timed in fewer rounds


class PreparedKernel(NamedTuple):
    """A kernel that holds the problem ready, and what it takes of a GPU."""

    work: Work
    resources: Row


def time_problem(
    device: str,
    problem: ConvolutionProblem,
    kernels: list[str],
    peers: list[PeerProcess],
    seconds: float,
    limit: float | None,
) -> list[Row]:
    """Rows of the copies, of the kernels and of the peers that have solved the problem right; FAILED for others."""
    right, failed = _verified(peers, problem)
    field, weights = data(problem)
    ready = _ready(device, problem, kernels, field, weights)
    subjects = [Subject(name, partial(_same, each.work)) for name, each in ready.items()]
    subjects += [Subject(peer.name, peer.work) for peer in right]
    timings, copy = device_limits.time_beside_copies(
        device, field.dtype, problem.bytes, subjects, seconds, 1, PATIENCE * seconds
    )
    best = min((timings[name] for name in ready), key=lambda timing: timing.median, default=None)
    rows = []
    for name, timing in timings.items():
        row = _row(problem, name, timing, copy, limit)
        if best is not None and not device_limits.is_copy(name):
            row["times_best"] = timing.median / best.median
            row["doubt"] = row["doubt"] or best.doubt
        if name in ready:
            row |= theory_row(name, device, problem) | ready[name].resources
        rows.append(row)
    return rows + failed


def _verified(peers: list[PeerProcess], problem: ConvolutionProblem) -> tuple[list[PeerProcess], list[Row]]:
    right, failed = [], []
    for peer in peers:
        try:
            flaw = peer.verify(problem)
        except PeerError as error:
            flaw = str(error)
        if flaw == "":
            right.append(peer)
        elif flaw is not None:
            failed.append(failure(problem, peer.name, flaw))
    return right, failed


def failure(problem: ConvolutionProblem, name: str, flaw: str) -> Row:
    """The row of what is not timed."""
    return _head(problem, name) | {"failed": flaw}


def _ready(
    device: str, problem: ConvolutionProblem, kernels: list[str], field: np.ndarray, weights: np.ndarray
) -> dict[str, PreparedKernel]:
    if device == "cpu":
        return {
            name: PreparedKernel(kernels_under_test.prepare_on_cpu(name, problem, field, weights), {})
            for name in kernels
        }
    from heatsim.bench.convolution import cuda_launches

    source = cuda_launches.put_on_gpu(problem, field)
    made = {name: cuda_launches.prepare_launches(name, problem, source, weights) for name in kernels}
    return {name: PreparedKernel(each.work, each.resources()) for name, each in made.items()}


def _same(work: Work) -> Work:
    return work


def _head(problem: ConvolutionProblem, name: str) -> Row:
    return {
        "problem": str(problem),
        "family": problem.family,
        "shape": list(problem.shape),
        "precision": problem.precision,
        "kernel": name,
    }


def _row(problem: ConvolutionProblem, name: str, timing: Timing, copy: Timing, limit: float | None) -> Row:
    results, rate, copied = prod(problem.output), 1 / timing.median, problem.bytes / copy.median
    row = _head(problem, name) | {
        "seconds": list(timing.seconds),
        "repetitions": timing.repetitions,
        "median_seconds": timing.median,
        "bytes_per_second": problem.bytes * rate,
        "of_copy": problem.bytes * rate / copied,
        "doubt": timing.doubt or copy.doubt,
    }
    if device_limits.is_copy(name):
        return row
    found = {
        "results_per_second": results * rate,
        "results_per_second_best": results / timing.best,
        "roof": roof_share_of_copy(problem, copied, limit),
    }
    arithmetic = problem.operations * results
    if arithmetic:
        found["operations_per_second"] = arithmetic * rate
        if limit is not None:
            found["of_fma_limit"] = arithmetic * rate / limit
    return row | found


# What theory counts for the kernels of this device's table: see `heatsim_kernels.convolution.theory`.
#
# The elements that a kernel's threads ask global memory for, before caches, for one result, with the tile that it uses;
# the accesses that this saves against `basic` (banks: `direct`); and operations over the bytes asked for.


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


def roof_share_of_copy(problem: ConvolutionProblem, copy_rate: float, limit: float | None) -> float:
    """The most of the copy limit that a kernel can reach, since its multiply-adds take time as well."""
    arithmetic = problem.operations * prod(problem.output)
    if limit is None or not arithmetic:
        return 1.0
    return min(1.0, (problem.bytes / copy_rate) / (arithmetic / limit))


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
    from heatsim_kernels.convolution import theory

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
    from heatsim_kernels.convolution import theory
    from heatsim_kernels.convolution.cuda.field_access import ConvolutionVariant, line_threads

    if kernel == "register":
        return _of_planes(kernel, *((width, 1) if down else (1, width)))
    if kernel in ("basic", "constant"):
        return ReadsPerResult(width, width if kernel == "basic" else 0)
    block = line_threads(ConvolutionVariant("float32", 0, 1, width, down=down))[down]
    reads = theory.cached_reads if kernel == "cached" else theory.tile_reads
    return ReadsPerResult(reads((1, block), (1, width)))


def _of_bank(kernel: str, problem: ConvolutionProblem) -> ReadsPerResult:
    """A block stages its input tile once a channel for all its results; weights are staged, or read by each thread."""
    from heatsim_kernels.filter_bank.cuda.block import BankConfiguration
    from heatsim_kernels.filter_bank.geometry import geometry

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
        return import_module(f"heatsim_kernels.{room}.cuda.register")
    return import_module(f"heatsim_kernels.{room}.ladder.{kernel}")
