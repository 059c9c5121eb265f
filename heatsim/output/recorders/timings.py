"""Where the wall time of a run goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Literal

Part = Literal["preparing", "loop", "recording", "waiting", "checkpoints", "pictures"]
LABELS: dict[str, str] = {
    "preparing": "preparing",
    "loop": "steps",
    "recording": "recording",
    "waiting": "waiting for the writer",
    "checkpoints": "checkpoints",
    "pictures": "pictures",
}


@dataclass
class Timings:
    """Wall seconds of the parts of a run, none of which counts within another.

    preparing: from the scenario to the first step, kernels compiled; loop: the steps; recording: in recorders, which
    copy fields and find values; waiting: until the writer has room for a further snapshot, or has written all;
    checkpoints; pictures: drawn at the end, with the search for hot spots.
    """

    preparing: float = 0.0
    loop: float = 0.0
    recording: float = 0.0
    waiting: float = 0.0
    checkpoints: float = 0.0
    pictures: float = 0.0

    @contextmanager
    def counted(self, part: Part) -> Iterator[None]:
        """Add the seconds of a block to a part, without those that are counted within it."""
        begun, before = time.perf_counter(), self._sum()
        try:
            yield
        finally:
            taken = time.perf_counter() - begun - (self._sum() - before)
            setattr(self, part, getattr(self, part) + taken)

    def seconds(self) -> dict[str, float]:
        """The parts as run.json has them: `loop_seconds`, `recording_seconds` and so on."""
        return {f"{part}_seconds": value for part, value in asdict(self).items()}

    def _sum(self) -> float:
        return float(sum(vars(self).values()))


def describe_parts(timings: dict[str, float]) -> str:
    """The parts of `timings` of run.json that took a hundredth of a second or more, in words."""
    found = [(label, timings.get(f"{part}_seconds", 0.0)) for part, label in LABELS.items()]
    return ", ".join(f"{label} {seconds:.2f} s" for label, seconds in found if seconds >= 0.005)
