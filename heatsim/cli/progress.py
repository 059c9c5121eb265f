"""Progress of a run on stderr: a bar on a terminal, a plain line every ten seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import Timer
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from heatsim.simulation.time_loop import Progress

LINE_EVERY = 10.0  # s
PATIENCE = 3.0  # s without progress before a word about it
_COMPILING = "compiling the kernels for this machine; later runs start at once"


class Show(Protocol):
    """Shows how far a run is."""

    def __call__(self, progress: Progress) -> None:
        """Take note of the progress."""


@contextmanager
def show_progress(quiet: bool) -> Iterator[Show]:
    """Give the function that shows progress, fit for where stderr leads."""
    if quiet:
        yield lambda progress: None
        return
    waiting = Timer(PATIENCE, lambda: print(_COMPILING, file=sys.stderr, flush=True))
    waiting.start()
    try:
        with _bar() if sys.stderr.isatty() else nullcontext(_Lines()) as show:

            def first(progress: Progress) -> None:
                waiting.cancel()
                show(progress)

            yield first
    finally:
        waiting.cancel()


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
        clock = _Clock()

        def show(progress: Progress) -> None:
            description = f"t = {progress.time:.4g} of {progress.end:g} s"
            rate = rate_text(progress, clock.elapsed())
            bar.update(task, completed=progress.time / progress.end, description=description, rate=rate)

        yield show


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
        self._clock, self._last = _Clock(), 0.0

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
