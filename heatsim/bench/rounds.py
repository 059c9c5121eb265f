"""Whether rounds of a benchmark are good for a ratio."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

LEAST_SECONDS = 1.0
MOST_SPREAD = 1.0 / 3.0


def doubt(seconds: Sequence[float]) -> str:
    """Why no ratio is made of rounds of the same work that took so many seconds each, or "" where one is.

    They spread by the slowest less the fastest, over the median.
    """
    if not seconds:
        return "there are no rounds"
    if min(seconds) < LEAST_SECONDS:
        return f"a round took {min(seconds):.2g} s, and at least {LEAST_SECONDS:g} s are needed"
    spread = (max(seconds) - min(seconds)) / median(seconds)
    if spread > MOST_SPREAD:
        return f"its rounds spread by {spread:.0%}, and at most a third is taken: measure on a quiet machine"
    return ""
