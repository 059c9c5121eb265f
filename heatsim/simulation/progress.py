"""The progress of a run in words, and drawn in place: in a notebook, or on a line of stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from math import isinf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heatsim.scenario import Scenario
    from heatsim.simulation.time_loop import LiveValues, Progress

_LOOK_EVERY, _LOOK_SHARE = 0.25, 50.0  # s between looks at the field, and how many times as long as a look
_SPARKS = 24  # of a sparkline
_BARS = "▁▂▃▄▅▆▇█"
_PREFIXES = ((1e12, "T "), (1e9, "G "), (1e6, "M "), (1e3, "k "))
_DRAW_EVERY = 0.2  # s


class ProgressWords:
    """What is reported of the progress of a run, and when its field is read for that."""

    def __init__(self, scenario: Scenario) -> None:
        from heatsim.output.pictures.units import unit_symbol

        probes = scenario.output.probes
        self._unit, self._probe = unit_symbol(scenario.unit), probes[0].name if probes else ""
        self._clock, self._history = Clock(), list[float]()
        self._values: LiveValues | None = None
        self._next_look = 0.0

    def elapsed(self) -> float:
        """Seconds since computing began."""
        return self._clock.elapsed()

    def look(self, progress: Progress, *, at_once: bool = False) -> None:
        """Read the field, so seldom that it takes no more than a fiftieth of the time, or at once."""
        now = self._clock.elapsed()
        if now < self._next_look and not at_once:
            return
        self._values = progress.look()
        self._next_look = now + max(_LOOK_EVERY, _LOOK_SHARE * (self._clock.elapsed() - now))
        if self._values.probe == self._values.probe:
            self._history.append(self._values.probe)
            del self._history[:-_SPARKS]

    def time(self, progress: Progress) -> str:
        """How far the run is."""
        from heatsim.output.pictures.units import format_time

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


@contextmanager
def with_progress(
    scenario: Scenario, on_progress: Callable[[Progress], object], shown: bool
) -> Iterator[Callable[[Progress], object]]:
    """A callback that calls another one and, if it is to be shown, draws the progress in place."""
    if not shown:
        yield on_progress
        return
    drawn = ProgressInPlace(scenario, _notebook() or _Line())

    def both(progress: Progress) -> object:
        drawn(progress)
        return on_progress(progress)

    try:
        yield both
    finally:
        drawn.close()


class Words:
    """A line, as text and as HTML with a bar."""

    def __init__(self, text: str, share: float) -> None:
        self._text, self._share = text, share

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f'<progress value="{self._share:.4f}" max="1"></progress> {escape(self._text)}'


class _Line:
    """The last line of stderr, drawn over."""

    def __init__(self) -> None:
        self._width = 0

    def update(self, words: Words) -> None:
        """Draw over what there is."""
        text = repr(words)
        print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def close(self) -> None:
        """End the line."""
        if self._width:
            print(file=sys.stderr)


class _Display:
    """A place in a notebook, drawn over; handle: as `IPython.display.display(..., display_id=True)` gives it."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def update(self, words: Words) -> None:
        """Draw over what there is."""
        self._handle.update(words)

    def close(self) -> None:
        """Leave what was drawn last."""


def _notebook() -> _Display | None:
    """A place in the notebook that this process is the kernel of, or None."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    handle = display(Words("starting", 0.0), display_id=True)
    return None if handle is None else _Display(handle)


class ProgressInPlace:
    """Draws how far a run is, a few times a second and at its end."""

    def __init__(self, scenario: Scenario, place: _Display | _Line) -> None:
        self._words, self._place, self._drawn = ProgressWords(scenario), place, -_DRAW_EVERY
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Take note of the progress."""
        self._last, ended = progress, progress.time >= progress.end
        if ended or self._words.elapsed() - self._drawn >= _DRAW_EVERY:
            self._words.look(progress, at_once=ended)  # what is drawn last stays
            self._draw(progress)

    def _draw(self, progress: Progress) -> None:
        words, self._drawn = self._words, self._words.elapsed()
        told = (words.time(progress), words.left(progress), words.rate(progress), words.extremes(), words.probe())
        share = 0.0 if isinf(progress.end) else min(progress.time / progress.end, 1.0)
        self._place.update(Words(", ".join(filter(None, told)), share))

    def close(self) -> None:
        """Draw how far the run got."""
        if self._last is not None:
            self._draw(self._last)
        self._place.close()
