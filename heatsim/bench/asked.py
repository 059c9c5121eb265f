"""What all benchmarks are asked alike."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from heatsim.bench.errors import RequestError

PRECISIONS = ("float32", "float64")


def precisions(asked: str) -> tuple[str, ...]:
    """The types that "float32", "float64" or "both" stand for."""
    return PRECISIONS if asked == "both" else (asked,)


def check_seconds(seconds: float) -> None:
    """Raise `RequestError` for a time that is not positive."""
    if not 0 < seconds < float("inf"):
        raise RequestError(f"--seconds {seconds:g}: a time above 0 is needed")


def check_folders(paths: Iterable[Path | None]) -> None:
    """Raise `RequestError` for a file in a folder that is not there."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise RequestError(f"{path}: there is no folder {path.parent}{os.sep} to write into")


def threads_in_words(device: str) -> list[str]:
    """What stands before a command: how many threads the CPU kernels were given, if it was said."""
    threads = os.environ.get("NUMBA_NUM_THREADS") if device == "cpu" else None
    return [f"NUMBA_NUM_THREADS={threads}"] if threads else []
