"""Timing: several subjects in turn, round after round, so that other load of the machine affects all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from math import inf
from statistics import median
from typing import NamedTuple

from heatsim.bench.rounds import doubt

ROUNDS = 5
LONG_RUN_BATCHES = 5  # batches
MIN_TRIAL_SHARE = 0.25  # share of the wanted time that a trial must take to be scaled up from

# Does something so many times; a device may still be at it when it returns. What times itself returns the seconds.
Work = Callable[[int], float | None]
Clock = Callable[[Callable[[], None]], float]  # seconds that a call takes, a device's part included


class Subject(NamedTuple):
    """Something to time; `prepare` makes it ready, and what it returns is let go before the next is made ready."""

    name: str
    prepare: Callable[[], Work]


class Timing(NamedTuple):
    """Seconds of one repetition, a value for each round, and the repetitions that each is a mean over."""

    seconds: tuple[float, ...]
    repetitions: int

    @property
    def best(self) -> float:
        """The least, s."""
        return min(self.seconds)

    @property
    def doubt(self) -> str:
        """Why no ratio is made of it, or "": see `rounds`."""
        return doubt([each * self.repetitions for each in self.seconds])

    @property
    def median(self) -> float:
        """The median over the rounds, s."""
        return median(self.seconds)


def host_clock(call: Callable[[], None]) -> float:
    """Seconds by the host's clock."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def cuda_clock(call: Callable[[], None]) -> float:
    """Seconds between two CUDA events on the default stream, before and after what a call launches there."""
    from heatsim_kernels.runtime.cuda.api import cuda

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
    from heatsim_kernels.runtime.cuda.api import SIMULATED

    return host_clock if SIMULATED else cuda_clock


def time_interleaved(
    subjects: Iterable[Subject], clock: Clock, seconds: float, batch: int, rounds: int = ROUNDS, patience: float = inf
) -> dict[str, Timing]:
    """Time each subject once a round, for about `seconds`, after a warm-up of `batch` repetitions.

    The number of repetitions is found in the first round. It is a multiple of `batch`, and a multiple of
    LONG_RUN_BATCHES batches if it is more than these: what a kernel does once for several repetitions is then seldom
    done for fewer. A subject that has taken more than `patience` seconds in all sits out the remaining rounds.
    """
    subjects = list(subjects)
    counts: dict[str, int] = {}
    found: dict[str, list[float]] = {subject.name: [] for subject in subjects}
    spent = dict.fromkeys(found, 0.0)
    for _ in range(rounds):
        for name, prepare in subjects:
            if spent[name] > patience:
                continue
            begun = time.perf_counter()
            work = prepare()
            work(batch)
            if name not in counts:
                counts[name] = _repetitions(work, clock, seconds, batch)
            found[name].append(_taken(work, clock, counts[name]) / counts[name])
            del work
            spent[name] += time.perf_counter() - begun
    return {name: Timing(tuple(values), counts[name]) for name, values in found.items()}


def _repetitions(work: Work, clock: Clock, seconds: float, batch: int) -> int:
    """Repetitions that take about `seconds`, at least `batch`."""
    tried = batch
    while (taken := _taken(work, clock, tried)) < MIN_TRIAL_SHARE * seconds:
        tried *= 2
    wanted = tried * seconds / taken
    whole = LONG_RUN_BATCHES * batch if wanted >= LONG_RUN_BATCHES * batch else batch
    return whole * max(1, round(wanted / whole))


def _taken(work: Work, clock: Clock, repetitions: int) -> float:
    """Seconds of so many repetitions, by the work's own clock if it has one."""
    told: list[float | None] = []
    taken = clock(lambda: told.append(work(repetitions)))
    return taken if told[0] is None else told[0]
