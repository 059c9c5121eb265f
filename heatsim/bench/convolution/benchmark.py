"""`heatsim bench convolution`, in order: verify, start the peers, time."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from heatsim.bench import machine
from heatsim.bench.convolution import limits, ours, timing, verify
from heatsim.bench.convolution.ahead import compile_ahead
from heatsim.bench.convolution.options import Options, in_words
from heatsim.bench.convolution.peers import Peer, started
from heatsim.bench.convolution.problems import Problem, timed
from heatsim.bench.convolution.timing import Row
from heatsim.bench.measure import ROUNDS, Tell

NAME = "heatsim bench convolution"
FIELDS_HELD = 6  # of the size timed: source, result and one between; two that are copied; one of a peer at least

Failed = dict[tuple[str, str, str], str]  # family, kernel, precision: what is wrong


def benchmark(options: Options, tell: Tell) -> dict[str, Any]:
    """Do what was asked for, and return all that was found, fit for JSON.

    A kernel that fails the verification is not timed. Raises `HeatsimError` if a field does not fit the device, before
    anything is allocated there.
    """
    for size in options.sizes:
        for precision in options.precisions:
            needed = FIELDS_HELD * prod(size) * np.dtype(precision).itemsize
            machine.require_memory(options.device, needed, f"--size {in_words(size, ',')} in {precision}")
    described = machine.describe(options.device)  # before the load is our own
    if options.device == "cuda":
        compile_ahead(options, tell)
    verdicts = verify.verify(options.device, options.families, options.precisions, options.kernels, tell)
    failed = {(each.family, each.kernel, each.precision): each.flaw for each in verdicts if each.flaw}
    threads = int(described["threads"])
    known = {
        precision: limits.operations_a_second(options.device, precision, threads) for precision in options.precisions
    }
    with started(options.device, options.peers_python, threads, options.peers) as (peers, missing):
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
    options: Options, problem: Problem, peers: list[Peer], failed: Failed, limit: float | None, tell: Tell
) -> list[Row]:
    """Rows of one problem."""
    tell(f"timing {problem} on {' x '.join(map(str, problem.shape))} in {problem.precision}")
    wanted = [name for name in ours.kernels(options.device, problem.family) if name in options.kernels]
    fit = [name for name in wanted if (problem.family, name, problem.precision) not in failed]
    fit = [name for name in fit if ours.takes(name, options.device, problem)]
    rows = timing.time(options.device, problem, fit, peers, options.seconds, limit)
    wrong = {name: failed.get((problem.family, name, problem.precision)) for name in wanted}
    return rows + [timing.failure(problem, name, flaw) for name, flaw in wrong.items() if flaw]
