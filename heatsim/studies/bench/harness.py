"""The steps of every benchmark: contenders are verified, race in turn, and stand in one kind of table.

`race` makes the rows of a table, `show` prints them and writes them as JSON. A benchmark of `heatsim bench` is a
`Suite`, which `run_benchmark` runs. The scripts in benchmarks/ race and show by the same functions.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from math import inf
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

from heatsim_kernels.device import compile_watch

from heatsim.base.atomic import write_atomically
from heatsim.base.tables import Row, TableColumn, Tell, check_folders, number, print_table
from heatsim.errors import RequestError
from heatsim.simulation.device_selection import MAX_GPU_CELLS
from heatsim.studies.bench import machine

ROUNDS = 5
LONG_RUN_BATCHES = 5  # batches
MIN_TRIAL_SHARE = 0.25  # share of the wanted time that a trial must take to be scaled up from
LEAST_SECONDS = 1.0  # of a round that a ratio is made of
MOST_SPREAD = 1.0 / 3.0
PRECISIONS = ("float32", "float64")
MOST_PROCESSES = 8  # on one GPU: each holds some 0.5 GB of it

# Does something so many times; a device may still be at it when it returns. What times itself returns the seconds.
Work = Callable[[int], float | None]
Prepare = Callable[[], Work]
Clock = Callable[[Callable[[], None]], float]  # seconds that a call takes, a device's part included
Document = dict[str, Any]  # all that was found, fit for JSON: "benchmark", "machine", "rows", "notes", ...
Asked = dict[str, Any]  # what the command line was asked for, by the names of the options
Case = TypeVar("Case")
Answer = TypeVar("Answer")


class Skipped(Exception):
    """A contender is not there, or does not do such a thing; the message says why."""


@dataclass(frozen=True)
class Contender:
    """What is timed against others. verify: what is wrong with it, or "", or a part of its row, with "failed" perhaps
    (an exception is a flaw too); prepare: makes it ready for a round; about: what its row says beside; after: what it
    says once it was timed."""

    name: str
    prepare: Prepare
    verify: Callable[[], str | Row] = str
    about: Row = field(default_factory=dict)
    after: Callable[[], Row] = dict


def holding(work: Work) -> Prepare:
    """For a contender that is held ready through all rounds."""
    return lambda: work


class Pace(NamedTuple):
    """How contenders are timed: once a round, for about `seconds`, after a warm-up of `batch` repetitions.

    The number of repetitions is found in the first round unless it is given: a multiple of `batch`, and of
    LONG_RUN_BATCHES batches if it is more than these, so that what a kernel does once for several repetitions is seldom
    done for fewer. Unless `warm`, there is no warm-up. A contender that has taken more than `patience` seconds in all
    sits out the remaining rounds.
    """

    seconds: float
    batch: int = 1
    rounds: int = ROUNDS
    patience: float = inf
    warm: bool = True
    repetitions: int | None = None


def host_clock(call: Callable[[], None]) -> float:
    """Seconds by the host's clock."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def cuda_clock(call: Callable[[], None]) -> float:
    """Seconds between two CUDA events on the default stream, before and after what a call launches there."""
    from heatsim_kernels.device.cuda.api import cuda

    start, end = cuda.event(), cuda.event()
    start.record()
    call()
    end.record()
    end.synchronize()
    return float(cuda.event_elapsed_time(start, end)) / 1000


def clock_of(device: str) -> Clock:
    """The clock for a device, "cpu" or "cuda"; the CUDA simulator keeps no time of its own."""
    if device == "cpu":
        return host_clock
    from heatsim_kernels.device.cuda.api import SIMULATED

    return host_clock if SIMULATED else cuda_clock


def doubt(seconds: Sequence[float]) -> str:
    """Why no ratio is made of rounds of the same work that took so many seconds each, or "" where one is.

    They spread by the slowest less the fastest, over the median.
    """
    if not seconds:
        return "there are no rounds"
    if min(seconds) < LEAST_SECONDS:
        return f"a round took {min(seconds):.2g} s, and at least {LEAST_SECONDS:g} s are needed"
    spread = (max(seconds) - min(seconds)) / median(seconds)
    if spread > MOST_SPREAD:
        return f"its rounds spread by {spread:.0%}, and at most a third is taken: measure on a quiet machine"
    return ""


