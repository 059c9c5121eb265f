"""What some cells have together: NumPy, CUDA simulator, GPU."""

from __future__ import annotations

import numpy as np
import pytest
import simulate_totals
from heatsim_kernels.field.region_reductions import RegionCells, totals
from helpers import simulator
from helpers.in_turn import in_turn
from simulate_totals import CASES, case

with_cuda = simulator.needs_numba_cuda


def of(values: np.ndarray, enthalpies: np.ndarray, cells: RegionCells) -> np.ndarray:
    return np.array(totals(values[cells.indices], enthalpies[cells.indices], cells))


def test_values_are_weighed_by_volume_and_enthalpies_by_capacity() -> None:
    cells = RegionCells(np.array([0, 2]), np.array([1.0, 3.0]), np.array([10.0, 20.0]))
    assert of(np.array([5.0, 99.0, -1.0]), np.array([1.0, 99.0, 2.0]), cells).tolist() == [-1, 5, 2, 50]


simulated = simulator.fixture_of(simulate_totals.__file__)


@with_cuda
@in_turn(("count", "dtype"), CASES)
def test_the_simulated_kernel_finds_what_numpy_finds(count: int, dtype: type, simulated: dict[str, np.ndarray]) -> None:
    for found in simulated[f"{count} {np.dtype(dtype).name}"]:
        np.testing.assert_allclose(found, of(*case(count, dtype)), rtol=1e-13)


@with_cuda
def test_what_is_not_a_number_shows_in_all_totals(simulated: dict[str, np.ndarray]) -> None:
    assert np.isnan(simulated["not a number"]).all()


@with_cuda
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_kernel_of_totals_compiles_for_a_gpu(precision: str) -> None:
    from heatsim_kernels.device.cuda.api import cuda
    from heatsim_kernels.field.cuda.region_reductions import build
    from numba import types

    real, number = getattr(types, precision)[::1], types.float64
    parts = types.uint32[::1], number[::1], number[::1], types.int64[::1]
    signature = types.void(real, real, *parts, number[:, ::1])
    ptx, _ = cuda.compile_ptx(build(None), signature, cc=(9, 0))
    assert ".local" not in ptx


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gpu_finds_what_numpy_finds(dtype: type) -> None:
    from heatsim_kernels.device.cuda.arrays import on_device
    from heatsim_kernels.field.cuda.region_reductions import CudaRegionTotals, of_parts

    rng = np.random.default_rng(1)
    values, enthalpies = rng.uniform(-9, 9, (2, 400_000)).astype(dtype)
    indices = np.flatnonzero(rng.random(values.size) < 0.7)
    cells, kept = RegionCells(indices, *rng.uniform(0.5, 2, (2, indices.size))), CudaRegionTotals(1000)
    for _ in range(2):
        found = of_parts(kept.parts(on_device(values), on_device(enthalpies), cells))
        np.testing.assert_allclose(found, of(values, enthalpies, cells), rtol=1e-11, atol=1e-6)
