"""Rates of heatsim's kernels and of their peers on one problem, side by side with the copy limit."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from heatsim.bench import copying
from heatsim.bench.convolution import ours, theory
from heatsim.bench.convolution.peers import Peer, PeerError
from heatsim.bench.convolution.problems import Problem, data
from heatsim.bench.measure import Subject, Timing, Work, clock_of, interleaved

PATIENCE = 20.0  # times the seconds asked for: what is so slow is timed in fewer rounds

Row = dict[str, Any]


class Ready(NamedTuple):
    """A kernel that holds the problem ready, and what it takes of a GPU."""

    work: Work
    resources: Row


def time(
    device: str, problem: Problem, kernels: list[str], peers: list[Peer], seconds: float, limit: float | None
) -> list[Row]:
    """Rows of the copies, of the kernels and of the peers that have solved the problem right; FAILED for others."""
    right, failed = _verified(peers, problem)
    field, weights = data(problem)
    ready = _ready(device, problem, kernels, field, weights)
    subjects = copying.subjects(device, problem.bytes // (2 * field.itemsize), field.dtype)
    subjects += [Subject(name, partial(_same, each.work)) for name, each in ready.items()]
    subjects += [Subject(peer.name, peer.work) for peer in right]
    timings = interleaved(subjects, clock_of(device), seconds, 1, patience=PATIENCE * seconds)
    copied = max(problem.bytes / each.median for name, each in timings.items() if copying.is_copy(name))
    best = min((timings[name].median for name in ready), default=None)
    rows = []
    for name, timing in timings.items():
        row = _row(problem, name, timing, copied, limit)
        if best is not None and not copying.is_copy(name):
            row["times_best"] = timing.median / best
        if name in ready:
            row |= theory.row(name, device, problem) | ready[name].resources
        rows.append(row)
    return rows + failed


def _verified(peers: list[Peer], problem: Problem) -> tuple[list[Peer], list[Row]]:
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


def failure(problem: Problem, name: str, flaw: str) -> Row:
    """The row of what is not timed."""
    return _head(problem, name) | {"failed": flaw}


def _ready(
    device: str, problem: Problem, kernels: list[str], field: np.ndarray, weights: np.ndarray
) -> dict[str, Ready]:
    if device == "cpu":
        return {name: Ready(ours.on_cpu(name, problem, field, weights), {}) for name in kernels}
    from heatsim.bench.convolution import ours_on_cuda

    source = ours_on_cuda.on_gpu(problem, field)
    made = {name: ours_on_cuda.ready(name, problem, source, weights) for name in kernels}
    return {name: Ready(each.work, each.resources()) for name, each in made.items()}


def _same(work: Work) -> Work:
    return work


def _head(problem: Problem, name: str) -> Row:
    return {
        "problem": str(problem),
        "family": problem.family,
        "shape": list(problem.shape),
        "precision": problem.precision,
        "kernel": name,
    }


def _row(problem: Problem, name: str, timing: Timing, copied: float, limit: float | None) -> Row:
    results, rate = prod(problem.output), 1 / timing.median
    row = _head(problem, name) | {
        "seconds": list(timing.seconds),
        "repetitions": timing.repetitions,
        "median_seconds": timing.median,
        "bytes_per_second": problem.bytes * rate,
        "of_copy": problem.bytes * rate / copied,
    }
    if copying.is_copy(name):
        return row
    found = {
        "results_per_second": results * rate,
        "results_per_second_best": results / timing.best,
        "roof": theory.roof(problem, copied, limit),
    }
    arithmetic = problem.operations * results
    if arithmetic:
        found["operations_per_second"] = arithmetic * rate
        if limit is not None:
            found["of_fma_limit"] = arithmetic * rate / limit
    return row | found
