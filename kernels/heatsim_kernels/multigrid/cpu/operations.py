"""The kernels of multigrid on the CPU, under the names by which `hierarchy` and `solver` call them.

Fields are flat arrays that know their shape: (nz, ny, nx) views of padded memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from heatsim_kernels.field.cpu.weighted_sum import weighted_sum
from heatsim_kernels.field.window_source import deposit
from heatsim_kernels.multigrid.boundary_couplings import BoundaryCoupling
from heatsim_kernels.multigrid.coarse_grids import LATER, Shape
from heatsim_kernels.multigrid.coarse_grids import multiply as _multiply
from heatsim_kernels.multigrid.cpu.gradient_passes import direction, dot, dots, step
from heatsim_kernels.multigrid.cpu.sweeps import galerkin, interpolate, interpolation, restrict, strong_cells, sweep
from heatsim_kernels.runtime.cpu.pointers import padded
from heatsim_kernels.runtime.cpu.threads import threads_for


def field(shape: tuple[int, ...], dtype: type = np.float32) -> np.ndarray:
    """A field of zeros."""
    return padded(int(np.prod(shape)), dtype).reshape(shape)


def conductances(shape: Shape) -> np.ndarray:
    """Room for the 13 conductances a cell of a coarse level, zero."""
    nz, ny, nx = shape
    return field((nz, ny, LATER, nx))


def single(values: np.ndarray) -> np.ndarray:
    """The values in float32; float32 arrays are taken as they are."""
    return np.ascontiguousarray(values, np.float32)


def put(values: np.ndarray) -> np.ndarray:
    """Bring values to the device."""
    return values


def get(values: np.ndarray) -> np.ndarray:
    """Values as an array of the host."""
    return values


def assign(target: np.ndarray, values: np.ndarray | float) -> None:
    """target = values, rounded to its type."""
    target[...] = values


def largest(values: np.ndarray) -> float:
    """The largest of the values."""
    return float(values.max())


def multiply(matrix: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """out = matrix b, small and dense."""
    _multiply(matrix, b.reshape(-1), out.reshape(-1))


__all__ = [
    "Ways",
    "assign",
    "clear",
    "conductances",
    "deposit",
    "direction",
    "dot",
    "dots",
    "extent",
    "field",
    "galerkin",
    "get",
    "interpolate",
    "interpolation",
    "largest",
    "multiply",
    "put",
    "restrict",
    "single",
    "spread",
    "step",
    "strong_cells",
    "sweep",
    "total",
]


# CPU: fields made from kinds of cells and from what passes between cells and the outside.
#
# NumPy does it, part by part on all threads where whole fields are made, so that nothing has to be compiled and no
# temporary is larger than a part.


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

    def __init__(self, ways: Iterable[BoundaryCoupling]) -> None:
        self._ways = list(ways)

    def add(self, out: np.ndarray, T: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        """out += what flows into each cell, W, at temperatures T."""
        for way in self._ways:
            heat = _passed(way, T, a, b)
            out.reshape(-1)[way.cells] += heat.astype(out.dtype, copy=False)

    def entering(self, T: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """(m,) what flows in by each way, W, at temperatures T."""
        return np.array([_passed(way, T, a, b).sum() for way in self._ways])


def _passed(way: BoundaryCoupling, T: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Heat that a way passes to each cell beside it, W."""
    return np.asarray(way.conductance * (a[way.entries] * T.reshape(-1)[way.cells] + b[way.entries]))
