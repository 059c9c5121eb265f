"""Progress of a run on stderr: a bar on a terminal, a plain line every ten seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from heatsim.simulation import Progress

LINE_EVERY = 10.0  # s


class Show(Protocol):
    """Shows how far a run is."""

    def __call__(self, progress: Progress) -> None:
        """Take note of the progress."""


@contextmanager
def shown(quiet: bool) -> Iterator[Show]:
    """Give the function that shows progress, fit for where stderr leads."""
    if quiet:
        yield lambda progress: None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _Lines()


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
    begun = time.perf_counter()
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0, rate="")

        def show(progress: Progress) -> None:
            description = f"t = {progress.time:.4g} of {progress.end:g} s"
            rate = rate_text(progress, time.perf_counter() - begun)
            bar.update(task, completed=progress.time / progress.end, description=description, rate=rate)

        yield show


class _Lines:
    def __init__(self) -> None:
        self._begun = self._last = time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        now = time.perf_counter()
        if now - self._last < LINE_EVERY:
            return
        self._last = now
        elapsed = now - self._begun
        left = elapsed * (progress.end / progress.time - 1) if progress.time > 0 else float("nan")
        print(
            f"t = {progress.time:.4g} of {progress.end:g} s, {rate_text(progress, elapsed)}, {left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )


def rate_text(progress: Progress, seconds: float) -> str:
    """Cell updates a second, in words."""
    return f"{progress.steps * progress.cells / max(seconds, 1e-9) / 1e9:.2f} G cell updates/s"
