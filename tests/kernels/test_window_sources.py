"""Heat added to windows of a field: on the CPU, on the CUDA simulator, and as CUDA compiles it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import simulate_window_sources
from heatsim_kernels.device.fma import fma
from heatsim_kernels.field.window_source import heat_window
from helpers import simulator
from helpers.in_turn import in_turn
from numba import config, types
from simulate_window_sources import GAIN, WINDOWS, data, on_cuda

DTYPES = ("float32", "float64")
needs_numba_cuda = simulator.needs_numba_cuda


def on_cpu(dtype: str) -> np.ndarray:
    field, rates = data(dtype)
    for (corner, _), each in zip(WINDOWS, rates, strict=True):
        heat_window(field, corner, each, GAIN)
    return field


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_window_is_added_with_one_rounding_and_nothing_else_changes(dtype: str) -> None:
    (expected, rates), gain = data(dtype), np.dtype(dtype).type(GAIN)
    for (corner, window), each in zip(WINDOWS, rates, strict=True):
        for place in np.ndindex(*window):
            at = tuple(first + i for first, i in zip(corner, place, strict=True))
            expected[at] = fma(gain, each[place], expected[at])
    np.testing.assert_array_equal(on_cpu(dtype), expected)


def test_a_large_window_is_shared_out_among_threads_to_the_same_bits() -> None:
    rng = np.random.default_rng(3)
    field, rates = rng.normal(size=(41, 60, 70)), rng.normal(size=(40, 50, 64))
    before = field.copy()
    heat_window(field, (1, 5, 6), rates, 0.5)
    before[1:, 5:55, 6:] += 0.5 * rates  # a half is exact
    np.testing.assert_array_equal(field, before)


@in_turn(
    ("corner", "window", "dtype"),
    [
        ((-1, 0, 0), (1, 1, 1), "f8"),
        ((0, 3, 0), (1, 2, 1), "f8"),
        ((0, 0, 0), (3, 4, 6), "f8"),
        ((0, 0, 0), (1, 1, 1), "f4"),
    ],
)
def test_a_window_that_does_not_fit_is_refused(
    corner: tuple[int, int, int], window: tuple[int, int, int], dtype: str
) -> None:
    with pytest.raises(ValueError, match=r"not inside|of one type"):
        heat_window(np.zeros(simulate_window_sources.SHAPE), corner, np.zeros(window, dtype), 1.0)


@needs_numba_cuda
def test_simulated_deposits_give_the_bits_of_the_cpu(tmp_path: Path) -> None:
    found = simulator.results(simulate_window_sources.__file__, tmp_path)
    for dtype in DTYPES:
        assert found[dtype].tobytes() == on_cpu(dtype).tobytes()


@needs_numba_cuda
@pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing")
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_kernel_compiles_without_spills_and_to_one_fma(dtype: str) -> None:
    pytest.importorskip("cuda.bindings.nvjitlink", reason="nvjitlink (cuda-bindings) is not installed")
    from heatsim_kernels.device.cuda.api import cuda
    from heatsim_kernels.device.cuda.compilation import _assembled
    from heatsim_kernels.field.cuda.window_source import build

    real, count = getattr(types, dtype), types.uint64
    signature = types.void(real[::1], count, count, count, real[::1], count, types.UniTuple(count, 3), real)
    ptx = str(cuda.compile_ptx(build(None), signature, cc=(9, 0))[0])
    assert len(re.findall(rf"fma\.rn\.f{real.bitwidth}", ptx)) == 1
    assert "f64" not in ptx or dtype == "float64"
    report = _assembled(ptx, (9, 0))[1]
    spilled = [int(size) for size in re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", report)]
    assert sum(spilled) == 0


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", DTYPES)
def test_deposits_on_the_gpu_give_the_bits_of_the_cpu(dtype: str) -> None:
    pytest.importorskip("numba_cuda")
    from heatsim_kernels.device.cuda.api import device_name

    try:
        device_name()
    except RuntimeError as reason:
        pytest.skip(str(reason))
    assert on_cuda(dtype).tobytes() == on_cpu(dtype).tobytes()
