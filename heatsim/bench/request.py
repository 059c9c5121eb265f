"""What all benchmarks are asked alike, and the command that asks it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from heatsim.errors import HeatsimError

PRECISIONS = ("float32", "float64")


def parse_precisions(asked: str) -> tuple[str, ...]:
    """The types that "float32", "float64" or "both" stand for."""
    return PRECISIONS if asked == "both" else (asked,)


def precision_option(asked: tuple[str, ...]) -> str:
    """The option that stands for these types: what `precisions` takes."""
    return asked[0] if len(asked) == 1 else "both"


def check_seconds(seconds: float) -> None:
    """Raise `RequestError` for a time that is not positive."""
    if not 0 < seconds < float("inf"):
        raise RequestError(f"--seconds {seconds:g}: a time above 0 is needed")


def check_folders(paths: Iterable[Path | None]) -> None:
    """Raise `RequestError` for a file in a folder that is not there."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise RequestError(f"{path}: there is no folder {path.parent}{os.sep} to write into")


def command_line(benchmark: str, device: str, options: dict[str, object]) -> str:
    """The command that asks for the same again.

    `options`: values by the name of the option; several of one name in a list, True for a flag, and what is None or
    False is left out.
    """
    threads = os.environ.get("NUMBA_NUM_THREADS") if device == "cpu" else None
    words = [f"NUMBA_NUM_THREADS={threads}"] if threads else []
    words += ["heatsim", "bench", benchmark, "--device", device]
    for name, value in options.items():
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is not None and each is not False:
                words += [name] if each is True else [name, _in_words(each)]
    return " ".join(map(shlex.quote, words))


def _in_words(value: object) -> str:
    if isinstance(value, Path):
        return value.as_posix()
    return f"{value:g}" if isinstance(value, float) else str(value)


# What can be wrong with a request for a benchmark.


class RequestError(HeatsimError):
    """What was asked for does not exist or makes no sense."""

    exit_code = 2
