"""`heatsim bench convolution`: verify and time the smoothing, filter bank and pooling kernels, and their peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import Any

import numpy as np

from heatsim.bench import device_limits, machine
from heatsim.bench.convolution import kernels_under_test, rates
from heatsim.bench.convolution.options import ConvolutionOptions, check_options, in_words
from heatsim.bench.convolution.peers import PeerProcess, start_peers
from heatsim.bench.convolution.problems import ConvolutionProblem, timed
from heatsim.bench.harness import BenchmarkDocument, BenchmarkSuite, MemoryNeed, ReportLayout, blocks_and_occupancy
from heatsim.bench.interleaved_timing import ROUNDS
from heatsim.tables import Row, TableColumn, Tell, digits, number_columns, ratio_columns

FIELDS_HELD = 6  # of the size timed: source, result and one between; two that are copied; one of a peer at least

Failed = dict[tuple[str, str, str], str]  # family, kernel, precision: what is wrong


def memory_needs(options: ConvolutionOptions) -> Iterator[MemoryNeed]:
    """What must fit on the device."""
    for size in options.sizes:
        for precision in options.common.precisions:
            needed = FIELDS_HELD * prod(size) * np.dtype(precision).itemsize
            yield MemoryNeed(needed, f"--size {in_words(size, ',')} in {precision}")


def compile_jobs(options: ConvolutionOptions) -> list[Callable[[], object]]:
    """Compile what the request will need of a GPU's kernels."""
    common = options.common
    return [
        partial(kernels_under_test.compile_kernel, kernel, family, common.precisions, options.masks)
        for family in options.families
        for kernel in kernels_under_test.kernel_names(common.device, family)
        if kernel in options.kernels
    ]


def measure(options: ConvolutionOptions, tell: Tell) -> BenchmarkDocument:
    """Verify the kernels, start the peers, then time all; a kernel that fails the verification is not timed."""
    device, precisions = options.common.device, options.common.precisions
    verdicts = kernels_under_test.verify_kernels(device, options.families, precisions, options.kernels, tell)
    failed = {(each.family, each.kernel, each.precision): each.flaw for each in verdicts if each.flaw}
    threads = machine.cpu_threads()
    known = {each: device_limits.peak_operations_per_second(device, each, threads) for each in precisions}
    with start_peers(device, options.peers_python, threads, options.peers) as (peers, missing):
        rows = [
            row
            for precision in precisions
            for size in options.sizes
            for problem in timed(options.families, size, precision, options.masks, device)
            for row in _time(options, problem, peers, failed, known[precision][0], tell)
        ]
    return {
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
        name
        for name in kernels_under_test.kernel_names(options.common.device, problem.family)
        if name in options.kernels
    ]
    fit = [name for name in wanted if (problem.family, name, problem.precision) not in failed]
    fit = [name for name in fit if kernels_under_test.accepts(name, options.common.device, problem)]
    rows = rates.time_problem(options.common.device, problem, fit, peers, options.seconds, limit)
    wrong = {name: failed.get((problem.family, name, problem.precision)) for name in wanted}
    return rows + [rates.failure(problem, name, flaw) for name, flaw in wrong.items() if flaw]


# The table.


def _problem(row: Row) -> str:
    return f"{row['problem']} on {' x '.join(map(str, row['shape'][-2:]))}"


def _rate(row: Row) -> str:
    return "FAILED" if "failed" in row else digits("results_per_second", 1e9)(row)


COLUMNS = (
    TableColumn("problem", _problem),
    TableColumn("precision", lambda row: str(row["precision"])),
    TableColumn("kernel", lambda row: str(row["kernel"])),
    TableColumn("ms", digits("median_seconds", 1e-3)),
    TableColumn("G results/s", _rate),
    TableColumn("best", digits("results_per_second_best", 1e9)),
    TableColumn("GB/s", digits("bytes_per_second", 1e9)),
    *ratio_columns({"of copy": "of_copy", "roof": "roof"}),
    TableColumn("GFLOP/s", digits("operations_per_second", 1e9)),
    *ratio_columns({"of FMA": "of_fma_limit", "time / best": "times_best"}),
    *number_columns(".1f", {"saved": "accesses_saved"}),
    *number_columns(".2f", {"OP/B asked": "intensity_asked", "least": "intensity_least"}),
    *number_columns(".0f", {"registers": "registers", "spilled B": "spilled_bytes"}),
    TableColumn("blocks/SM", blocks_and_occupancy),
)


def flaws(document: dict[str, Any]) -> list[str]:
    """What the verification found, a line for each kernel and peer that failed."""
    found = [
        f"{each['kernel']} ({each['family']}) in {each['precision']} FAILED the verification: {each['flaw']}"
        for each in document["verification"]
        if each["flaw"]
    ]
    told = {(each["family"], each["kernel"], each["precision"]) for each in document["verification"]}
    for row in document["rows"]:
        if "failed" in row and (row["family"], row["kernel"], row["precision"]) not in told:
            found.append(f"{row['kernel']}, {row['problem']} in {row['precision']} FAILED: {row['failed']}")
    return found


def _verified(document: dict[str, Any]) -> str:
    cases = sum(verdict["cases"] for verdict in document["verification"])
    return f"Before they were timed, the kernels gave the right results on {cases} problems."


LAYOUT = ReportLayout(COLUMNS, lambda row: (row["problem"], row["shape"], row["precision"]), flaws, _verified)
SUITE = BenchmarkSuite(
    check_options,
    measure,
    LAYOUT,
    memory_needs,
    compile_jobs,
    compiling="compiling {count} kernels in all their variants, where they are not on the disk",
)
