"""Progress of a run on stderr: a bar and what happens on a terminal, a plain line every ten seconds elsewhere.

While kernels are compiled it says which one and how far, on a terminal; elsewhere, once, that this has begun.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from math import isinf
from typing import TYPE_CHECKING, Protocol

from heatsim.cli.options import can_redraw
from heatsim.simulation.progress import ProgressWords

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID
    from rich.text import Text

    from heatsim.scenario import Scenario
    from heatsim.simulation.time_loop import Progress

LINE_EVERY = 10.0  # s


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
    with _terminal(words) if can_redraw() else nullcontext(_Lines(words)) as show:
        numbers = count(1)

        def tell(kernel: str) -> None:
            number = next(numbers)
            show.compiling(f"compiling kernels: {number} of about {max(number, expected)} ({kernel})")

        with watch_compiling(tell):
            yield show


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
