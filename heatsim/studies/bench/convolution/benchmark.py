"""`heatsim bench convolution`: verify and time the smoothing, filter bank and pooling kernels, and their peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from math import prod
from typing import Any

import numpy as np

from heatsim.base.tables import Row, TableColumn, Tell, digits, number_columns, ratio_columns
from heatsim.errors import RequestError
from heatsim.studies.bench import harness, machine
from heatsim.studies.bench.children import ChildError, Peer, start_peer
from heatsim.studies.bench.convolution import kernels, theory
from heatsim.studies.bench.convolution.libraries import LIBRARIES
from heatsim.studies.bench.convolution.problems import FAMILIES, ConvolutionProblem, data, timed
from heatsim.studies.bench.harness import Asked, Contender, Document, holding
from heatsim.studies.bench.limits import copies, is_copy, peak_operations_per_second
from heatsim.studies.bench.timing import Pace, clock_of

DEFAULT_SIZE = {"cpu": "4096", "cuda": "8192"}
DEFAULT_MASKS = ("3", "5", "7", "9")
MAX_MASK_WIDTH = 31
FIELDS_HELD = 6  # of the size timed: source, result and one between; two that are copied; one of a peer at least
PATIENCE = 20.0  # times the seconds asked for: what is so slow is timed in fewer rounds

RowsColumns = tuple[int, int]  # rows, columns
Peers = dict[str, Peer]  # by what tables show


def check(asked: Asked) -> None:
    """Check a request and fill in its defaults. Raises `RequestError`."""
    device, python, known = asked["device"], asked["peers_python"], _all_kernels(asked)
    for name in asked["kernel"]:
        if name not in known:
            there = ", ".join(known)
            raise RequestError(
                f'--kernel {name}: not a kernel of device "{device}" for these problems; there are {there}'
            )
    if python is not None and not python.is_file():
        raise RequestError(f"--peers-python {python}: there is no such file")
    harness.check_time("--seconds", asked["seconds"])
    asked["size"] = tuple(dict.fromkeys(asked["size"])) or (DEFAULT_SIZE[device],)
    asked["mask"] = tuple(dict.fromkeys(asked["mask"])) or DEFAULT_MASKS
    for text in asked["size"]:
        parse_size(text, device)
    for text in asked["mask"]:
        parse_mask(text)


def parse_size(text: str, device: str) -> RowsColumns:
    """(rows, columns) of "n" or "nx,ny". Raises `RequestError`."""
    rows, columns = harness.parse_numbers("--size", text, "cells an axis, such as 4096 or 8192,4096 (nx,ny)", 2)
    if min(rows, columns) < 2:
        raise RequestError(f"--size {text}: every axis needs two cells at least")
    harness.check_count(device, text, rows * columns)
    return rows, columns


def parse_mask(text: str) -> RowsColumns:
    """(rows, columns) of "m" or "columns x rows", as in 5 or 7x3. Raises `RequestError`."""
    rows, columns = harness.parse_numbers(
        "--mask", text, "a width, such as 5, or columns and rows, such as 7x3", 2, "x"
    )
    if any(width % 2 == 0 or width > MAX_MASK_WIDTH for width in (rows, columns)):
        raise RequestError(f"--mask {text}: masks are odd, to have a middle, and at most {MAX_MASK_WIDTH} wide")
    return rows, columns


def _families(asked: Asked) -> tuple[str, ...]:
    return harness.chosen(asked["problem"], FAMILIES)


def _all_kernels(asked: Asked) -> tuple[str, ...]:
    """The kernels of the device for any of the families, in reading order."""
    found = (name for family in _families(asked) for name in kernels.kernel_names(asked["device"], family))
    return tuple(dict.fromkeys(found))


def _kernels(asked: Asked, family: str) -> list[str]:
    """The kernels asked for that solve a family."""
    wanted = harness.chosen(asked["kernel"], _all_kernels(asked))
    return [name for name in kernels.kernel_names(asked["device"], family) if name in wanted]


def memory_needs(asked: Asked) -> Iterator[tuple[int, str]]:
    """What must fit on the device."""
    for size in asked["size"]:
        for precision in harness.precisions(asked):
            cells = prod(parse_size(size, asked["device"]))
            yield FIELDS_HELD * cells * np.dtype(precision).itemsize, f"--size {size} in {precision}"


def compile_jobs(asked: Asked) -> list[Callable[[], object]]:
    """Compile what the request will need of a GPU's kernels."""
    precisions, masks = harness.precisions(asked), tuple(map(parse_mask, asked["mask"]))
    return [
        partial(kernels.compile_kernel, kernel, family, precisions, masks)
        for family in _families(asked)
        for kernel in _kernels(asked, family)
    ]


