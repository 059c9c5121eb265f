"""CUDA: what cells get from other materials beside them, added by a kernel of its own to what they have from the rest.

Heat flows there between temperatures, with conductivities midway (see `enthalpy.cell`): some hundred instructions a
face. In `register` one lane with such a cell would have its whole block wait; here every lane has one.
"""

from __future__ import annotations

import numpy as np
from numba import int64, uint32

from heatsim_kernels.device.cuda.api import cuda
from heatsim_kernels.device.cuda.vector_access import constant
from heatsim_kernels.explicit.enthalpy.coefficients import NonlinearCoefficients
from heatsim_kernels.explicit.enthalpy.cuda.cell import EnthalpyConfiguration, build_add_heat, functions
from heatsim_kernels.explicit.enthalpy.kernel_arguments import has_others

THREADS = 128

from_others = functions.from_others


def build(configuration: EnthalpyConfiguration):
    """Build the kernel (u, v, cells, box, medium, sources).

    It adds to v of `cells`, (m,) uint32 flat indices.
    """
    add_heat = build_add_heat(configuration)

    def interface_cells(u, v, cells, box, medium, sources):
        entry = uint32(uint32(cuda.blockIdx.x) * uint32(THREADS) + uint32(cuda.threadIdx.x))
        if entry < uint32(len(cells)):
            i = int64(constant(cells, entry))
            line = i // box.nx
            z = line // box.ny
            cell_class = int64(constant(medium.class_ids, i))
            heat = from_others(u, i, i - line * box.nx, line - z * box.ny, z, cell_class, box, medium)
            v[i] = add_heat(v[i], heat, sources)

    return interface_cells


def bounds(configuration: EnthalpyConfiguration) -> tuple[int, int]:
    """Threads of a block, and the blocks that a multiprocessor should hold: as many as leave enough registers."""
    return THREADS, 8 if configuration.dtype == "float32" else 4


def grid(cells: int) -> tuple[int, int, int]:
    """Blocks for so many cells."""
    return -(-cells // THREADS), 1, 1


def cells_of(coefficients: NonlinearCoefficients) -> np.ndarray:
    """(m,) uint32: the flat indices of the cells with another material beside them."""
    beside = has_others(coefficients)
    if not beside.any():
        return np.empty(0, np.uint32)
    size = coefficients.class_ids[0].size
    found = [number * size + np.flatnonzero(beside[plane]) for number, plane in enumerate(coefficients.class_ids)]
    return np.concatenate(found).astype(np.uint32)