def race(
    contenders: Iterable[Contender], against: Callable[[str], bool], pace: Pace, clock: Clock = host_clock
) -> list[Row]:
    """A row for each contender, verified first and then timed in turn, so that other load affects all alike.

    "seconds" of a repetition in each round, "median" and "best" of these, "times" the median of the fastest contender
    that others are judged `against`, and "doubt", which says why that is no fair ratio. A contender that fails has
    "failed" in place of these, one that is not there "skipped".
    """
    contenders = list(contenders)
    rows = {each.name: _verified(each) for each in contenders}
    fit = [each for each in contenders if rows[each.name].keys().isdisjoint(("failed", "skipped"))]
    for name, found in _rounds(fit, pace, clock).items():
        rows[name] |= found
    timed = [each for each in fit if "failed" not in rows[each.name]]
    judged = [rows[each.name] for each in timed if against(each.name)]
    best = dict(min(judged, key=lambda row: row["median"])) if judged else {"median": None, "doubt": ""}
    for each in timed:
        row = rows[each.name]
        row["times"] = row["median"] / best["median"] if judged else None
        row["doubt"] = row["doubt"] or best["doubt"]
        try:
            row |= each.after()
        except Exception as error:
            row["failed"] = _words(error)
    return list(rows.values())


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _verified(each: Contender) -> Row:
    """The row of a contender as it stands before the first round."""
    try:
        said = each.verify()
    except Skipped as error:
        return {"name": each.name, **each.about, "skipped": str(error)}
    except Exception as error:
        said = _words(error)
    if isinstance(said, str):
        said = {"failed": said} if said else {}
    return {"name": each.name, **each.about, **said}


def _rounds(contenders: Sequence[Contender], pace: Pace, clock: Clock) -> dict[str, Row]:
    """What timing adds to the rows. A contender is made ready for each round, and let go before the next is."""
    found: dict[str, Row] = {each.name: {"seconds": [], "repetitions": pace.repetitions} for each in contenders}
    spent = Counter[str]()
    for _ in range(pace.rounds):
        for each in contenders:
            row, begun = found[each.name], time.perf_counter()
            if "failed" in row or spent[each.name] > pace.patience:
                continue
            try:
                work = each.prepare()
                if pace.warm:
                    work(pace.batch)
                count = row["repetitions"] = row["repetitions"] or _repetitions(work, clock, pace.seconds, pace.batch)
                row["seconds"].append(_taken(work, clock, count) / count)
                del work
            except Exception as error:
                found[each.name] = {"failed": _words(error)}
            spent[each.name] += time.perf_counter() - begun  # type: ignore[assignment]
    for row in (each for each in found.values() if "failed" not in each):
        row |= {"median": median(row["seconds"]), "best": min(row["seconds"])}
        row["doubt"] = doubt([each * row["repetitions"] for each in row["seconds"]])
    return found


def _repetitions(work: Work, clock: Clock, seconds: float, batch: int) -> int:
    """Repetitions that take about `seconds`, at least `batch`."""
    tried = batch
    while (taken := _taken(work, clock, tried)) < MIN_TRIAL_SHARE * seconds:
        tried *= 2
    wanted = tried * seconds / taken
    whole = LONG_RUN_BATCHES * batch if wanted >= LONG_RUN_BATCHES * batch else batch
    return whole * max(1, round(wanted / whole))


def _taken(work: Work, clock: Clock, repetitions: int) -> float:
    """Seconds of so many repetitions, by the work's own clock if it has one; again if something was compiled."""
    compiled, told = list[str](), list[float | None]()
    with compile_watch.watch_compiling(compiled.append):
        taken = clock(lambda: told.append(work(repetitions)))
    if compiled:
        return _taken(work, clock, repetitions)
    return taken if told[0] is None else told[0]


# Verification of kernels on many problems.


class Verdict(NamedTuple):
    """Whether a kernel agrees, for a family of problems: `flaw` says in words where it does not, "" if all is well."""

    kernel: str
    precision: str
    cases: int
    flaw: str
    family: str = ""


def first_flaw(cases: Iterable[Case], judge: Callable[[Case], str], describe: Callable[[Case], str]) -> str:
    """What is wrong with a kernel in the first case where `judge` finds something, or "". Whatever exception the kernel
    raises is a flaw too: the other kernels are still to be measured."""
    for case in cases:
        try:
            flaw = judge(case)
        except Exception as error:
            flaw = _words(error)
        if flaw:
            return f"the verification, {describe(case)}: {flaw}"
    return ""


