"""The process of one peer: answers requests on stdin, one JSON line each, with one JSON line on stdout.

Started by compare_cpu.py as `python -m peers.worker MODULE CORES`, for example `... devito_ 0,1`.
"""

import json
import os
import sys
import time
import traceback
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .problem import Sweeps

# Odd, so that every vector loop has a remainder, and a multiple of the vector width, so that none has one.
VERIFICATION_SIZES = (37, 64)
VERIFICATION_STEPS = 7
TOLERANCE = 32  # rounding units of a field of order 1; a wrong boundary or coefficient is off by thousands


class Worker:
    """One peer and the grid it holds ready."""

    def __init__(self, peer: ModuleType):
        self.peer = peer
        self.sweeps: Sweeps | None = None

    def describe(self) -> dict[str, str | None]:
        """Return what the table says about the peer; `missing` is the reason why it cannot run, or None."""
        peer, reason = self.peer, self.peer.available()
        installed = reason is None and peer.DISTRIBUTION is not None
        return {
            "missing": reason,
            "name": peer.NAME,
            "boundary": peer.BOUNDARY,
            "settings": peer.SETTINGS,
            "version": version(peer.DISTRIBUTION) if installed else None,
        }

    def verify(self, dtype: str) -> str | None:
        """Return in words how the peer's result differs from the reference, or None if it does not."""
        import numpy as np

        from .problem import initial_field, reference

        for n in VERIFICATION_SIZES:
            initial = initial_field(n, dtype)
            sweeps = self.peer.prepare(initial.copy())
            sweeps.advance(VERIFICATION_STEPS)
            result = sweeps.result()
            if (result.shape, result.dtype.name) != (initial.shape, dtype):
                return f"result is {result.dtype} {result.shape}, not {dtype} {initial.shape}"
            error = np.abs(result - reference(initial, VERIFICATION_STEPS, self.peer.BOUNDARY)).max()
            if not error <= TOLERANCE * np.finfo(dtype).eps:
                return f"differs from the reference by {error:.1e} at {n}^3 after {VERIFICATION_STEPS} steps"
        return None

    def prepare(self, n: int, dtype: str) -> None:
        """Hold the timed grid ready."""
        from .problem import initial_field

        self.sweeps = self.peer.prepare(initial_field(n, dtype))

    def advance(self, steps: int) -> float:
        """Return the seconds that `steps` sweeps took."""
        start = time.perf_counter()
        seconds = self.sweeps.advance(steps)
        return time.perf_counter() - start if seconds is None else seconds


def main() -> None:
    """Answer requests `[method, arguments]` with `[value, None]` or `[None, error]` until stdin ends."""
    module, cores = sys.argv[1:]
    os.sched_setaffinity(0, [int(core) for core in cores.split(",")])  # before any library counts the cores
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a peer prints goes to its log
    worker = Worker(import_module(f"peers.{module}"))
    for line in sys.stdin:
        print(json.dumps(_answer(worker, *json.loads(line))), file=answers)


def _answer(worker: Worker, method: str, arguments: list[Any]) -> list[Any]:
    try:
        return [getattr(worker, method)(*arguments), None]
    except Exception as error:  # whatever a peer raises is its result
        traceback.print_exc()
        return [None, f"{type(error).__name__}: {error}".splitlines()[0]]


if __name__ == "__main__":
    main()
