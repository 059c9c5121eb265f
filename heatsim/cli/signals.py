"""Signals that end a run in good order."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType


@contextmanager
def caught_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of dying of them; a second one ends the process at once."""
    caught: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if caught:
            os._exit(128 + number)
        caught.append(number)

    earlier: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in earlier:
        signal.signal(number, note)
    try:
        yield caught
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
