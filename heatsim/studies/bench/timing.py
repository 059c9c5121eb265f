"""Timing: several subjects in turn, round after round, so that other load of the machine affects all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from statistics import median
from typing import NamedTuple

ROUNDS = 5
LONG_RUN_BATCHES = 5  # batches
MIN_TRIAL_SHARE = 0.25  # share of the wanted time that a trial must take to be scaled up from
LEAST_SECONDS = 1.0  # of a round that a ratio is made of
MOST_SPREAD = 1.0 / 3.0

# Does something so many times; a device may still be at it when it returns. What times itself returns the seconds.
Work = Callable[[int], float | None]
Prepare = Callable[[], Work]
Clock = Callable[[Callable[[], None]], float]  # seconds that a call takes, a device's part included


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


class Timing(NamedTuple):
    """Seconds of one repetition, a value for each round, and the repetitions that each is a mean over."""

    seconds: tuple[float, ...]
    repetitions: int

    @property
    def best(self) -> float:
        """The least, s."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The median over the rounds, s."""
        return median(self.seconds)

    @property
    def doubt(self) -> str:
        """Why no ratio is made of it, or ""."""
        return doubt([each * self.repetitions for each in self.seconds])


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


class Pace(NamedTuple):
    """How subjects are timed: once a round, for about `seconds`, after a warm-up of `batch` repetitions.

    The number of repetitions is found in the first round unless it is given: a multiple of `batch`, and of
    LONG_RUN_BATCHES batches if it is more than these, so that what a kernel does once for several repetitions is seldom
    done for fewer. Unless `warm`, there is no warm-up. A subject that has taken more than `patience` seconds in all
    sits out the remaining rounds.
    """

    seconds: float
    batch: int = 1
    rounds: int = ROUNDS
    patience: float = inf
    warm: bool = True
    repetitions: int | None = None


def time_interleaved(
    subjects: Mapping[str, Prepare], pace: Pace, clock: Clock = host_clock, failures: dict[str, str] | None = None
) -> dict[str, Timing]:
    """Time subjects in turn. A subject is made ready for each round, and let go before the next is made ready. One that
    raises ends all, unless there are `failures` to enter it in: the others go on then."""
    counts: dict[str, int] = {}
    found: dict[str, list[float]] = {name: [] for name in subjects}
    spent = dict.fromkeys(found, 0.0)
    for _ in range(pace.rounds):
        for name, prepare in subjects.items():
            if spent[name] > pace.patience or name in (failures or ()):
                continue
            begun = time.perf_counter()
            try:
                work = prepare()
                if pace.warm:
                    work(pace.batch)
                if name not in counts:
                    counts[name] = pace.repetitions or _repetitions(work, clock, pace.seconds, pace.batch)
                found[name].append(_taken(work, clock, counts[name]) / counts[name])
                del work
            except Exception as error:
                if failures is None:
                    raise
                failures[name] = f"{type(error).__name__}: {error}"
            spent[name] += time.perf_counter() - begun
    kept = (name for name in found if name not in (failures or ()))
    return {name: Timing(tuple(found[name]), counts[name]) for name in kept}


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
