"""CPU: fields made from kinds of cells and from what passes between cells and the outside.

NumPy does it, part by part on all threads where whole fields are made, so that nothing has to be compiled and no
temporary is larger than a part.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from heatsim_kernels.cpu_memory import padded
from heatsim_kernels.cpu_threads import threads_for
from heatsim_kernels.multigrid.grids import Shape
from heatsim_kernels.multigrid.ways import Way
from heatsim_kernels.stencil.weighted_sum import weighted_sum

PART = 2**17  # cells that a thread spreads at once


def spread(values: np.ndarray, kinds: np.ndarray | None, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """The values (n,) of the kinds, rounded to `dtype`, as a field; values[0] where there are no kinds."""
    out = padded(int(np.prod(shape)), dtype)
    table = np.asarray(values, dtype)
    if kinds is None:
        out[:] = table[0]
        return out.reshape(shape)
    flat = kinds.reshape(-1)

    def part(first: int) -> None:
        here = slice(first, first + PART)
        np.take(table, flat[here], out=out[here], mode="clip")

    with ThreadPoolExecutor(threads_for(out.size)) as threads:
        list(threads.map(part, range(0, out.size, PART)))
    return out.reshape(shape)


def clear(field: np.ndarray, cells: np.ndarray) -> None:
    """Set some cells, by flat index, to 0."""
    field.reshape(-1)[cells] = 0


def total(field: np.ndarray) -> float:
    """The sum of a field, float64."""
    return weighted_sum(field, np.ones(1), None)


def extent(field: np.ndarray, chosen: np.ndarray | None = None) -> tuple[float, float]:
    """The least and the largest item, or of the items `chosen` by not being 0; not numbers where one item is none."""
    if chosen is None:
        return float(field.min()), float(field.max())
    where = chosen.astype(bool)
    return float(field.min(where=where, initial=np.inf)), float(field.max(where=where, initial=-np.inf))


class Ways:
    """What passes between the cells and the outside."""

    def __init__(self, ways: Iterable[Way]) -> None:
        self._ways = list(ways)

    def add(self, out: np.ndarray, T: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        """out += what flows into each cell, W, at temperatures T."""
        for way in self._ways:
            heat = _passed(way, T, a, b)
            out.reshape(-1)[way.cells] += heat.astype(out.dtype, copy=False)

    def entering(self, T: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(m,) what flows in by each way, W, at temperatures T."""
        return np.array([_passed(way, T, a, b).sum() for way in self._ways])


def _passed(way: Way, T: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Heat that a way passes to each cell beside it, W."""
    return np.asarray(way.conductance * (a[way.entries] * T.reshape(-1)[way.cells] + b[way.entries]))
