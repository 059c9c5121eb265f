"""`heatsim bench convolution`: verify and time the smoothing, filter bank and pooling kernels.

benchmarks/compare_convolution.py adds other programs to the race.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from heatsim.base.tables import Row, TableColumn, Tell, digits, number_columns, ratio_columns
from heatsim.errors import RequestError
from heatsim.studies.bench import harness, machine
from heatsim.studies.bench.convolution import kernels
from heatsim.studies.bench.convolution.problems import FAMILIES, ConvolutionProblem, data, timed
from heatsim.studies.bench.harness import Asked, Contender, Document, Pace, clock_of, holding
from heatsim.studies.bench.machine import copies, is_copy, peak_operations_per_second, repeated

DEFAULT_SIZE = {"cpu": "4096", "cuda": "8192"}
DEFAULT_MASKS = ("3", "5", "7", "9")
MAX_MASK_WIDTH = 31
FIELDS_HELD = 6  # of the size timed: source, result and one between; two that are copied; one of a peer at least
PATIENCE = 20.0  # times the seconds asked for: what is so slow is timed in fewer rounds

RowsColumns = tuple[int, int]  # rows, columns
Peers = Callable[[ConvolutionProblem, Row], list[Contender]]  # other programs, for a problem and what rows say of it


def check(asked: Asked) -> None:
    """Check a request and fill in its defaults. Raises `HeatsimError`."""
    device, known = asked["device"], _all_kernels(asked)
    for name in asked["kernel"]:
        if name not in known:
            there = ", ".join(known)
            raise RequestError(
                f'--kernel {name}: not a kernel of device "{device}" for these problems; there are {there}'
            )
    harness.check_time("--seconds", asked["seconds"])
    asked["size"] = tuple(dict.fromkeys(asked["size"])) or (DEFAULT_SIZE[device],)
    asked["mask"] = tuple(dict.fromkeys(asked["mask"])) or DEFAULT_MASKS
    for text in asked["mask"]:
        parse_mask(text)
    for size in asked["size"]:
        for precision in harness.precisions(asked):
            needed = FIELDS_HELD * prod(parse_size(size, device)) * np.dtype(precision).itemsize
            machine.require_memory(device, needed, f"--size {size} in {precision}")


def parse_size(text: str, device: str) -> RowsColumns:
    """(rows, columns) of "n" or "nx,ny". Raises `RequestError`."""
    rows, columns = harness.parse_numbers("--size", text, "cells an axis, such as 4096 or 8192,4096 (nx,ny)", 2)
    if min(rows, columns) < 2:
        raise RequestError(f"--size {text}: every axis needs two cells at least")
    harness.check_count(device, text, rows * columns)
    return rows, columns


def parse_mask(text: str) -> RowsColumns:
    """(rows, columns) of "m" or "columns x rows", as in 5 or 7x3. Raises `RequestError`."""
    form = "a width, such as 5, or columns and rows, such as 7x3"
    rows, columns = harness.parse_numbers("--mask", text, form, 2, "x")
    if any(width % 2 == 0 or width > MAX_MASK_WIDTH for width in (rows, columns)):
        raise RequestError(f"--mask {text}: masks are odd, to have a middle, and at most {MAX_MASK_WIDTH} wide")
    return rows, columns


def _families(asked: Asked) -> tuple[str, ...]:
    return harness.chosen(asked["problem"], FAMILIES)


def _all_kernels(asked: Asked) -> tuple[str, ...]:
    """The kernels of the device for any of the families, in reading order."""
    found = (name for family in _families(asked) for name in kernels.kernel_names(asked["device"], family))
    return tuple(dict.fromkeys(found))


def measure(asked: Asked, tell: Tell, peers: Peers = lambda problem, about: []) -> Document:
    """Verify the kernels, then time them and other programs; a kernel that fails the verification is not timed."""
    device, precisions, families = asked["device"], harness.precisions(asked), _families(asked)
    wanted = harness.chosen(asked["kernel"], _all_kernels(asked))
    ours = {each: [name for name in kernels.kernel_names(device, each) if name in wanted] for each in families}
    verdicts = kernels.verify_kernels(device, ours, precisions, tell)
    flaws = {(each.family, each.kernel, each.precision): each.flaw for each in verdicts}
    masks, threads, rows = tuple(map(parse_mask, asked["mask"])), machine.cpu_threads(), list[Row]()
    known = {each: peak_operations_per_second(device, each, threads) for each in precisions}
    for precision in precisions:
        for size in (parse_size(text, device) for text in asked["size"]):
            for problem in timed(families, size, precision, masks, device):
                tell(f"timing {problem} on {' x '.join(map(str, problem.shape))} in {problem.precision}")
                names = {name: flaws[problem.family, name, precision] for name in ours[problem.family]}
                found = time_problem(asked, problem, names, peers)
                rows += _rated(found, problem, names, known[precision][0])
    return {
        "verification": [verdict._asdict() for verdict in verdicts],
        "operations_a_second": {precision: limit for precision, (limit, _) in known.items()},
        "notes": [words for _, words in known.values()],
        "rows": rows,
    }


def time_problem(asked: Asked, problem: ConvolutionProblem, flaws: dict[str, str], peers: Peers) -> list[Row]:
    """Rows of the copies, of the kernels that take the problem, and of the peers that have solved it right. flaws: what
    is wrong with each kernel."""
    device, (field, weights) = asked["device"], data(problem)
    about = {"problem": str(problem), "family": problem.family, "shape": problem.shape, "precision": problem.precision}
    ways = copies(device, problem.bytes, field.dtype)
    contenders = [Contender(name, copy, about=about) for name, copy in ways.items()]
    source: Any = field
    if device == "cuda":
        from heatsim.studies.bench.convolution import cuda_launches

        source = cuda_launches.put_on_gpu(problem, field)
    for name in (each for each in flaws if kernels.accepts(each, device, problem)):
        if flaws[name]:
            contenders.append(Contender(name, holding(repeated(int)), partial(str, flaws[name]), about))
        elif device == "cuda":
            ready = cuda_launches.prepare_launches(name, problem, source, weights)
            contenders.append(Contender(name, holding(ready.work), about=about, after=ready.resources))
        else:
            work = kernels.prepare_on_cpu(name, problem, field, weights)
            contenders.append(Contender(name, holding(work), about=about))
    contenders += peers(problem, about)
    pace = Pace(asked["seconds"], patience=PATIENCE * asked["seconds"])
    return harness.race(contenders, is_copy, pace, clock_of(device))


def _rated(rows: list[Row], problem: ConvolutionProblem, ours: dict[str, str], limit: float | None) -> list[Row]:
    """The rows of a problem with rates, and shares of the limits, and over heatsim's fastest kernel."""
    timed_rows = [row for row in rows if "median" in row]
    mine = [row for row in timed_rows if row["name"] in ours]
    best = min(mine, key=lambda row: row["median"], default=None)
    results, arithmetic = prod(problem.output), problem.operations * prod(problem.output)
    for row in timed_rows:
        rate = 1.0 / row["median"]
        row |= {"bytes_per_second": problem.bytes * rate, "of_copy": 1.0 / row["times"]}
        if is_copy(row["name"]):
            continue
        row |= {"results_per_second": results * rate, "results_per_second_best": results / row["best"]}
        row["roof"] = roof_share_of_copy(problem, problem.bytes * rate * row["times"], limit)
        if best is not None:
            row |= {"times_best": row["median"] / best["median"], "doubt": row["doubt"] or best["doubt"]}
        if arithmetic:
            row["operations_per_second"] = arithmetic * rate
            if limit is not None:
                row["of_fma_limit"] = arithmetic * rate / limit
    return [row for row in rows if "skipped" not in row]


