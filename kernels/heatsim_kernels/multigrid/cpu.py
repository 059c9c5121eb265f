"""The kernels of multigrid on the CPU, under the names by which `hierarchy` and `solver` call them.

Fields are flat arrays that know their shape: (nz, ny, nx) views of padded memory.
"""

from __future__ import annotations

import numpy as np

from heatsim_kernels.cpu_memory import padded
from heatsim_kernels.deposit import deposit
from heatsim_kernels.multigrid.coarsest import multiply as _multiply
from heatsim_kernels.multigrid.cpu_assembly import Ways, clear, extent, spread, total
from heatsim_kernels.multigrid.cpu_galerkin import galerkin, interpolation, strong_cells
from heatsim_kernels.multigrid.cpu_rows import LATER, sweep
from heatsim_kernels.multigrid.cpu_transfers import interpolate, restrict
from heatsim_kernels.multigrid.cpu_vectors import direction, dot, dots, step
from heatsim_kernels.multigrid.grids import Shape


def field(shape: tuple[int, ...], dtype: type = np.float32) -> np.ndarray:
    """A field of zeros."""
    return padded(int(np.prod(shape)), dtype).reshape(shape)


def conductances(shape: Shape) -> np.ndarray:
    """Room for the 13 conductances a cell of a coarse level."""
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