def answers(device: str, jobs: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """What each job gives. Those of a GPU run in processes of their own (jobs are pickled), as they compile in one
    thread each, and leave the compiled kernels on the disk."""
    if device == "cpu":
        return [job() for job in jobs]
    processes = max(1, min(len(jobs), os.cpu_count() or 1, MOST_PROCESSES))
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        return [each.result() for each in [pool.submit(job) for job in jobs]]


# Tables.


def rate_or_failure(key: str, form: str = ".2f", unit: float = 1e9) -> Callable[[Row], str]:
    """The text of a rate, or why there is none."""

    def text(row: Row) -> str:
        refused = "FAILED" if "failed" in row else "skipped" if "skipped" in row else ""
        return refused or number(key, form, unit)(row)

    return text


def show(
    document: Document, columns: Sequence[TableColumn], group: Callable[[Row], Any], tell: Tell, file: Path | None
) -> int:
    """Print the table, with a line between groups of rows, and what was wrong; the exit code is 1 if something was.

    Rows that have no ratio are told after the notes. Raises OSError.
    """
    doubts = [row["doubt"] for row in document["rows"] if row.get("doubt")]
    if doubts:
        document["notes"].append(f"{len(doubts)} rows have no ratio, the first since {doubts[0]}")
    if file is not None:
        write_atomically(file, (json.dumps(document, indent=2, default=str) + "\n").encode())
    print_table(columns, document["rows"], group)
    failed = [row for row in document["rows"] if "failed" in row]
    for line in (*dict.fromkeys(map(_failure, failed)), *document["notes"]):
        tell(line)
    return 1 if failed else 0


def _failure(row: Row) -> str:
    words = ", ".join(filter(None, (row["name"], row.get("problem"))))
    return " in ".join(filter(None, (words, row.get("precision")))) + f" FAILED: {row['failed']}"


# The benchmarks of `heatsim bench`.


class Suite(NamedTuple):
    """A benchmark: the `SUITE` of heatsim/studies/bench/NAME/benchmark.py.

    check: fills in the defaults of what was asked for, and raises `HeatsimError` where it makes no sense or does not
    fit the device; measure: returns "rows", "notes" and what else was found; columns, group: see `show`; draw: draws a
    figure into a file.
    """

    check: Callable[[Asked], None]
    measure: Callable[[Asked, Tell], Document]
    columns: Sequence[TableColumn]
    group: Callable[[Row], Any]
    draw: Callable[[Path, Document], None] = lambda path, document: None


def run_benchmark(name: str, suite: Suite, asked: Asked, tell: Tell) -> int:
    """Do what a benchmark was asked for; the exit code is 1 if something was wrong.

    Raises `HeatsimError`, also if a field does not fit the device, before anything is allocated there; OSError.
    """
    asked["device"] = machine.pick_device(asked["device"])
    check_folders([asked["json"], asked.get("figure")])
    suite.check(asked)
    described = machine.describe_machine(asked["device"])  # before the load is our own
    document = {"benchmark": name, "asked": asked, "machine": described}
    document |= suite.measure(asked, tell)
    if asked.get("figure") is not None:
        suite.draw(asked["figure"], document)
    return show(document, suite.columns, suite.group, tell, asked["json"])


def precisions(asked: Asked) -> tuple[str, ...]:
    """The precisions of a request, "float32" or "float64"."""
    return PRECISIONS if asked["precision"] == "both" else (asked["precision"],)


def chosen(asked: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """What was asked for of what is known, in its order; all if nothing was."""
    every = tuple(known)
    return tuple(name for name in every if name in asked) or every


def check_time(option: str, seconds: float) -> None:
    """Raise `RequestError` for a time that is not positive."""
    if not 0 < seconds < inf:
        raise RequestError(f"{option} {seconds:g}: a time above 0 is needed")


def parse_numbers(option: str, text: str, form: str, axes: int, between: str = ",") -> tuple[int, ...]:
    """The numbers of an option, one for each axis or one for all, those of x last. Raises `RequestError`."""
    parts = text.split(between)
    if len(parts) not in (1, axes) or not all(part.isdecimal() for part in parts):
        raise RequestError(f"{option} {text}: expected {form}")
    return tuple(map(int, reversed(parts * (axes // len(parts)))))


def check_count(device: str, text: str, cells: int) -> None:
    """Raise `RequestError` for more cells than CUDA kernels count in 32 bits."""
    if device == "cuda" and cells > MAX_GPU_CELLS:
        raise RequestError(f"--size {text}: CUDA kernels count cells in 32 bits, so {MAX_GPU_CELLS} at most")
