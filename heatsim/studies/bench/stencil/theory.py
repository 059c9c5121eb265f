"""What theory counts: operations and bytes of a cell and step.

An arithmetic intensity is operations over bytes (Williams, Waterman and Patterson, Roofline: an insightful visual
performance model for multicore architectures, CACM 52(4), 2009). Bytes are counted in two ways:

- bytes *asked for*: what the threads of a kernel ask global memory to read, before caches; 13 / 28 = 0.46 OP/B for
  `basic` in float32 (Kirk and Hwu, Programming Massively Parallel Processors, stencil chapter);
- bytes that *must move*: each cell read once and written once, and the byte that names its material read once. Over
  time they give the effective memory throughput T_eff, which no single sweep can raise above the copy limit (Raess,
  Utkin, Duretz, Omlin and Podladchikov, Assessing the robustness and scalability of the accelerated pseudo-transient
  method, Geosci. Model Dev. 15, 2022); several steps a sweep can.
"""

from __future__ import annotations

import numpy as np
from heatsim_kernels.explicit import ONE_STEP_KERNELS
from heatsim_kernels.explicit.ladder import load_kernel


def operations_per_cell(materials: int, layers: int = 0) -> int:
    """Additions and multiplications a cell and step: see `heatsim_kernels.explicit.physics`, an fma counts as two.

    In one material 1 for 2c, 6 for three second differences, 3 fma; in several 6 differences and 6 fma; in layers 1 for
    2c, 4 for two second differences, 2 differences and 4 fma.
    """
    if materials == 1:
        return 13
    return 15 if layers else 18


def bytes_per_cell(precision: str, materials: int) -> int:
    """Bytes that must move for a cell and step; times cells a second this is T_eff. Where materials lie in layers,
    cells need no byte that names theirs: as many bytes as in one."""
    return 2 * np.dtype(precision).itemsize + (materials > 1)


def asked_intensity(kernel: str, precision: str, materials: int, layers: int = 0) -> float | None:
    """Operations over the bytes that a CUDA kernel asks global memory to read, OP/B; None where not worked out.

    With the first of the kernel's tiles, which is what a sweep takes unless told.
    """
    if kernel not in ONE_STEP_KERNELS:
        return None
    itemsize, module = np.dtype(precision).itemsize, load_kernel(kernel)
    reads = module.field_reads(module.TILES[0], itemsize)
    kind = 1 if materials > 1 else 0  # a byte of the cell; those of its neighbours are not asked for
    return operations_per_cell(materials, layers) / (reads * itemsize + kind)
