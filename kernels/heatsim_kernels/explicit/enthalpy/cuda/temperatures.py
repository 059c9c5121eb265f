"""CUDA: the temperature of each cell from its enthalpy, and the trapezoidal defect of a step in temperature."""

from __future__ import annotations

import numpy as np
from numba import float64, int64, types, uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.fma import fma
from heatsim_kernels.explicit.cuda.trapezoidal_defect import BLOCKS, store_greatest
from heatsim_kernels.explicit.enthalpy.cuda.cell import functions
from heatsim_kernels.field.cuda.block_reduction import THREADS, greater

TEMPERATURE_THREADS = 4 if SIMULATED else 256  # a block

temperature = functions.temperature


def build_defect(precision: str):
    """Build the kernel (start, one, end, after, factor, partial, medium): `trapezoidal_defect.build` for fields that
    store the enthalpy, with the defect as the temperature by which it moves a cell."""
    real = getattr(types, precision)

    def defect(start, one, end, after, factor, partial, medium):
        i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
        most, low, high = float64(0.0), float64(-np.inf), float64(-np.inf)
        while i < start.size:
            cell_class = int64(medium.class_ids[i]) if medium.several != 0 else int64(0)
            material, y, z = int64(medium.material[cell_class]), float64(start[i]), float64(end[i])
            change = (float64(one[i]) - y) + (float64(after[i]) - z)
            T = float64(temperature(end[i], material, medium))
            by_rule = float64(temperature(real(z - fma(factor, change, z - y)), material, medium))
            most, low, high = greater(abs(T - by_rule), most), greater(-T, low), greater(T, high)
            i += int64(BLOCKS) * THREADS
        store_greatest(partial, most, low, high)

    return defect


def build_temperatures(variant):
    """Build the kernel (u, out, medium), u and out flat: temperature offsets in `out`, with the bits of the CPU."""

    def temperatures(u, out, medium):
        i = uint64(cuda.blockIdx.x) * uint64(TEMPERATURE_THREADS) + uint64(cuda.threadIdx.x)
        if i < uint64(u.size):
            cell_class = int64(medium.class_ids[i]) if medium.several != 0 else int64(0)
            out[i] = temperature(u[i], int64(medium.material[cell_class]), medium)

    return temperatures
