"""Progress of a run on stderr: a bar and what happens on a terminal, a plain line every ten seconds elsewhere.

While kernels are compiled it says which one and how far, on a terminal; elsewhere, once, that this has begun.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import count
from math import isinf
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID
    from rich.text import Text

    from heatsim.scenario import Scenario
    from heatsim.simulation.time_loop import LiveValues, Progress

LINE_EVERY = 10.0  # s
_LOOK_EVERY, _LOOK_SHARE = 0.25, 50.0  # s between looks at the field, and how many times as long as a look
_SPARKS = 24  # of a sparkline
_BARS = "▁▂▃▄▅▆▇█"
_PREFIXES = ((1e12, "T "), (1e9, "G "), (1e6, "M "), (1e3, "k "))


class Show(Protocol):
    """Shows how far a run is."""

    def __call__(self, progress: Progress) -> None:
        """Take note of the progress."""

    def compiling(self, text: str) -> None:
        """Take note that a kernel is being compiled."""


class _Nothing:
    def __call__(self, progress: Progress) -> None:
        pass

    def compiling(self, text: str) -> None:
        pass


@contextmanager
def show_progress(scenario: Scenario, quiet: bool) -> Iterator[Show]:
    """Give the function that shows the progress of a run, fit for where stderr leads. Kernels that are compiled in the
    meantime are shown, too."""
    if quiet:
        yield _Nothing()
        return
    from heatsim.simulation.precompile import expected_kernels, watch_compiling

    expected = expected_kernels(scenario)
    words = ProgressWords(scenario)
    with _terminal(words) if _can_redraw() else nullcontext(_Lines(words)) as show:
        numbers = count(1)

        def tell(kernel: str) -> None:
            number = next(numbers)
            show.compiling(f"compiling kernels: {number} of about {max(number, expected)} ({kernel})")

        with watch_compiling(tell):
            yield show


def _can_redraw() -> bool:
    """Whether stderr is a terminal that takes the cursor back; one called dumb, such as an editor's, gets lines."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


class ProgressWords:
    """What is reported of the progress of a run, and when its field is read for that."""

    def __init__(self, scenario: Scenario) -> None:
        from heatsim.plots.units import unit_symbol

        probes = scenario.output.probes
        self._unit, self._probe = unit_symbol(scenario.unit), probes[0].name if probes else ""
        self._clock, self._history = Clock(), list[float]()
        self._values: LiveValues | None = None
        self._next_look = 0.0

    def elapsed(self) -> float:
        """Seconds since computing began."""
        return self._clock.elapsed()

    def look(self, progress: Progress) -> None:
        """Read the field, so seldom that it takes no more than a fiftieth of the time."""
        now = self._clock.elapsed()
        if now < self._next_look:
            return
        self._values = progress.look()
        self._next_look = now + max(_LOOK_EVERY, _LOOK_SHARE * (self._clock.elapsed() - now))
        if self._values.probe == self._values.probe:
            self._history.append(self._values.probe)
            del self._history[:-_SPARKS]

    def time(self, progress: Progress) -> str:
        """How far the run is."""
        from heatsim.plots.units import format_time

        if progress.phase:
            return progress.phase
        if isinf(progress.end):
            return f"to the steady state, step {progress.steps}"
        return f"t = {format_time(progress.time, progress.end)} of {format_time(progress.end)}, step {progress.steps}"

    def rate(self, progress: Progress) -> str:
        """Cell updates a second, in a unit in which they are 1 at least; nothing before the first."""
        return rate_text((progress.sweeps or progress.steps) * progress.cells, self._clock.elapsed())

    def extremes(self) -> str:
        """The range of temperatures."""
        return f"{self._values.lowest:.5g} to {self._values.highest:.5g} {self._unit}" if self._values else ""

    def probe(self) -> str:
        """The first probe, as a sparkline and a number."""
        if not self._history:
            return ""
        return f"{self._probe} {sparkline(self._history)} {self._history[-1]:.5g} {self._unit}"

    def left(self, progress: Progress) -> str:
        """The time that is left, if it goes on so."""
        if isinf(progress.end) or progress.time <= 0:
            return ""
        seconds = self._clock.elapsed() * (progress.end / progress.time - 1)
        minutes, seconds = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02d}:{seconds:02d} left" if hours else f"{minutes}:{seconds:02d} left"


def rate_text(updates: float, seconds: float) -> str:
    """Updates of cells a second, in words with three digits."""
    rate = updates / seconds if seconds > 0 else 0.0
    if rate <= 0:
        return ""
    size, prefix = next((each for each in _PREFIXES if rate >= each[0]), (1.0, ""))
    return f"{rate / size:.3g} {prefix}cell updates/s"


def sparkline(values: Sequence[float]) -> str:
    """Values as a row of bars."""
    low, high = min(values), max(values)
    if high <= low:
        return _BARS[0] * len(values)
    return "".join(_BARS[int((value - low) / (high - low) * (len(_BARS) - 1) + 0.5)] for value in values)


@contextmanager
def _terminal(words: ProgressWords) -> Iterator[Show]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    bar = Bar(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    task = bar.add_task("starting", total=1.0)
    detail = Text("", overflow="ellipsis", no_wrap=True)
    with Live(Group(bar, detail), console=Console(stderr=True), transient=True, refresh_per_second=8):
        yield _TerminalShow(bar, task, detail, words)


class _TerminalShow:
    """A bar on a terminal, in its place what is compiled, and below it what happens."""

    def __init__(self, bar: Bar, task: TaskID, detail: Text, words: ProgressWords) -> None:
        self._bar, self._task, self._detail, self._words = bar, task, detail, words

    def __call__(self, progress: Progress) -> None:
        words = self._words
        words.look(progress)
        done = 0.0 if isinf(progress.end) else progress.time / progress.end
        self._bar.update(self._task, completed=done, description=words.time(progress))
        told = (words.left(progress), words.rate(progress), words.extremes(), words.probe())
        self._detail.plain = "   ".join(filter(None, told))

    def compiling(self, text: str) -> None:
        self._bar.update(self._task, description=text)


class Clock:
    """Seconds since it was first asked, which is when computing began."""

    def __init__(self) -> None:
        self._begun: float | None = None

    def elapsed(self) -> float:
        """Seconds since the first call."""
        now = time.perf_counter()
        if self._begun is None:
            self._begun = now
        return now - self._begun


class _Lines:
    """A plain line every ten seconds."""

    def __init__(self, words: ProgressWords) -> None:
        self._words, self._last, self._told = words, 0.0, False

    def compiling(self, text: str) -> None:
        """Say once that kernels are compiled: what is updated in place on a terminal would fill a file."""
        if not self._told:
            self._told = True
            print(f"{text}; later runs start at once", file=sys.stderr, flush=True)

    def __call__(self, progress: Progress) -> None:
        elapsed = self._words.elapsed()
        if elapsed - self._last < LINE_EVERY:
            return
        self._last, words = elapsed, self._words
        words.look(progress)
        told = (words.time(progress), words.rate(progress), words.extremes(), words.left(progress))
        print(", ".join(filter(None, told)), file=sys.stderr, flush=True)
