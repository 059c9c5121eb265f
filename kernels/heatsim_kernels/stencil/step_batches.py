"""A batch of steps in pieces, between which something is done to the field: windows are heated, or it is looked at.

    steps    0 1 2 3 4 5 6 7        pieces of a batch whose steps 2 and 5 heat windows: 0-2, 3-5, 6-7
    windows      #     #            of a field that is looked at after each step: one a step

Within a piece a sweep may fuse steps as it likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from heatsim_kernels.stencil.terms import WindowSource

_TABLES = ("wall_a", "wall_b", "walls", "heat_table", "heat_scale")  # of a drive: a row a step, or the last for all


class StepBatch(NamedTuple):
    """The first step, how many there are, and the windows that are heated after the last of them."""

    first: int
    steps: int
    deposits: Sequence[WindowSource]


def split_steps(deposits: Sequence[Sequence[WindowSource]], steps: int, one_by_one: bool) -> Iterator[StepBatch]:
    """The pieces of a batch; of no steps one without any, so that what sweeps compile can be had beforehand."""
    if steps == 0:
        yield StepBatch(0, 0, ())
    first = 0
    for k in range(steps):
        if one_by_one or k == steps - 1 or window_sources_of(deposits, k):
            yield StepBatch(first, k + 1 - first, window_sources_of(deposits, k))
            first = k + 1


def window_sources_of(deposits: Sequence[Sequence[WindowSource]], k: int) -> Sequence[WindowSource]:
    """Those of step k; none for steps beyond the last entry."""
    return deposits[k] if k < len(deposits) else ()


def window_heating_rate(deposits: Sequence[WindowSource], shape: tuple[int, int, int]) -> np.ndarray:
    """Heating rate of each cell of a field of `shape`, K/s, float64."""
    field = np.zeros(shape)
    for each in deposits:
        z, y, x = (slice(first, first + size) for first, size in zip(each.corner, each.rates.shape, strict=True))
        field[z, y, x] += each.rates
    return field


def forcing_of_steps(drive: Any, first: int, steps: int) -> Any:
    """What drives some steps of a batch, from step `first` on, alone: a `Forcing`, or a `NonlinearForcing`."""

    def rows(values: np.ndarray) -> np.ndarray:
        at = min(first, len(values) - 1)
        return values[at : at + max(1, steps)]

    given = {name: getattr(drive, name, None) for name in _TABLES}
    cut: dict[str, Any] = {name: rows(values) for name, values in given.items() if values is not None}
    return replace(drive, deposits=drive.deposits[first : first + steps], **cut)
