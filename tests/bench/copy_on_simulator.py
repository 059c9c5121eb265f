"""Copies of many sizes on the CUDA simulator: `NUMBA_ENABLE_CUDASIM=1 python copy_on_simulator.py`."""

from __future__ import annotations

import numpy as np
from heatsim_kernels.device.cuda import array_copy
from heatsim_kernels.device.cuda.arrays import on_device

for dtype in (np.float32, np.float64):
    for count in (1, 3, array_copy.TILE - 1, array_copy.TILE, array_copy.TILE + 5):
        values = np.arange(1, count + 1, dtype=dtype)
        for way in (array_copy.by_kernel, array_copy.by_driver):
            source, target = on_device(values), on_device(np.zeros(count, dtype))
            way(source, target)()
            np.testing.assert_array_equal(target.host(), values, err_msg=f"{way.__name__} of {count}")
print("equal")
