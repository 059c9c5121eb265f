"""Signals that end a run in good order, with a checkpoint, or ask for one."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any

from heatsim.errors import RequestError
from heatsim.simulation.interrupts import in_compiler

if TYPE_CHECKING:
    from types import FrameType

    from heatsim.simulation.time_loop import Progress, Request

# Those that there are on this system; SIGUSR1 is what batch systems send ahead of the end.
ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR1", "SIGHUP") if hasattr(signal, name)]
SAVING = [getattr(signal, name) for name in ("SIGUSR2",) if hasattr(signal, name)]
OUT_OF_TIME = 75  # exit code of a run that --max-time ended: EX_TEMPFAIL of sysexits.h
PATIENCE = 1.0  # s after which a process that is still before its first step is ended, compiling or not
RESERVE = 0.02, 2.0, 60.0  # of the time allowed, for the last step and the checkpoint: a share, and s at least and most
_UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Interrupted(BaseException):
    """A signal came before the first step; nothing is lost. Its number is the argument."""

    @property
    def exit_code(self) -> int:
        """The exit code of the process."""
        return 128 + int(self.args[0])


class StopRequests:
    """What signals and the clock ask of a run.

    ended_by: the number of the signal that ends the run, or None; out_of_time: whether the time allowed ends it.
    """

    def __init__(self, max_seconds: float | None = None) -> None:
        self.ended_by: int | None = None
        self.out_of_time = False
        self.stepping = False  # set by the first progress: until then a signal may end the process nearly where it is
        self._save = False
        self._deadline = None
        if max_seconds is not None:
            share, least, most = RESERVE
            self._deadline = time.perf_counter() + max_seconds - min(max(share * max_seconds, least), most)

    def note(self, number: int, frame: FrameType | None) -> None:
        """Take a signal. A second one that ends the run ends the process at once."""
        if number in SAVING:
            self._save = True
            return
        if self.ended_by is not None:
            os._exit(128 + number)
        self.ended_by = number
        if not self.stepping and not in_compiler(frame):
            raise Interrupted(number)

    def request(self, progress: Progress) -> Request:
        """What to ask of the time loop now: see `time_loop.Request`."""
        from heatsim.simulation.time_loop import CHECKPOINT

        first, self.stepping = not self.stepping, True
        self.out_of_time = self._deadline is not None and time.perf_counter() > self._deadline
        if self.ended_by is not None or self.out_of_time:
            return False
        if first:  # of a run that has not got anywhere yet, so that the loop saves nothing
            return True
        save, self._save = self._save, False
        return CHECKPOINT if save else True

    @property
    def exit_code(self) -> int:
        """The exit code of a run that a signal or the clock ended before its end; 0 where neither did."""
        if self.ended_by is not None:
            return 128 + self.ended_by
        return OUT_OF_TIME if self.out_of_time else 0


@contextmanager
def caught_signals(max_seconds: float | None = None) -> Iterator[StopRequests]:
    """Collect signals instead of dying of them."""
    requests = StopRequests(max_seconds)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    Thread(target=_end_what_compiles, args=(requests, reader), daemon=True).start()
    earlier_fd = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    earlier: dict[int, Any] = {number: signal.getsignal(number) for number in (*ENDING, *SAVING)}
    for number, handler in earlier.items():
        if handler is not signal.SIG_IGN or number == signal.SIGINT:  # nohup ignores SIGHUP
            signal.signal(number, requests.note)
    try:
        yield requests
    finally:
        requests.stepping = True  # nothing is left to be ended
        signal.set_wakeup_fd(earlier_fd)
        os.close(writer)  # which ends the thread
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _end_what_compiles(requests: StopRequests, reader: int) -> None:
    """End the process some time after a signal if it has not got to its first step by then, at which it would end in
    good order: a kernel may take long to compile."""
    while number := os.read(reader, 1):
        if number[0] in ENDING:
            time.sleep(PATIENCE)
            if not requests.stepping:
                os._exit(128 + number[0])
    os.close(reader)


def seconds_of(text: str) -> float:
    """A time such as "8h", "90 min", "1h30m" or "3600", in s. Raises `RequestError`."""
    parts = re.findall(r"([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", text.strip())
    whole = re.fullmatch(r"(?:[0-9]*\.?[0-9]+\s*[a-z]*\s*)+", text.strip())
    if not whole or any(unit not in _UNITS for _, unit in parts):
        raise RequestError(f"--max-time: expected a time such as 8h, 90min or 3600 (s), found {text!r}")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
