"""A batch of steps in pieces, between which something is done to the field: windows are heated, or it is sampled.

    steps    0 1 2 3 4 5 6 7        pieces of a batch whose steps 2 and 5 heat windows: 0-2, 3-5, 6-7
    windows      #     #            of a field that is sampled after each step: one a step

Within a piece a sweep may fuse steps as it likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heatsim_kernels.field.window_source import WindowSource, window_sources_of


class StepBatch(NamedTuple):
    """The first step, how many there are, and the windows that are heated after the last of them."""

    first: int
    steps: int
    window_sources: Sequence[WindowSource]


def split_steps(
    window_sources: Sequence[Sequence[WindowSource]], steps: int, one_by_one: bool, most: int | None = None
) -> Iterator[StepBatch]:
    """The pieces of a batch, of `most` steps if that is given; of no steps one without any, so that what sweeps compile
    can be had beforehand."""
    if steps == 0:
        yield StepBatch(0, 0, ())
    first = 0
    for k in range(steps):
        full = k + 1 - first == most
        if one_by_one or full or k == steps - 1 or window_sources_of(window_sources, k):
            yield StepBatch(first, k + 1 - first, window_sources_of(window_sources, k))
            first = k + 1
