"""Ctrl-C while a run goes on in a program or a notebook: the run is saved, then `KeyboardInterrupt` is raised.

The command line takes signals in its own way: see `cli/signals.py`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

    from heatsim.simulation.time_loop import Progress, ProgressCallback, Request


class _Interrupt:
    """Whether Ctrl-C came, and what is asked of the run for it. stepping: whether the run is past its first step, from
    which on it can be saved."""

    def __init__(self, on_progress: ProgressCallback) -> None:
        self._on_progress, self.came, self._stepping = on_progress, False, False

    def note(self, number: int, frame: FrameType | None) -> None:
        """Take the signal. A second one is raised at once."""
        again, self.came = self.came, True
        if again or not (self._stepping or in_compiler(frame)):
            raise KeyboardInterrupt

    def __call__(self, progress: Progress) -> Request:
        self._stepping = True
        asked = self._on_progress(progress)
        return False if self.came else asked


@contextmanager
def saved_on_interrupt(on_progress: ProgressCallback) -> Iterator[ProgressCallback]:
    """The callback to give to a run in place of `on_progress`. It stops the run on Ctrl-C, which saves it; then
    `KeyboardInterrupt` is raised.

    Where Python's own handler is not the one in place, or not in the main thread, nothing is changed.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield on_progress
        return
    interrupt = _Interrupt(on_progress)
    signal.signal(signal.SIGINT, interrupt.note)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if interrupt.came:
        raise KeyboardInterrupt


def in_compiler(frame: FrameType | None) -> bool:
    """Whether a frame is called by the compiler. It calls Python back from LLVM, where an exception is lost, and what
    was compiled half is taken for whole."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(("numba.", "numba_cuda.", "llvmlite.")):
            return True
        frame = frame.f_back
    return False
