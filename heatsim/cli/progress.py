"""Progress of a run on stderr: a bar on a terminal, a plain line every ten seconds elsewhere.

While kernels are compiled it says which one and how far, on a terminal; elsewhere, once, that this has begun.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

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
    with _bar() if sys.stderr.isatty() else nullcontext(_Lines()) as show:
        numbers = count(1)

        def tell(kernel: str) -> None:
            number = next(numbers)
            show.compiling(f"compiling kernels: {number} of about {max(number, expected)} ({kernel})")

        with watch_compiling(tell):
            yield show


@contextmanager
def _bar() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0, rate="")
        yield _BarShow(bar, task)


class _BarShow:
    """A bar on a terminal, and in its place what is compiled."""

    def __init__(self, bar: Bar, task: TaskID) -> None:
        self._bar, self._task, self._clock = bar, task, _Clock()

    def __call__(self, progress: Progress) -> None:
        description = f"t = {progress.time:.4g} of {progress.end:g} s"
        rate = rate_text(progress, self._clock.elapsed())
        self._bar.update(self._task, completed=progress.time / progress.end, description=description, rate=rate)

    def compiling(self, text: str) -> None:
        self._bar.update(self._task, description=text)


class _Clock:
    """Seconds since it was first asked, which is when computing began."""

    def __init__(self) -> None:
        self._begun: float | None = None

    def elapsed(self) -> float:
        now = time.perf_counter()
        if self._begun is None:
            self._begun = now
        return now - self._begun


class _Lines:
    def __init__(self) -> None:
        self._clock, self._last, self._told = _Clock(), 0.0, False

    def compiling(self, text: str) -> None:
        """Say once that kernels are compiled: what is updated in place on a terminal would fill a file."""
        if not self._told:
            self._told = True
            print(f"{text}; later runs start at once", file=sys.stderr, flush=True)

    def __call__(self, progress: Progress) -> None:
        elapsed = self._clock.elapsed()
        if elapsed - self._last < LINE_EVERY:
            return
        self._last = elapsed
        left = elapsed * (progress.end / progress.time - 1) if progress.time > 0 else float("nan")
        print(
            f"t = {progress.time:.4g} of {progress.end:g} s, {rate_text(progress, elapsed)}, {left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )


def rate_text(progress: Progress, seconds: float) -> str:
    """Cell updates a second, in words."""
    return f"{progress.steps * progress.cells / max(seconds, 1e-9) / 1e9:.2f} G cell updates/s"