def roof_share_of_copy(problem: ConvolutionProblem, copy_rate: float, limit: float | None) -> float:
    """The most of the copy limit that a kernel can reach, since its multiply-adds take time as well."""
    arithmetic = problem.operations * prod(problem.output)
    if limit is None or not arithmetic:
        return 1.0
    return min(1.0, (problem.bytes / copy_rate) / (arithmetic / limit))


COLUMNS = (
    TableColumn("problem", lambda row: f"{row['problem']} on {' x '.join(map(str, row['shape'][-2:]))}"),
    TableColumn("precision", lambda row: str(row["precision"])),
    TableColumn("kernel", lambda row: str(row["name"])),
    TableColumn("ms", digits("median", 1e-3)),
    TableColumn("G results/s", lambda row: "FAILED" if "failed" in row else digits("results_per_second", 1e9)(row)),
    TableColumn("best", digits("results_per_second_best", 1e9)),
    TableColumn("GB/s", digits("bytes_per_second", 1e9)),
    *ratio_columns({"of copy": "of_copy", "roof": "roof"}),
    TableColumn("GFLOP/s", digits("operations_per_second", 1e9)),
    *ratio_columns({"of FMA": "of_fma_limit", "time / best": "times_best"}),
    *number_columns(".0f", {"registers": "registers", "spilled B": "spilled_bytes"}),
    TableColumn("blocks/SM", machine.blocks_and_occupancy),
)
SUITE = harness.Suite(check, measure, COLUMNS, lambda row: (row["problem"], row["shape"], row["precision"]))
