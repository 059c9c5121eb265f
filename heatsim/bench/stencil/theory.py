"""What theory counts: operations and bytes of a cell and step.

An arithmetic intensity is operations over bytes (Williams, Waterman and Patterson, Roofline: an insightful visual
performance model for multicore architectures, CACM 52(4), 2009). Two counts of bytes are told apart:

- bytes *asked for*: what the threads of a kernel ask global memory to read, before caches; 13 / 28 = 0.46 OP/B for
  `basic` in float32 (Kirk and Hwu, Programming Massively Parallel Processors, stencil chapter);
- bytes that *must move*: each cell read once and written once, and the byte that names its material read once. Over
  time they give the effective memory throughput T_eff, which no single sweep can raise above the copy limit (Raess,
  Utkin, Duretz, Omlin and Podladchikov, Assessing the robustness and scalability of the accelerated pseudo-transient
  method, Geosci. Model Dev. 15, 2022); several steps a sweep can.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import numpy as np

VECTOR = 16  # bytes that a thread of `register` loads at once


def operations(materials: int) -> int:
    """Additions and multiplications a cell and step: see `heatsim_kernels.stencil.physics`, an fma counts as two.

    In one material 1 for 2c, 6 for three second differences, 3 fma; in several 6 differences and 6 fma.
    """
    return 13 if materials == 1 else 18


def bytes_moved(precision: str, materials: int) -> int:
    """Bytes that must move for a cell and step; times cells a second this is T_eff."""
    return 2 * np.dtype(precision).itemsize + (materials > 1)


def least_intensity(precision: str, materials: int) -> float:
    """Operations over the bytes that must move, OP/B."""
    return operations(materials) / bytes_moved(precision, materials)


def asked_intensity(kernel: str, precision: str, materials: int) -> float | None:
    """Operations over the bytes that a CUDA kernel asks global memory to read, OP/B; None where not worked out.

    With the first of the kernel's tiles, which is what a sweep takes unless told.
    """
    if kernel not in _READS:
        return None
    itemsize = np.dtype(precision).itemsize
    reads = _READS[kernel](import_module(f"heatsim_kernels.stencil.{kernel}"), itemsize)
    kind = 1 if materials > 1 else 0  # a byte of the cell; those of its neighbours are not asked for
    return operations(materials) / (reads * itemsize + kind)


def _of_tile(module: ModuleType, itemsize: int) -> float:
    """A tile and its halo are read for the cells inside."""
    width, height, depth = module.TILES[0].block
    return float(width * height * depth / ((width - 2) * (height - 2) * (depth - 2)))


def _of_march(module: ModuleType, itemsize: int) -> float:
    """A tile and its halo in x and y, and a plane more at both ends of the march."""
    tile = module.TILES[0]
    return float(tile.x * tile.y / ((tile.x - 2) * (tile.y - 2)) * (tile.planes + 2) / tile.planes)


def _of_rows(module: ModuleType, itemsize: int) -> float:
    """A thread's vector of cells in the next plane, those in the rows before and after, and a cell at each end."""
    cells = VECTOR / itemsize
    return (3 * cells + 2) / cells


# Values of the field that a kernel asks for, for each new one.
_READS: dict[str, Callable[[ModuleType, int], float]] = {
    "basic": lambda module, itemsize: 7.0,
    "shared": _of_tile,
    "coarsened": _of_march,
    "register": _of_rows,
}
