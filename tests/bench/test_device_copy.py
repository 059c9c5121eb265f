"""The copies that GPU kernels are measured against."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from helpers import simulator
from numba import config, types

pytestmark = simulator.needs_numba_cuda


def test_copies_of_any_size_are_whole() -> None:
    script = Path(__file__).with_name("copy_on_simulator.py")
    done = simulator.run_script(script)
    assert done.stdout.strip() == "equal", done.stderr


@pytest.mark.skipif(bool(config.ENABLE_CUDASIM), reason="the CUDA simulator compiles nothing")
def test_the_copy_kernel_moves_16_bytes_at_a_time() -> None:
    from heatsim_kernels.device.cuda import array_copy
    from heatsim_kernels.device.cuda.api import cuda

    signature = types.void(types.float32[::1], types.float32[::1])
    ptx = str(cuda.compile_ptx(array_copy.build(array_copy.THREADS), signature, cc=(9, 0))[0])
    assert re.findall(r"^\s*(ld|st)\.global(?:\.nc)?\.v4\.f32", ptx, re.MULTILINE) == ["ld", "st"]


@pytest.mark.gpu
def test_both_copies_are_whole_on_a_gpu() -> None:
    from heatsim_kernels.device.cuda import array_copy
    from heatsim_kernels.device.cuda.arrays import on_device

    values = np.random.default_rng(1).random(5 * array_copy.TILE + 3)
    for dtype in (np.float32, np.float64):
        for way in (array_copy.by_kernel, array_copy.by_driver):
            source, target = on_device(values.astype(dtype)), on_device(np.zeros(values.size, dtype))
            way(source, target)()
            np.testing.assert_array_equal(target.host(), values.astype(dtype))
