"""The kernels of multigrid on a CUDA GPU, under the names by which `hierarchy` and `solver` call them.

Everything stays on the GPU; launches follow one another there, and the host waits only for the sums that the conjugate
gradient asks for, and not within a cycle. The host takes part in the set-up of the coarsest level alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heatsim_kernels.multigrid.cuda_assembly import Ways, clear, deposit, spread, total, weighted_sum
from heatsim_kernels.multigrid.cuda_field import Field, room, sent
from heatsim_kernels.multigrid.cuda_galerkin import LATER, galerkin, interpolation, strong_cells
from heatsim_kernels.multigrid.cuda_sweeps import sweep
from heatsim_kernels.multigrid.cuda_transfers import interpolate, restrict
from heatsim_kernels.multigrid.cuda_vectors import direction, dot, dots, extent, multiply, step
from heatsim_kernels.multigrid.grids import Shape


def field(shape: tuple[int, ...], dtype: Any = np.float32) -> Field:
    """A field of zeros."""
    return room(shape, dtype).fill(0.0)


def conductances(shape: Shape) -> Field:
    """Room for the 13 conductances a cell of a coarse level."""
    nz, ny, nx = shape
    return room((nz, ny, LATER, nx), np.float32)


def single(values: np.ndarray | Field) -> Field:
    """The values on the GPU in float32; those that are there in float32 are taken as they are."""
    if not isinstance(values, Field):
        return sent(np.ascontiguousarray(values, np.float32))
    return values if values.dtype == np.float32 else room(values.shape, np.float32).put(values)


def put(values: np.ndarray | Field) -> Field:
    """Bring values to the device; those that are there are taken as they are."""
    return values if isinstance(values, Field) else sent(np.ascontiguousarray(values))


def get(values: Field) -> np.ndarray:
    """Values as an array of the host."""
    return values.host()


def assign(target: Field, values: np.ndarray | Field | float) -> None:
    """target = values, rounded to its type."""
    if isinstance(values, Field):
        target.put(values)
    elif np.ndim(values) == 0:
        target.fill(float(values))
    else:
        target.flat.device.copy_to_device(np.ascontiguousarray(values, target.dtype).reshape(-1))


def largest(values: Field) -> float:
    """The largest of the values."""
    return extent(values)[1]


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
    "room",
    "single",
    "spread",
    "step",
    "strong_cells",
    "sweep",
    "total",
    "weighted_sum",
]