def measure(asked: Asked, tell: Tell) -> Document:
    """Verify the kernels, start the peers, then time all; a kernel that fails the verification is not timed."""
    device, precisions, families = asked["device"], harness.precisions(asked), _families(asked)
    wanted = harness.chosen(asked["kernel"], _all_kernels(asked))
    verdicts = kernels.verify_kernels(device, families, precisions, wanted, tell)
    flaws = {(each.family, each.kernel, each.precision): each.flaw for each in verdicts}
    threads = machine.cpu_threads()
    known = {each: peak_operations_per_second(device, each, threads) for each in precisions}
    rows, peers, missing = list[Row](), Peers(), list[str]()
    with ExitStack() as stack:
        for name in LIBRARIES[device] if asked["peers"] else ():
            peer = stack.enter_context(
                start_peer(asked["peers_python"], LIBRARIES_MODULE, name, device, threads, threads=threads)
            )
            try:
                peers[f"{name} {peer.ask('version')}"] = peer
            except ChildError as error:
                missing.append(f"{name} was not measured: {error}")
        for precision in precisions:
            for size in (parse_size(text, device) for text in asked["size"]):
                for problem in timed(families, size, precision, tuple(map(parse_mask, asked["mask"])), device):
                    tell(f"timing {problem} on {' x '.join(map(str, problem.shape))} in {problem.precision}")
                    rows += time_problem(asked, problem, peers, flaws, known[precision][0])
    return {
        "verification": [verdict._asdict() for verdict in verdicts],
        "operations_a_second": {precision: limit for precision, (limit, _) in known.items()},
        "notes": [words for _, words in known.values()] + missing,
        "rows": rows,
    }


LIBRARIES_MODULE = "heatsim.studies.bench.convolution.libraries"


def time_problem(
    asked: Asked, problem: ConvolutionProblem, peers: Peers, flaws: dict[tuple[str, str, str], str], limit: float | None
) -> list[Row]:
    """Rows of the copies, of the kernels that take the problem, and of the peers that have solved it right."""
    device, (field, weights) = asked["device"], data(problem)
    about = {key: value for key, value in problem._asdict().items() if key in ("family", "shape", "precision")}
    about["problem"] = str(problem)
    ways = copies(device, problem.bytes, field.dtype)
    contenders = [Contender(name, copy, about=about) for name, copy in ways.items()]
    ours = [name for name in _kernels(asked, problem.family) if kernels.accepts(name, device, problem)]
    source: Any = field
    if device == "cuda":
        from heatsim.studies.bench.convolution import cuda_launches

        source = cuda_launches.put_on_gpu(problem, field)
    for name in ours:
        flaw = flaws[problem.family, name, problem.precision]
        if flaw:
            contenders.append(Contender(name, holding(lambda repetitions: None), partial(str, flaw), about))
        elif device == "cuda":
            ready = cuda_launches.prepare_launches(name, problem, source, weights)
            contenders.append(Contender(name, holding(ready.work), about=about, after=ready.resources))
        else:
            work = kernels.prepare_on_cpu(name, problem, field, weights)
            contenders.append(Contender(name, holding(work), about=about))
    for name, peer in peers.items():
        verify = partial(harness.verified_by, peer, {}, problem._asdict())
        contenders.append(Contender(name, holding(peer.run), verify, about))
    patience = PATIENCE * asked["seconds"]
    rows = harness.race(contenders, is_copy, Pace(asked["seconds"], patience=patience), clock_of(device))
    rows = [row for row in rows if "skipped" not in row]
    timed_ours = [row for row in rows if row["name"] in ours and "median" in row]
    best = min(timed_ours, key=lambda row: row["median"], default=None)
    results, arithmetic = prod(problem.output), problem.operations * prod(problem.output)
    for row in (each for each in rows if "median" in each):
        rate = 1.0 / row["median"]
        row |= {"bytes_per_second": problem.bytes * rate, "of_copy": 1.0 / row["times"]}
        if is_copy(row["name"]):
            continue
        row |= {"results_per_second": results * rate, "results_per_second_best": results / row["best"]}
        row["roof"] = theory.roof_share_of_copy(problem, problem.bytes * rate * row["times"], limit)
        if best is not None:
            row |= {"times_best": row["median"] / best["median"], "doubt": row["doubt"] or best["doubt"]}
        if arithmetic:
            row["operations_per_second"] = arithmetic * rate
            if limit is not None:
                row["of_fma_limit"] = arithmetic * rate / limit
        if row["name"] in ours:
            row |= theory.theory_row(row["name"], device, problem)
    return rows


# The table.


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
    *number_columns(".1f", {"saved": "accesses_saved"}),
    *number_columns(".2f", {"OP/B asked": "intensity_asked", "least": "intensity_least"}),
    *number_columns(".0f", {"registers": "registers", "spilled B": "spilled_bytes"}),
    TableColumn("blocks/SM", harness.blocks_and_occupancy),
)


SUITE = harness.Suite(
    check,
    measure,
    harness.Layout(
        COLUMNS,
        group=lambda row: (row["problem"], row["shape"], row["precision"]),
        verified="Before it was timed, every kernel gave the right results on {cases} problems or more.",
    ),
    memory=memory_needs,
    compile_jobs=compile_jobs,
)
