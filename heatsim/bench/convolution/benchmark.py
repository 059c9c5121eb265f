"""`heatsim bench convolution`, in order: verify, start the peers, time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from heatsim.bench import device_limits, machine
from heatsim.bench.convolution import agreement, kernels_under_test, rates
from heatsim.bench.convolution.options import ConvolutionOptions, in_words
from heatsim.bench.convolution.peers import PeerProcess, start_peers
from heatsim.bench.convolution.problems import ConvolutionProblem, cases, data, timed
from heatsim.bench.convolution.rates import Row
from heatsim.bench.interleaved_timing import ROUNDS, Tell
from heatsim.bench.subprocesses import run_on_all_cores

NAME = "heatsim bench convolution"
FIELDS_HELD = 6  # of the size timed: source, result and one between; two that are copied; one of a peer at least

Failed = dict[tuple[str, str, str], str]  # family, kernel, precision: what is wrong


def benchmark(options: ConvolutionOptions, tell: Tell) -> dict[str, Any]:
    """Do what was asked for, and return all that was found, fit for JSON.

    A kernel that fails the verification is not timed. Raises `HeatsimError` if a field does not fit the device, before
    anything is allocated there.
    """
    for size in options.sizes:
        for precision in options.precisions:
            needed = FIELDS_HELD * prod(size) * np.dtype(precision).itemsize
            machine.require_memory(options.device, needed, f"--size {in_words(size, ',')} in {precision}")
    described = machine.describe_machine(options.device)  # before the load is our own
    if options.device == "cuda":
        compile_ahead(options, tell)
    verdicts = agreement.verify_kernels(options.device, options.families, options.precisions, options.kernels, tell)
    failed = {(each.family, each.kernel, each.precision): each.flaw for each in verdicts if each.flaw}
    threads = int(described["threads"])
    known = {
        precision: device_limits.peak_operations_per_second(options.device, precision, threads)
        for precision in options.precisions
    }
    with start_peers(options.device, options.peers_python, threads, options.peers) as (peers, missing):
        rows = [
            row
            for precision in options.precisions
            for size in options.sizes
            for problem in timed(options.families, size, precision, options.masks, options.device)
            for row in _time(options, problem, peers, failed, known[precision][0], tell)
        ]
    return {
        "benchmark": NAME,
        "command": options.command(),
        "machine": described,
        "rounds": ROUNDS,
        "verification": [verdict._asdict() for verdict in verdicts],
        "operations_a_second": {precision: limit for precision, (limit, _) in known.items()},
        "notes": [words for _, words in known.values()] + missing,
        "rows": rows,
    }


def _time(
    options: ConvolutionOptions,
    problem: ConvolutionProblem,
    peers: list[PeerProcess],
    failed: Failed,
    limit: float | None,
    tell: Tell,
) -> list[Row]:
    """Rows of one problem."""
    tell(f"timing {problem} on {' x '.join(map(str, problem.shape))} in {problem.precision}")
    wanted = [
        name for name in kernels_under_test.kernel_names(options.device, problem.family) if name in options.kernels
    ]
    fit = [name for name in wanted if (problem.family, name, problem.precision) not in failed]
    fit = [name for name in fit if kernels_under_test.accepts(name, options.device, problem)]
    rows = rates.time_problem(options.device, problem, fit, peers, options.seconds, limit)
    wrong = {name: failed.get((problem.family, name, problem.precision)) for name in wanted}
    return rows + [rates.failure(problem, name, flaw) for name, flaw in wrong.items() if flaw]


# The kernels that the verification and the timing need, compiled ahead: more than a hundred variants, some for each
# mask. One process compiles those of one kernel.


COMPILE_SIDE = 64  # cells a side of fields that stand for those timed: a kernel compiles alike for every size


def compile_ahead(options: ConvolutionOptions, tell: Tell) -> None:
    """Compile what the request will need of a GPU's kernels."""
    jobs = [
        partial(compile_kernel, kernel, family, options.precisions, options.masks)
        for family in options.families
        for kernel in kernels_under_test.kernel_names(options.device, family)
        if kernel in options.kernels
    ]
    tell(f"compiling {len(jobs)} kernels in all their variants, where they are not on the disk")
    run_on_all_cores(jobs)


def compile_kernel(kernel: str, family: str, precisions: tuple[str, ...], masks: tuple[tuple[int, int], ...]) -> int:
    """Ready one kernel for one field of each variant; returns how many."""
    from heatsim.bench.convolution import cuda_launches

    count = 0
    for precision in precisions:
        verified = _one_a_variant(cases(family, precision))
        for problem in (each for each in verified if kernels_under_test.accepts(kernel, "cuda", each)):
            kernels_under_test.solve(kernel, "cuda", problem, *data(problem))
            count += 1
        sizes = timed((family,), (COMPILE_SIDE, COMPILE_SIDE), precision, masks, "cuda")
        for problem in (each for each in sizes if kernels_under_test.accepts(kernel, "cuda", each)):
            field, weights = data(problem)
            cuda_launches.prepare_launches(kernel, problem, cuda_launches.put_on_gpu(problem, field), weights)
            count += 1
    return count


def _one_a_variant(problems: Iterable[ConvolutionProblem]) -> list[ConvolutionProblem]:
    """Fewer problems, but one for every variant of a kernel: by mask, edge, filters, and down or along the rows."""
    variants = {(p.mask, p.edge, p.axis % len(p.shape) == len(p.shape) - 1, p.filters, p.stride): p for p in problems}
    return list(variants.values())
