"""The device-copy limit: what a kernel could reach that computed nothing.

    block 0            block 1
    [ 4 4 4 ... 4 ][ 4 4 4 ... 4 ][ ...        a thread moves one piece of 16 bytes; neighbouring threads move
      t0 t1    t255  t0                        neighbouring pieces, blocks at work together neighbouring ranges

Read once and written once, 8 bytes an element in float32. One piece a thread is faster than several: what is under way
at one time then lies close together in memory. A driver's memcpy uses a kernel of the vendor; which of the two is
faster depends on the device and the size, so the better one is the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numba import uint64

from heatsim_kernels.device.cuda.api import SIMULATED, cuda
from heatsim_kernels.device.cuda.arrays import Array
from heatsim_kernels.device.cuda.launch import kernel
from heatsim_kernels.device.cuda.vector_access import CELLS, load4, store4

THREADS = 8 if SIMULATED else 256
TILE = THREADS * CELLS  # elements of a block


def build(threads: int):
    """The kernel `copy(source, target)` of flat float32 arrays of one size, for blocks of `threads`.

    The arrays start on a 16-byte boundary.
    """

    def copy(source, target):
        i = (uint64(cuda.blockIdx.x) * uint64(threads) + uint64(cuda.threadIdx.x)) * uint64(CELLS)
        size = uint64(source.size)
        if i + uint64(CELLS) <= size:
            store4(target, i, load4(source, i))
        else:
            while i < size:
                target[i] = source[i]
                i = i + uint64(1)

    return copy


def by_kernel(source: Array, target: Array) -> Callable[[], None]:
    """What launches a copy of a flat array by the kernel of this file."""
    args = _words(source), _words(target)
    grid = (-(-args[0].shape[0] // TILE), 1, 1)
    return partial(kernel(build, THREADS, args), grid, (THREADS, 1, 1), args)


def _words(array: Array) -> Array:
    """The same memory as float32."""
    return array if SIMULATED else Array(array.device.view(np.float32))


def by_driver(source: Array, target: Array) -> Callable[[], None]:
    """What launches a copy of an array by the driver's memcpy."""
    return partial(target.device.copy_to_device, source.device)
