"""What all benchmarks are asked for alike, and the command that asks for it again."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatsim.bench import machine
from heatsim.errors import RequestError
from heatsim.tables import check_folders

PRECISIONS = ("float32", "float64")
MAX_GPU_CELLS = 2**32 - 1  # CUDA kernels count cells in 32 bits


@dataclass(frozen=True)
class CommonRequest:
    """The device, "cpu" or "cuda"; the precisions, "float32" or "float64"; and the files to write."""

    device: str
    precisions: tuple[str, ...]
    json: Path | None = None
    write: Path | None = None
    figure: Path | None = None

    @classmethod
    def of(cls, asked: dict[str, Any]) -> CommonRequest:
        """Check the options that all benchmarks share. Raises `RequestError`; `NoGpuError` if one is demanded."""
        device = machine.pick_device(asked["device"])
        precisions = PRECISIONS if asked["precision"] == "both" else (asked["precision"],)
        files = {name: asked.get(name) for name in ("json", "write", "figure")}
        check_folders(files.values())
        return cls(device, precisions, **files)

    @property
    def precision_option(self) -> str:
        """The value of --precision that stands for these precisions."""
        return self.precisions[0] if len(self.precisions) == 1 else "both"


def check_time(option: str, seconds: float) -> float:
    """The seconds given with an option. Raises `RequestError` for a time that is not positive."""
    if not 0 < seconds < float("inf"):
        raise RequestError(f"{option} {seconds:g}: a time above 0 is needed")
    return seconds


def command_line(benchmark: str, device: str, options: dict[str, object]) -> str:
    """The command that asks for the same again.

    `options`: values by the name of the option; several of one name in a list, True for a flag. What is None or False
    is left out.
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
