"""The device-copy limit: what a kernel could reach that computed nothing.

    block 0                               block 1
    [ 4 4 4 ... 4 | 4 ... | 4 ... | 4 ... ][ 4 4 ...      a thread loads four pieces of 4 elements, a block's width
      t0 t1    t255 t0      t0      t0                    apart, all before it stores the first: 64 bytes under way
                                                          a thread in float32

Read once and written once, 8 bytes an element in float32. A driver's memcpy uses a kernel of the vendor; which of the
two is faster depends on the device and the size, so the better one is the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

from numba import uint64

from .cuda_api import SIMULATED, cuda
from .cuda_launch import kernel
from .cuda_memory import Array
from .cuda_vectors import CELLS, load4, store4

THREADS = 8 if SIMULATED else 256
PIECES = 4
TILE = THREADS * PIECES * CELLS  # elements of a block


def build(threads: int):
    """The kernel `copy(source, target)` of flat arrays of one size and type, for blocks of `threads`.

    The arrays start on a 16-byte boundary.
    """
    piece, tile = threads * CELLS, threads * PIECES * CELLS

    def copy(source, target):
        step, size = uint64(piece), uint64(source.size)
        first = uint64(cuda.blockIdx.x) * uint64(tile)
        if first + uint64(tile) <= size:
            i = first + uint64(cuda.threadIdx.x) * uint64(CELLS)
            a, b = load4(source, i), load4(source, i + step)
            c, d = load4(source, i + step + step), load4(source, i + step + step + step)
            store4(target, i, a)
            store4(target, i + step, b)
            store4(target, i + step + step, c)
            store4(target, i + step + step + step, d)
        else:
            i = first + uint64(cuda.threadIdx.x)
            while i < size:
                target[i] = source[i]
                i = i + uint64(threads)

    return copy


def by_kernel(source: Array, target: Array) -> Callable[[], None]:
    """What launches a copy of a flat array by the kernel of this file."""
    args = (source, target)
    grid = (-(-prod(source.shape) // TILE), 1, 1)
    return partial(kernel(build, THREADS, args), grid, (THREADS, 1, 1), args)


def by_driver(source: Array, target: Array) -> Callable[[], None]:
    """What launches a copy of an array by the driver's memcpy."""
    return partial(target.device.copy_to_device, source.device)
