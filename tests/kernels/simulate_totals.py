"""Totals of some cells on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python simulate_totals.py RESULT.npz`."""

from __future__ import annotations

import sys

import numpy as np
from heatsim_kernels.device.cuda.arrays import on_device
from heatsim_kernels.field.cuda.region_reductions import CudaRegionTotals, of_parts
from heatsim_kernels.field.region_reductions import RegionCells

PLANE = 8  # cells
CASES = [(count, dtype) for count in (1, 3, 29) for dtype in (np.float32, np.float64)]


def case(count: int, dtype: type) -> tuple[np.ndarray, np.ndarray, RegionCells]:
    """Values and enthalpies of 40 cells, and `count` of these."""
    rng = np.random.default_rng(count)
    values, enthalpies = rng.uniform(-9, 9, (2, 40)).astype(dtype)
    indices = np.sort(rng.permutation(40)[:count])
    return values, enthalpies, RegionCells(indices, *rng.uniform(0.5, 2, (2, count)))


def results() -> dict[str, np.ndarray]:
    found = {}
    for count, dtype in CASES:
        values, enthalpies, cells = case(count, dtype)
        totals, fields = CudaRegionTotals(PLANE), (on_device(values), on_device(enthalpies))
        found[f"{count} {np.dtype(dtype).name}"] = np.array([of_parts(totals.parts(*fields, cells)) for _ in range(2)])
    values, _, cells = case(3, np.float32)
    values[cells.indices[1]] = np.nan
    bad = on_device(values)
    return found | {"not a number": np.array(of_parts(CudaRegionTotals(PLANE).parts(bad, bad, cells)))}


if __name__ == "__main__":
    np.savez(sys.argv[1], **results())
